"""The REST edge of a draft's history."""

import base64

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.collab.api import history_bodies as bodies
from hone.collab.api.encode import moment_body
from hone.collab.api.views import DraftView
from hone.collab.services.history import draft_history, draft_restore, draft_state
from hone.common.schema import read


class DraftHistoryView(DraftView):
    """Everything that can be looked at, and who wrote it."""

    @extend_schema(responses=bodies.DraftHistory)
    def get(self, request: Request, project: str, draft: object) -> Response:
        found = draft_history(self.draft(draft))
        strokes = [
            {
                "first": stroke.first,
                "latest": stroke.latest,
                "person": stroke.person and stroke.person.shown(),
                "ended_at": stroke.ended_at,
            }
            for stroke in found.strokes
        ]
        writers = [{"client": c, "person": p.shown()} for c, p in found.writers.items()]
        moments = [moment_body(moment) for moment in found.moments]
        facts = {"seq": found.seq, "moments": moments}
        return Response({**facts, "strokes": strokes, "writers": writers})


class DraftStateView(DraftView):
    """The document at a number, as Yjs encodes it."""

    @extend_schema(responses=bodies.DraftState)
    def get(self, request: Request, project: str, draft: object, seq: int) -> Response:
        state = draft_state(self.draft(draft), seq)
        return Response({"seq": seq, "state": base64.b64encode(state).decode()})


class DraftRestoreView(DraftView):
    """Writes what the draft said at a number as an edit of now."""

    @extend_schema(request=bodies.DraftRestore, responses={201: bodies.DraftRestored})
    def post(self, request: Request, project: str, draft: object) -> Response:
        fields = read(bodies.DraftRestore, request)
        seq = draft_restore(draft=self.draft(draft), seq=fields["seq"], author=self.author())
        return Response({"seq": seq}, status=201)
