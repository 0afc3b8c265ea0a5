"""Observations: v2 by cursor with groups of fields, v1 by page, one by id."""

from datetime import datetime
from typing import Any, Final

from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.conditions import Condition, conditions_of
from hone.common.errors import InvalidError, NotFoundError
from hone.common.paging import cursor_decode, cursor_encode
from hone.common.public import (
    comma_list,
    cursor_body,
    flag_of,
    moment_of,
    number_of,
    page_body,
    page_query,
    repeated,
)
from hone.traces.api.public.names import names_of
from hone.traces.api.public.shapes import GROUPS, observation_body, observation_body_v2
from hone.traces.core.ids import span_key, trace_key
from hone.traces.selectors.public import (
    ObservationQuery,
    PublicObservation,
    observation_find,
    observations_count,
    observations_page,
)

_EQUAL: Final = ("name", "userId", "sessionId", "type", "level", "version")
_DEFAULT_GROUPS: Final = ("core", "basic")
_HEX: Final = frozenset("0123456789abcdef")


def observation_query(project_id: int, params: QueryDict, **more: Any) -> ObservationQuery:
    """What a query string asks for; a `filter` stands over the single parameters."""
    if (text := params.get("filter")) is not None:
        conditions = list(conditions_of(text))
    else:
        conditions = [
            Condition("string", name, "=", params[name]) for name in _EQUAL if params.get(name)
        ]
        if environments := repeated(params, "environment"):
            conditions.append(Condition("stringOptions", "environment", "any of", environments))
        if (is_root := flag_of(params, "isRootObservation")) is not None:
            conditions.append(Condition("boolean", "isRootObservation", "=", is_root))
        conditions += _below(params)
    trace_id = params.get("traceId")
    return ObservationQuery(
        project_id=project_id,
        conditions=conditions,
        start=moment_of(params, "fromStartTime"),
        end=moment_of(params, "toStartTime"),
        trace_id=trace_key(trace_id) if trace_id else None,
        **more,
    )


def _below(params: QueryDict) -> list[Condition]:
    """Of one parent; with an empty one those that have none."""
    if "parentObservationId" not in params:
        return []
    if parent := params["parentObservationId"]:
        return [Condition("string", "parentObservationId", "=", parent)]
    return [Condition("boolean", "hasParent", "=", False)]


class PublicObservations(PublicView):
    """v1."""

    def get(self, request: Request) -> Response:
        page = page_query(request.query_params, maximum=1000)
        query = observation_query(self.project.pk, request.query_params)
        rows = observations_page(query, limit=page.limit, offset=page.offset)
        names = names_of(self.project.pk, rows)
        bodies = [observation_body(row, names) for row in rows]
        known = page.offset + len(rows) + (len(rows) == page.limit)
        return Response(page_body(bodies, page, observations_count(query, known=known)))


class PublicOneObservation(PublicView):
    """v1."""

    def get(self, request: Request, observation: str) -> Response:
        found = observation_find(self.project.pk, span_key(observation))
        if found is None:
            raise NotFoundError(f"Observation {observation!r} not found")
        return Response(observation_body(found, names_of(self.project.pk, [found])))


class PublicObservationsV2(PublicView):
    def get(self, request: Request) -> Response:
        params = request.query_params
        if flag_of(params, "parseIoAsJson"):
            raise InvalidError("parseIoAsJson: payloads come as text", field="parseIoAsJson")
        groups = comma_list(params, "fields") or list(_DEFAULT_GROUPS)
        if unknown := [group for group in groups if group not in GROUPS]:
            raise InvalidError(
                f"fields: {unknown[0]!r} is not one of {', '.join(GROUPS)}", field="fields"
            )
        limit = number_of(params, "limit", minimum=1, maximum=1000) or 50
        query = observation_query(
            self.project.pk, params, with_payloads=not {"io", "metadata"}.isdisjoint(groups)
        )
        rows = observations_page(query, limit=limit + 1, after=_after(params))
        page, names = rows[:limit], names_of(self.project.pk, rows[:limit])
        whole = comma_list(params, "expandMetadata")
        bodies = [observation_body_v2(row, self.project.slug, names, groups, whole) for row in page]
        cursor = _cursor(page[-1]) if len(rows) > limit else None
        return Response(cursor_body(bodies, cursor))


def _cursor(latest: PublicObservation) -> str:
    return cursor_encode([latest.started_at.isoformat(), latest.trace_id, latest.id])


def _after(params: QueryDict) -> tuple[datetime, str, str] | None:
    cursor = params.get("cursor")
    if not cursor:
        return None
    moment, trace_id, span_id = cursor_decode(cursor, [datetime, str, str])
    lengths = len(trace_id), len(span_id)
    if moment.tzinfo is None or lengths != (32, 16) or not _HEX.issuperset(trace_id + span_id):
        raise InvalidError("cursor: it does not come from this list", field="cursor")
    return moment, trace_id, span_id
