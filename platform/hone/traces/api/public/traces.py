"""Traces: pages, one with all that belongs to it, and deletion."""

from collections.abc import Sequence
from typing import Any, Final

from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.conditions import Condition, conditions_of
from hone.common.errors import InvalidError, NotFoundError
from hone.common.public import (
    comma_list,
    moment_of,
    page_body,
    page_query,
    repeated,
)
from hone.traces.api.public.names import Names, names_of
from hone.traces.api.public.shapes import (
    observation_body,
    seconds_between,
    trace_body,
    trace_path,
)
from hone.traces.api.score_shapes import score_body
from hone.traces.core.ids import trace_key
from hone.traces.selectors.external_ids import external_ids
from hone.traces.selectors.public import (
    PublicTrace,
    TraceQuery,
    observations_of_trace,
    trace_find,
    trace_ids_of,
    traces_count,
    traces_page,
)
from hone.traces.selectors.public.observations import observation_ids_of
from hone.traces.selectors.public.traces import traces_payloads
from hone.traces.selectors.scores import scores_of_traces
from hone.traces.services import trace_delete

MAX_OBSERVATIONS: Final = 50_000  # of one trace in one answer
MAX_DELETED: Final = 1000  # in one call
_GROUPS: Final = ("core", "io", "scores", "observations", "metrics")
_EQUAL: Final = ("userId", "name", "sessionId", "version", "release")


def trace_query(project_id: int, params: QueryDict) -> TraceQuery:
    """What a query string asks for; a `filter` stands over the single parameters."""
    if (text := params.get("filter")) is not None:
        conditions = list(conditions_of(text))
    else:
        conditions = [
            Condition("string", name, "=", params[name]) for name in _EQUAL if params.get(name)
        ]
        if tags := repeated(params, "tags"):
            conditions.append(Condition("arrayOptions", "tags", "all of", tags))
        if environments := repeated(params, "environment"):
            conditions.append(Condition("stringOptions", "environment", "any of", environments))
        for name, operator in (("fromTimestamp", ">="), ("toTimestamp", "<")):
            if moment := moment_of(params, name):
                conditions.append(Condition("datetime", "timestamp", operator, moment))
    order = params.get("orderBy") or "timestamp.desc"
    return TraceQuery(project_id=project_id, conditions=conditions, order=order)


class PublicTraces(PublicView):
    def get(self, request: Request) -> Response:
        params = request.query_params
        groups = comma_list(params, "fields") or list(_GROUPS)
        if unknown := [group for group in groups if group not in _GROUPS]:
            raise InvalidError(f"fields: {unknown[0]!r} is not one of {', '.join(_GROUPS)}")
        page = page_query(params)
        query = trace_query(self.project.pk, params)
        rows = traces_page(query, limit=page.limit, offset=page.offset)
        return Response(page_body(self._bodies(rows, groups), page, traces_count(query)))

    def _bodies(self, rows: Sequence[PublicTrace], groups: Sequence[str]) -> list[dict[str, Any]]:
        project_id, ids = self.project.pk, [row.id for row in rows]
        payloads = traces_payloads(project_id, rows) if "io" in groups else {}
        observations = observation_ids_of(project_id, ids) if "observations" in groups else {}
        scores = scores_of_traces(project_id, ids) if "scores" in groups else {}
        keys = {key for each in observations.values() for key in each}
        names = external_ids(project_id, keys | set(ids))
        bodies = []
        for row in rows:
            body = trace_body(row, payloads.get(row.id), names)
            body["htmlPath"] = trace_path(self.project.slug, row.id)
            body["observations"] = [names.get(key, key) for key in observations.get(row.id, ())]
            body["scores"] = [score.key for score in scores.get(row.id, ())]
            body |= _metrics(row, wanted="metrics" in groups)
            bodies.append(body)
        return bodies

    def delete(self, request: Request) -> Response:
        ids = request.data.get("traceIds") if isinstance(request.data, dict) else None
        if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
            raise InvalidError("traceIds: want a list of ids", field="traceIds")
        if len(ids) > MAX_DELETED:
            raise InvalidError(f"traceIds: at most {MAX_DELETED} at once", field="traceIds")
        found = trace_ids_of(self.project.pk, [trace_key(each) for each in ids])
        for trace_id in sorted(found):
            trace_delete(project_id=self.project.pk, trace_id=trace_id)
        return Response({"message": f"{len(found)} traces deleted"})


class PublicOneTrace(PublicView):
    def get(self, request: Request, trace: str) -> Response:
        found = trace_find(self.project.pk, trace_key(trace))
        if found is None:
            raise NotFoundError(f"Trace {trace!r} not found within authorized project")
        project_id = self.project.pk
        observations = observations_of_trace(project_id, found.id, limit=MAX_OBSERVATIONS)
        names = names_of(project_id, observations, [found.id])
        payloads = traces_payloads(project_id, [found])[found.id]
        body = trace_body(found, payloads, names)
        body["htmlPath"] = trace_path(self.project.slug, found.id)
        body["observations"] = [observation_body(each, names) for each in observations]
        body["scores"] = self._scores(found.id, names)
        return Response(body | _metrics(found, wanted=True))

    def _scores(self, trace_id: str, names: Names) -> list[dict[str, Any]]:
        found = scores_of_traces(self.project.pk, [trace_id])[trace_id]
        return [score_body(score, names) for score in found]

    def delete(self, request: Request, trace: str) -> Response:
        if not trace_delete(project_id=self.project.pk, trace_id=trace_key(trace)):
            raise NotFoundError(f"Trace {trace!r} not found within authorized project")
        return Response({"message": "Trace deleted"})


def _metrics(trace: PublicTrace, *, wanted: bool) -> dict[str, Any]:
    """Duration in seconds and cost in USD; -1 is what clients expect where nobody asked."""
    if not wanted:
        return {"latency": -1, "totalCost": -1}
    return {
        "latency": seconds_between(trace.started_at, trace.ended_at),
        "totalCost": float(trace.cost or 0),
    }
