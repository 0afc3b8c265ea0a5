"""Comments in the public API."""

from collections.abc import Iterable, Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.errors import InvalidError
from hone.common.public import page_body, page_query, stamp
from hone.common.schema import read
from hone.traces.models import Comment
from hone.traces.selectors.comments import comment_get, comments
from hone.traces.selectors.external_ids import external_ids
from hone.traces.services.comments import comment_create, object_key


class CommentCreate(serializers.Serializer[Any]):
    projectId = serializers.CharField(required=False)
    objectType = serializers.CharField()
    objectId = serializers.CharField(max_length=800)
    content = serializers.CharField(trim_whitespace=False)
    authorUserId = serializers.CharField(required=False, allow_null=True)


def comment_body(comment: Comment, project: str, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": comment.key,
        "projectId": project,
        "objectType": comment.object_type,
        "objectId": names.get(comment.object_id, comment.object_id),
        "content": comment.content,
        "authorUserId": str(comment.author_id) if comment.author_id else None,
        "createdAt": stamp(comment.created_at),
        "updatedAt": stamp(comment.updated_at),
    }


def _names(project_id: int, found: Iterable[Comment]) -> Mapping[str, str]:
    """The ids that clients gave to the traces and observations."""
    keys = {c.object_id for c in found if c.object_type in ("TRACE", "OBSERVATION")}
    return external_ids(project_id, keys)


class PublicComments(PublicView):
    def get(self, request: Request) -> Response:
        params = request.query_params
        query = page_query(params)
        kind, identity = params.get("objectType"), params.get("objectId")
        if identity and not kind:
            raise InvalidError("objectId: wants its objectType beside it", field="objectId")
        rows = comments(
            self.project.pk,
            object_type=kind,
            object_ids=[object_key(kind, identity)] if kind and identity else [],
            author=params.get("authorUserId"),
        )
        page = list(rows.order_by("-created_at", "-id")[query.offset : query.offset + query.limit])
        names = _names(self.project.pk, page)
        data = [comment_body(comment, self.project.slug, names) for comment in page]
        return Response(page_body(data, query, rows.count()))

    def post(self, request: Request) -> Response:
        fields = read(CommentCreate, request)
        if fields.get("projectId", self.project.slug) != self.project.slug:
            raise InvalidError("projectId: the key opens another project", field="projectId")
        comment = comment_create(
            access=self.access,
            object_type=fields["objectType"].upper(),
            object_id=fields["objectId"],
            content=fields["content"],
        )
        return Response({"id": comment.key})


class PublicComment(PublicView):
    def get(self, request: Request, comment: str) -> Response:
        found = comment_get(self.project.pk, comment)
        names = _names(self.project.pk, [found])
        return Response(comment_body(found, self.project.slug, names))
