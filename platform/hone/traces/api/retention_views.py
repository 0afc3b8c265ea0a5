"""For how many days a project keeps its traces."""

from typing import Any, ClassVar, Final

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.accounts.core.roles import Role
from hone.accounts.models import Project
from hone.common.schema import Body, read
from hone.traces.api.erasure_views import ErasureBody, erasure_row
from hone.traces.models import Erasure, Retention
from hone.traces.selectors.retention import older
from hone.traces.services.retention import days_most, kept_since, retention_set

MOST: Final = 36_500


class RetentionSet(Body):
    days = serializers.IntegerField(
        min_value=1, allow_null=True, help_text="null: traces are kept for ever"
    )


class RetentionBody(Body):
    days = serializers.IntegerField(allow_null=True, help_text="null: for ever")
    server_days = serializers.IntegerField(
        allow_null=True, help_text="The server keeps nothing longer, whatever a project asks for"
    )
    most_days = serializers.IntegerField(help_text="The most that may be asked for")
    author = serializers.CharField(allow_null=True)
    updated_at = serializers.DateTimeField(allow_null=True)
    latest = ErasureBody(allow_null=True, help_text="The latest time that something was too old")


class OlderAsked(Body):
    days = serializers.IntegerField(min_value=1, max_value=MOST, help_text="Days to keep")


class OlderBody(Body):
    days = serializers.IntegerField()
    before = serializers.DateTimeField(help_text="What ended earlier would go")
    trace_count = serializers.IntegerField(help_text="Traces that began earlier")
    observation_count = serializers.IntegerField()
    first_at = serializers.DateTimeField(
        allow_null=True, help_text="When the project's first trace began, about"
    )


def retention_row(project: Project) -> dict[str, Any]:
    kept = Retention.objects.filter(project=project).first()
    latest = Erasure.objects.filter(project=project, what=Erasure.What.RETENTION).first()
    return {
        "days": kept and kept.days,
        "server_days": settings.HONE_TRACES_RETENTION_DAYS or None,
        "most_days": days_most(),
        "author": kept and kept.author_name,
        "updated_at": kept and kept.updated_at,
        "latest": latest and erasure_row(latest),
    }


class Retentions(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"GET": Role.ADMIN, "PUT": Role.ADMIN}

    @extend_schema(operation_id="retention_retrieve", responses=RetentionBody)
    def get(self, request: Request, project: str) -> Response:
        return Response(retention_row(self.access.project))

    @extend_schema(operation_id="retention_update", request=RetentionSet, responses=RetentionBody)
    def put(self, request: Request, project: str) -> Response:
        retention_set(access=self.access, **read(RetentionSet, request))
        return Response(retention_row(self.access.project))


class RetentionOlder(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"GET": Role.ADMIN}

    @extend_schema(parameters=[OlderAsked], responses=OlderBody)
    def get(self, request: Request, project: str) -> Response:
        asked = OlderAsked(data=request.query_params)
        asked.is_valid(raise_exception=True)
        days = asked.validated_data["days"]
        found = older(self.access.project.pk, kept_since(days))
        return Response(
            {
                "days": days,
                "before": found.before,
                "trace_count": found.traces,
                "observation_count": found.observations,
                "first_at": found.first_at,
            }
        )
