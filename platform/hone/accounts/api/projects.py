"""Organizations and projects."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hone.accounts.api import serializers
from hone.accounts.api.access import ProjectView, person
from hone.accounts.api.encode import organization_body, project_body
from hone.accounts.api.sessions import projects_for
from hone.accounts.core.roles import Role
from hone.accounts.models import ApiKey
from hone.accounts.selectors import organization_administered, projects_of
from hone.accounts.services import organization_create, project_create, project_update
from hone.common.schema import page_of, read


class Organizations(APIView):
    @extend_schema(responses=page_of(serializers.OrganizationRole))
    def get(self, request: Request) -> Response:
        rows = [
            {**organization_body(membership.organization), "role": membership.role}
            for membership in projects_of(person(request))
        ]
        return Response({"data": rows, "next_cursor": None})

    @extend_schema(
        request=serializers.OrganizationCreate, responses={201: serializers.OrganizationRole}
    )
    def post(self, request: Request) -> Response:
        fields = read(serializers.OrganizationCreate, request)
        organization = organization_create(owner=person(request), **fields)
        return Response({**organization_body(organization), "role": Role.OWNER.value}, status=201)


class Projects(APIView):
    @extend_schema(responses=page_of(serializers.ProjectBody))
    def get(self, request: Request) -> Response:
        if isinstance(request.auth, ApiKey):
            rows = [project_body(request.auth.project, Role.MEMBER)]
        else:
            rows = projects_for(person(request))
        return Response({"data": rows, "next_cursor": None})

    @extend_schema(request=serializers.ProjectCreate, responses={201: serializers.ProjectBody})
    def post(self, request: Request) -> Response:
        fields = read(serializers.ProjectCreate, request)
        membership = organization_administered(person(request), fields.pop("organization", None))
        project = project_create(organization=membership.organization, **fields)
        return Response(project_body(project, membership.role), status=201)


class ProjectDetail(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"PATCH": Role.ADMIN}

    @extend_schema(responses=serializers.ProjectBody)
    def get(self, request: Request, project: str) -> Response:
        return Response(project_body(self.access.project, self.access.role))

    @extend_schema(request=serializers.ProjectUpdate, responses=serializers.ProjectBody)
    def patch(self, request: Request, project: str) -> Response:
        fields = read(serializers.ProjectUpdate, request)
        changed = project_update(project=self.access.project, **fields)
        return Response(project_body(changed, self.access.role))
