from typing import ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView, person
from hone.accounts.core.roles import Role
from hone.collab.api import serializers
from hone.collab.api.encode import content_body, draft_body, moment_body
from hone.collab.api.review_bodies import DraftUpdate
from hone.collab.core.shape import ShapeError
from hone.collab.core.tokens import TOKEN_S
from hone.collab.models import Draft
from hone.collab.selectors import (
    draft_content,
    draft_list,
    moment_content,
    moment_list,
    person_of,
    project_draft_get,
    writers_of,
)
from hone.collab.services import draft_close, draft_create, draft_main, draft_publish
from hone.collab.services.branches import draft_update
from hone.collab.services.tickets import Ticket, token_made
from hone.common.errors import InvalidError
from hone.common.schema import read
from hone.prompts.models import Prompt
from hone.prompts.selectors import prompt_get, version_get
from hone.prompts.services import Author


class DraftView(ProjectView):
    """What the endpoints of drafts share."""

    def author(self) -> Author:
        is_admin = self.access.role.covers(Role.ADMIN)
        return Author(self.access.author_name, self.access.user, is_admin=is_admin)

    def prompt(self, name: str) -> Prompt:
        return prompt_get(self.access.project.pk, name)

    def draft(self, draft: object) -> Draft:
        return project_draft_get(self.access.project.pk, str(draft))


class PromptDrafts(DraftView):
    @extend_schema(
        responses=serializers.DraftPage,
        parameters=[OpenApiParameter("closed", bool, description="Closed ones, too")],
    )
    def get(self, request: Request, project: str, name: str) -> Response:
        closed = request.query_params.get("closed", "") in ("1", "true")
        found = draft_list(self.prompt(name), include_closed=closed).select_related("prompt")
        rows = list(found[:200])
        people = writers_of([row.pk for row in rows])
        data = [{**draft_body(row), "people": people.get(row.pk, [])} for row in rows]
        return Response({"data": data})

    @extend_schema(request=serializers.DraftCreate, responses={201: serializers.DraftBody})
    def post(self, request: Request, project: str, name: str) -> Response:
        fields = read(serializers.DraftCreate, request)
        prompt = self.prompt(name)
        base = version_get(prompt, number=fields.get("version"))
        draft = draft_create(prompt=prompt, author=self.author(), base=base, name=fields["name"])
        return Response(draft_body(draft), status=201)


class PromptMainDraft(DraftView):
    """The draft in which everybody meets who opens the prompt's editor; a viewer reads along."""

    roles: ClassVar[dict[str, Role]] = {"POST": Role.VIEWER}

    @extend_schema(request=None, responses=serializers.DraftEntered)
    def post(self, request: Request, project: str, name: str) -> Response:
        draft = draft_main(prompt=self.prompt(name), author=self.author())
        return Response({**draft_body(draft), "you": person_of(self.access).shown()})


class DraftDetail(DraftView):
    @extend_schema(responses=serializers.DraftContent)
    def get(self, request: Request, project: str, draft: object) -> Response:
        found = self.draft(draft)
        try:
            found.seq, shape = draft_content(found.pk)
        except ShapeError as error:
            raise InvalidError(f"The document is no prompt: {error}") from None
        you = person_of(self.access).shown()
        return Response({**draft_body(found), **content_body(shape), "you": you})

    @extend_schema(request=DraftUpdate, responses=serializers.DraftBody)
    def patch(self, request: Request, project: str, draft: object) -> Response:
        """Rename it, close it, or open it again."""
        draft_update(draft=self.draft(draft), **read(DraftUpdate, request))
        return Response(draft_body(self.draft(draft)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, draft: object) -> Response:
        draft_close(draft=self.draft(draft))
        return Response(status=204)


class DraftPublishView(DraftView):
    @extend_schema(request=serializers.DraftPublish, responses={201: serializers.Published})
    def post(self, request: Request, project: str, draft: object) -> Response:
        fields = read(serializers.DraftPublish, request)
        version = draft_publish(draft=self.draft(draft), author=self.author(), **fields)
        return Response({"version": version.number}, status=201)


class DraftToken(DraftView):
    """A way into the room for a client that has no session cookie; good for a minute."""

    roles: ClassVar[dict[str, Role]] = {"POST": Role.VIEWER}

    @extend_schema(request=None, responses={201: serializers.RoomToken})
    def post(self, request: Request, project: str, draft: object) -> Response:
        found = self.draft(draft)
        session = request._request.session.session_key or ""
        token = token_made(Ticket(person(request).pk, session), found.pk)
        url = f"/ws/collab/{found.pk}?token={token}"
        return Response({"token": token, "url": url, "expires_in_s": TOKEN_S}, status=201)


class DraftMoments(DraftView):
    @extend_schema(responses=serializers.MomentPage)
    def get(self, request: Request, project: str, draft: object) -> Response:
        rows = moment_list(self.draft(draft))
        return Response({"data": [moment_body(row) for row in rows[:500]]})


class DraftMomentDetail(DraftView):
    @extend_schema(responses=serializers.MomentContent)
    def get(self, request: Request, project: str, draft: object, seq: int) -> Response:
        body = content_body(moment_content(self.draft(draft), seq))
        return Response({"seq": seq, **{k: body[k] for k in ("type", "content", "config")}})
