"""Comments on traces, observations, sessions and prompts."""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.accounts.selectors import Access
from hone.common.errors import InvalidError
from hone.common.paging import paginate
from hone.common.schema import page_of, read
from hone.traces.api import said_bodies as bodies
from hone.traces.api.params import PAGE_PARAMETERS
from hone.traces.core.ids import trace_key
from hone.traces.models import Comment
from hone.traces.selectors.comments import comments, comments_of_trace
from hone.traces.services.comments import (
    comment_create,
    comment_delete,
    comment_update,
    is_own,
    object_key,
)


def comment_row(comment: Comment, access: Access) -> dict[str, Any]:
    return {
        "id": comment.key,
        "object_type": comment.object_type,
        "object_id": comment.object_id,
        "trace_id": comment.trace_id or None,
        "content": comment.content,
        "author": comment.author_name,
        "is_own": is_own(access, comment),
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
    }


class Comments(ProjectView):
    @extend_schema(
        parameters=[
            OpenApiParameter("trace_id", str, description="Of the trace and its observations"),
            OpenApiParameter("object_type", str, enum=bodies.KINDS),
            OpenApiParameter("object_id", str),
            *PAGE_PARAMETERS,
        ],
        responses=page_of(bodies.CommentBody),
    )
    def get(self, request: Request, project: str) -> Response:
        params = request.query_params
        project_id = self.access.project.pk
        kind, identity = params.get("object_type"), params.get("object_id")
        if identity and (not kind or "\x00" in identity):
            raise InvalidError("object_id: wants its object_type beside it", field="object_id")
        if trace_id := params.get("trace_id"):
            rows = comments_of_trace(project_id, trace_key(trace_id))
        else:
            ids = [object_key(kind, identity)] if kind and identity else []
            rows = comments(project_id, object_type=kind, object_ids=ids)
        page = paginate(rows, params, {"created_at": datetime, "id": int})
        return Response(page.body(lambda row: comment_row(row, self.access)))

    @extend_schema(request=bodies.CommentCreate, responses={201: bodies.CommentBody})
    def post(self, request: Request, project: str) -> Response:
        fields = read(bodies.CommentCreate, request)
        comment = comment_create(access=self.access, **fields)
        return Response(comment_row(comment, self.access), status=201)


class CommentDetail(ProjectView):
    @extend_schema(request=bodies.CommentUpdate, responses=bodies.CommentBody)
    def patch(self, request: Request, project: str, comment: str) -> Response:
        content = read(bodies.CommentUpdate, request)["content"]
        changed = comment_update(access=self.access, key=comment, content=content)
        return Response(comment_row(changed, self.access))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, comment: str) -> Response:
        comment_delete(access=self.access, key=comment)
        return Response(status=204)
