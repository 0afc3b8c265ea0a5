"""A project's masks: what is taken out of what comes in before it is stored.

Members see why a text reads as it does; a pattern may say what it hides, so viewers do not.
"""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.accounts.core.roles import Role
from hone.common.paging import paginate
from hone.common.schema import page_of, read
from hone.traces.api import intake_bodies as bodies
from hone.traces.api.params import PAGE_PARAMETERS
from hone.traces.models import MaskRule
from hone.traces.services.masks import mask_create, mask_delete, mask_tested, mask_update


def mask_row(rule: MaskRule) -> dict[str, Any]:
    return {
        "id": rule.key,
        "name": rule.name,
        "pattern": rule.pattern,
        "replacement": rule.replacement,
        "is_enabled": rule.is_enabled,
        "author": rule.author_name,
        "created_at": rule.created_at,
        "updated_at": rule.updated_at,
    }


class Masks(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"GET": Role.MEMBER, "POST": Role.ADMIN}

    @extend_schema(parameters=PAGE_PARAMETERS, responses=page_of(bodies.MaskBody))
    def get(self, request: Request, project: str) -> Response:
        rows = MaskRule.objects.filter(project=self.access.project)
        return Response(paginate(rows, request.query_params, {"id": int}).body(mask_row))

    @extend_schema(request=bodies.MaskCreate, responses={201: bodies.MaskBody})
    def post(self, request: Request, project: str) -> Response:
        fields = read(bodies.MaskCreate, request)
        return Response(mask_row(mask_create(access=self.access, **fields)), status=201)


class MaskTest(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"POST": Role.ADMIN}

    @extend_schema(request=bodies.MaskTest, responses=bodies.MaskTested)
    def post(self, request: Request, project: str) -> Response:
        text, count = mask_tested(**read(bodies.MaskTest, request))
        return Response({"text": text, "count": count})


class MaskDetail(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"PATCH": Role.ADMIN, "DELETE": Role.ADMIN}

    @extend_schema(request=bodies.MaskUpdate, responses=bodies.MaskBody)
    def patch(self, request: Request, project: str, mask: str) -> Response:
        fields = read(bodies.MaskUpdate, request)
        return Response(mask_row(mask_update(access=self.access, key=mask, **fields)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, mask: str) -> Response:
        mask_delete(access=self.access, key=mask)
        return Response(status=204)
