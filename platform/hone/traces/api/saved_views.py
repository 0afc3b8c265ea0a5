"""Filters under a name, a person's own or shared."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView, person
from hone.accounts.core.roles import Role
from hone.accounts.models import User
from hone.common.errors import ForbiddenError, InvalidError
from hone.common.schema import read
from hone.traces.api import list_bodies as bodies
from hone.traces.models.views import SavedView
from hone.traces.selectors.saved_views import saved_view, saved_views
from hone.traces.services.saved_views import (
    saved_view_create,
    saved_view_delete,
    saved_view_update,
)


def row_of(view: SavedView, user: User) -> dict[str, Any]:
    return {
        "id": view.pk,
        "page": view.page,
        "name": view.name,
        "search": view.search,
        "shared": view.shared,
        "owner": view.owner.name or view.owner.email,
        "is_own": view.owner.pk == user.pk,
    }


class SavedViews(ProjectView):
    # A view of one's own changes nothing for others.
    roles: ClassVar[dict[str, Role]] = {"POST": Role.VIEWER}

    @extend_schema(
        parameters=[OpenApiParameter("page", str, enum=bodies.PAGES)],
        responses=bodies.ViewBody(many=True),
    )
    def get(self, request: Request, project: str) -> Response:
        page = request.query_params.get("page") or None
        if page is not None and page not in bodies.PAGES:
            raise InvalidError(f"page: got {page[:40]!r}, want {bodies.PAGES}", field="page")
        user = person(request)
        found = saved_views(self.access.project.pk, user, page)
        return Response([row_of(view, user) for view in found])

    @extend_schema(request=bodies.ViewWrite, responses={201: bodies.ViewBody})
    def post(self, request: Request, project: str) -> Response:
        user, fields = person(request), read(bodies.ViewWrite, request)
        if fields["shared"]:
            self.access.require(Role.MEMBER)
        view = saved_view_create(project_id=self.access.project.pk, owner=user, **fields)
        return Response(row_of(view, user), status=201)


class SavedViewDetail(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"PATCH": Role.VIEWER, "DELETE": Role.VIEWER}

    @extend_schema(request=bodies.ViewChange, responses=bodies.ViewBody)
    def patch(self, request: Request, project: str, view: int) -> Response:
        user, fields = person(request), read(bodies.ViewChange, request)
        found = self._mine(user, view)
        if fields.get("shared"):
            self.access.require(Role.MEMBER)
        return Response(row_of(saved_view_update(found, **fields), user))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, view: int) -> Response:
        saved_view_delete(self._mine(person(request), view))
        return Response(status=204)

    def _mine(self, user: User, view_id: int) -> SavedView:
        """A view that the person may change: their own, and as an admin a shared one."""
        view = saved_view(self.access.project.pk, user, view_id)
        if view.owner.pk != user.pk and not self.access.role.covers(Role.ADMIN):
            raise ForbiddenError("Only its owner or an admin changes a shared view")
        return view
