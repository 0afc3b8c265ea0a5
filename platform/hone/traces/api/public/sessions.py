"""Sessions: pages, and one with its traces."""

from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.conditions import Condition
from hone.common.errors import NotFoundError
from hone.common.public import moment_of, page_body, page_query, repeated, stamp
from hone.traces.api.public.shapes import trace_body
from hone.traces.selectors.external_ids import external_ids
from hone.traces.selectors.public import (
    PublicSession,
    TraceQuery,
    session_find,
    sessions_page,
    traces_page,
)
from hone.traces.selectors.public.traces import traces_payloads

MAX_TRACES = 1000  # of one session in one answer


def session_body(session: PublicSession, project: str) -> dict[str, object]:
    return {
        "id": session.id,
        "createdAt": stamp(session.created_at),
        "projectId": project,
        "environment": session.environment,
    }


class PublicSessions(PublicView):
    def get(self, request: Request) -> Response:
        params = request.query_params
        page = page_query(params)
        rows, total = sessions_page(
            self.project.pk,
            start=moment_of(params, "fromTimestamp"),
            end=moment_of(params, "toTimestamp"),
            environments=repeated(params, "environment"),
            limit=page.limit,
            offset=page.offset,
        )
        bodies = [session_body(row, self.project.slug) for row in rows]
        return Response(page_body(bodies, page, total))


class PublicOneSession(PublicView):
    def get(self, request: Request, session: str) -> Response:
        project_id = self.project.pk
        found = session_find(project_id, session)
        if found is None:
            raise NotFoundError(f"Session {session!r} not found")
        query = TraceQuery(
            project_id=project_id,
            conditions=[Condition("string", "sessionId", "=", session)],
            order="timestamp.asc",
        )
        rows = traces_page(query, limit=MAX_TRACES)
        names = external_ids(project_id, {row.id for row in rows})
        payloads = traces_payloads(project_id, rows)
        traces = [trace_body(row, payloads[row.id], names) for row in rows]
        return Response({**session_body(found, self.project.slug), "traces": traces})
