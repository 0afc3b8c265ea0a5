"""Score configs in the public API."""

from typing import Any, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.public import page_body, page_query
from hone.common.schema import read
from hone.traces.api.score_shapes import config_body
from hone.traces.core.scores import CONFIG_TYPES
from hone.traces.selectors.score_configs import score_config_get, score_configs
from hone.traces.services.score_configs import score_config_create, score_config_update

_FIELDS: Final = {
    "name": "name",
    "dataType": "type",
    "description": "description",
    "minValue": "min_value",
    "maxValue": "max_value",
    "categories": "categories",
    "isArchived": "is_archived",
}


class ConfigUpdate(serializers.Serializer[Any]):
    name = serializers.CharField(required=False)
    description = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    minValue = serializers.FloatField(required=False, allow_null=True)
    maxValue = serializers.FloatField(required=False, allow_null=True)
    categories = serializers.ListField(
        child=serializers.DictField(), required=False, allow_null=True
    )
    isArchived = serializers.BooleanField(required=False, allow_null=True)


class ConfigCreate(ConfigUpdate):
    name = serializers.CharField()
    dataType = serializers.ChoiceField(choices=CONFIG_TYPES)


def _named(fields: dict[str, Any]) -> dict[str, Any]:
    return {_FIELDS[name]: value for name, value in fields.items() if value is not None}


class PublicScoreConfigs(PublicView):
    def get(self, request: Request) -> Response:
        query = page_query(request.query_params)
        rows = score_configs(self.project.pk).order_by("-created_at", "-id")
        page = rows[query.offset : query.offset + query.limit]
        data = [config_body(row, self.project.slug) for row in page]
        return Response(page_body(data, query, rows.count()))

    def post(self, request: Request) -> Response:
        fields = _named(read(ConfigCreate, request))
        fields.pop("is_archived", None)
        config = score_config_create(project_id=self.project.pk, **fields)
        return Response(config_body(config, self.project.slug))


class PublicScoreConfig(PublicView):
    def get(self, request: Request, config: str) -> Response:
        return Response(config_body(score_config_get(self.project.pk, config), self.project.slug))

    def patch(self, request: Request, config: str) -> Response:
        fields = _named(read(ConfigUpdate, request))
        found = score_config_update(project_id=self.project.pk, key=config, **fields)
        return Response(config_body(found, self.project.slug))
