"""Merges, comments and proposals of a draft."""

import binascii
from base64 import b64decode, b64encode
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import person
from hone.accounts.core.roles import Role
from hone.collab.api import review_bodies as bodies
from hone.collab.api.review_encode import comment_body, merge_body, proposal_body, stand_body
from hone.collab.api.views import DraftView
from hone.collab.models import Draft, Proposal
from hone.collab.selectors import (
    comment_get,
    comment_list,
    project_draft_get,
    proposal_get,
    proposal_list,
    verdict_list,
)
from hone.collab.services.comments import comment_create, comment_delete, comment_update
from hone.collab.services.merge import Source, choice_of, merge_apply, merge_prepare
from hone.collab.services.review import (
    proposal_create,
    proposal_publish,
    proposal_stand,
    proposal_update,
    proposal_withdraw,
    verdict_give,
)
from hone.common.errors import InvalidError
from hone.common.schema import read
from hone.prompts.selectors import version_get

MAX_NUMBER = 2**31 - 1


class DraftMergeView(DraftView):
    """What bringing in another draft or a version would make of this one; POST does it."""

    @extend_schema(
        responses=bodies.MergeBody,
        parameters=[OpenApiParameter("draft", str), OpenApiParameter("version", int)],
    )
    def get(self, request: Request, project: str, draft: object) -> Response:
        found = self.draft(draft)
        number = request.query_params.get("version")
        if number is not None and not (number.isascii() and number.isdigit() and len(number) < 10):
            raise InvalidError(f"version: got {number[:40]!r}, want a number", field="version")
        source = self.source(
            found, request.query_params.get("draft"), int(number) if number else None
        )
        return Response(merge_body(merge_prepare(found, source), source))

    @extend_schema(request=bodies.MergeApply, responses=bodies.MergeApplied)
    def post(self, request: Request, project: str, draft: object) -> Response:
        fields = read(bodies.MergeApply, request)
        found = self.draft(draft)
        source = self.source(found, fields.get("draft"), fields.get("version"))
        choices = {key: choice_of(value) for key, value in (fields.get("choices") or {}).items()}
        applied = merge_apply(draft=found, source=source, choices=choices, author=self.author())
        base = self.draft(draft).base
        return Response(
            {
                "seq": applied.seq,
                "base_version": base.number if base else None,
                "update": b64encode(applied.update).decode(),
            }
        )

    def source(self, draft: Draft, other: object, version: int | None) -> Source:
        if (other is None) == (version is None):
            raise InvalidError("draft, version: want one of them", field="draft")
        if version is not None:
            return Source(None, version_get(draft.prompt, number=version))
        found = project_draft_get(self.access.project.pk, str(other))
        if found.prompt_id != draft.prompt_id:
            raise InvalidError("draft: that is a draft of another prompt", field="draft")
        return Source(found, None)


def _anchor(fields: dict[str, Any], name: str) -> bytes | None:
    value = fields.get(name)
    if value is None:
        return None
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidError(f"{name}: want base64", field=name) from None


class DraftComments(DraftView):
    """Whoever may read may comment."""

    roles: ClassVar[dict[str, Role]] = {"POST": Role.VIEWER}

    @extend_schema(responses=bodies.DraftCommentPage)
    def get(self, request: Request, project: str, draft: object) -> Response:
        rows = comment_list(self.draft(draft))
        return Response({"data": [comment_body(row, self.access.user) for row in rows]})

    @extend_schema(request=bodies.DraftCommentCreate, responses={201: bodies.DraftCommentBody})
    def post(self, request: Request, project: str, draft: object) -> Response:
        fields = read(bodies.DraftCommentCreate, request)
        found = self.draft(draft)
        parent = fields.get("parent")
        made = comment_create(
            draft=found,
            author=self.author(),
            body=fields["body"],
            start=_anchor(fields, "start"),
            end=_anchor(fields, "end"),
            quote=fields.get("quote", ""),
            parent=comment_get(found, parent) if parent else None,
        )
        return Response(comment_body(made, self.access.user), status=201)


class DraftCommentDetail(DraftView):
    roles: ClassVar[dict[str, Role]] = {"PATCH": Role.VIEWER, "DELETE": Role.VIEWER}

    @extend_schema(request=bodies.DraftCommentUpdate, responses=bodies.DraftCommentBody)
    def patch(self, request: Request, project: str, draft: object, comment: str) -> Response:
        fields = read(bodies.DraftCommentUpdate, request)
        changed = comment_update(
            comment=comment_get(self.draft(draft), comment),
            author=self.author(),
            fields=fields,
            may_settle=self.access.role.covers(Role.MEMBER),
        )
        return Response(comment_body(changed, self.access.user))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, draft: object, comment: str) -> Response:
        comment_delete(comment=comment_get(self.draft(draft), comment), author=self.author())
        return Response(status=204)


class ProposalView(DraftView):
    """What the endpoints of a draft's open proposal share."""

    def proposal(self, draft: object) -> Proposal:
        return proposal_get(self.draft(draft))

    def stand(self, proposal: Proposal) -> dict[str, Any]:
        stand = proposal_stand(proposal, is_admin=self.author().is_admin)
        return stand_body(stand, list(verdict_list(proposal)), self.access.user)


class DraftProposals(ProposalView):
    @extend_schema(responses=bodies.ProposalPage)
    def get(self, request: Request, project: str, draft: object) -> Response:
        rows = proposal_list(self.draft(draft))[:200]
        return Response({"data": [proposal_body(row, self.access.user) for row in rows]})


class DraftProposal(ProposalView):
    """The open proposal of a draft."""

    @extend_schema(responses=bodies.ProposalStand)
    def get(self, request: Request, project: str, draft: object) -> Response:
        return Response(self.stand(self.proposal(draft)))

    @extend_schema(request=bodies.ProposalCreate, responses={201: bodies.ProposalStand})
    def post(self, request: Request, project: str, draft: object) -> Response:
        fields = read(bodies.ProposalCreate, request)
        made = proposal_create(
            draft=self.draft(draft),
            author=self.author(),
            message=fields.get("message", ""),
            label=fields.get("label", ""),
        )
        return Response(self.stand(made), status=201)

    @extend_schema(request=bodies.ProposalCreate, responses=bodies.ProposalStand)
    def patch(self, request: Request, project: str, draft: object) -> Response:
        found = self.proposal(draft)
        proposal_update(proposal=found, **read(bodies.ProposalCreate, request))
        return Response(self.stand(found))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, draft: object) -> Response:
        proposal_withdraw(proposal=self.proposal(draft))
        return Response(status=204)


class ProposalVerdicts(ProposalView):
    """A person decides, not a program with a key."""

    @extend_schema(request=bodies.VerdictCreate, responses={201: bodies.ProposalStand})
    def post(self, request: Request, project: str, draft: object) -> Response:
        user = person(request)
        found = self.proposal(draft)
        fields = read(bodies.VerdictCreate, request)
        verdict_give(proposal=found, user=user, name=self.access.author_name, **fields)
        return Response(self.stand(found), status=201)


class ProposalPublish(ProposalView):
    @extend_schema(request=None, responses={201: bodies.ProposalBody})
    def post(self, request: Request, project: str, draft: object) -> Response:
        found = self.proposal(draft)
        proposal_publish(proposal=found, author=self.author())
        return Response(proposal_body(found, self.access.user), status=201)
