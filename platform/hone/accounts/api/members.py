"""Members: of the organization, seen from one of its projects."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api import serializers
from hone.accounts.api.access import ProjectView, person
from hone.accounts.api.encode import member_body
from hone.accounts.core.roles import Role
from hone.accounts.models import Membership
from hone.accounts.services import member_add, member_remove, member_update
from hone.common.paging import paginate
from hone.common.schema import page_of, read


class Members(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"POST": Role.ADMIN}

    @extend_schema(responses=page_of(serializers.MemberBody))
    def get(self, request: Request, project: str) -> Response:
        organization = self.access.project.organization_id
        rows = Membership.objects.filter(organization=organization).select_related("user")
        return Response(paginate(rows, request.query_params, {"id": int}).body(member_body))

    @extend_schema(request=serializers.MemberCreate, responses={201: serializers.MemberCreated})
    def post(self, request: Request, project: str) -> Response:
        fields = read(serializers.MemberCreate, request)
        person(request)
        membership, initial = member_add(
            organization=self.access.project.organization,
            by=self.access.role,
            **{**fields, "role": Role(fields["role"])},
        )
        return Response({**member_body(membership), "initial_password": initial}, status=201)


class MemberDetail(ProjectView):
    # Anybody may leave: the service decides about DELETE.
    roles: ClassVar[dict[str, Role]] = {"PATCH": Role.ADMIN, "DELETE": Role.VIEWER}

    @extend_schema(request=serializers.MemberUpdate, responses=serializers.MemberBody)
    def patch(self, request: Request, project: str, member_id: int) -> Response:
        fields = read(serializers.MemberUpdate, request)
        person(request)
        membership = member_update(
            organization=self.access.project.organization,
            by=self.access.role,
            membership_id=member_id,
            role=Role(fields["role"]),
        )
        return Response(member_body(membership))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, member_id: int) -> Response:
        member_remove(
            organization=self.access.project.organization,
            by=self.access.role,
            by_user=person(request),
            membership_id=member_id,
        )
        return Response(status=204)
