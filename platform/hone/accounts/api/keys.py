"""API keys of a project."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api import serializers
from hone.accounts.api.access import ProjectView, person
from hone.accounts.api.encode import key_body
from hone.accounts.core.roles import Role
from hone.accounts.models import ApiKey
from hone.accounts.services import api_key_create, api_key_revoke
from hone.common.paging import paginate
from hone.common.schema import page_of, read


class Keys(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"GET": Role.MEMBER, "POST": Role.ADMIN}

    @extend_schema(responses=page_of(serializers.KeyBody))
    def get(self, request: Request, project: str) -> Response:
        rows = ApiKey.objects.filter(project=self.access.project)
        return Response(paginate(rows, request.query_params, {"-id": int}).body(key_body))

    @extend_schema(request=serializers.KeyCreate, responses={201: serializers.KeyCreated})
    def post(self, request: Request, project: str) -> Response:
        fields = read(serializers.KeyCreate, request)
        key, secret = api_key_create(
            project=self.access.project, created_by=person(request), **fields
        )
        return Response({**key_body(key), "secret_key": secret}, status=201)


class KeyDetail(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"DELETE": Role.ADMIN}

    @extend_schema(responses=serializers.KeyBody)
    def delete(self, request: Request, project: str, key_id: int) -> Response:
        """Revoke the key; its row stays, with the time."""
        return Response(key_body(api_key_revoke(project=self.access.project, key_id=key_id)))
