"""Pages of traces with their own input, output and metadata."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from hone.common.conditions import Condition, conditions_sql
from hone.common.errors import InvalidError
from hone.traces.core.text import json_stored
from hone.traces.selectors.filters import TraceFilter
from hone.traces.selectors.histogram import traces_histogram
from hone.traces.selectors.public.columns import TRACE_COLUMNS
from hone.traces.selectors.query import fetch, fetch_slow
from hone.traces.selectors.rows import DEFAULT_ENVIRONMENT

ORDERS: Final = {
    "timestamp": "t.started_at",
    "name": "t.name",
    "userId": "t.user_id",
    "sessionId": "t.session_id",
    "environment": "t.environment",
    "version": "t.version",
    "release": "t.release",
    "id": "t.trace_id",
    "latency": "t.ended_at - t.started_at",
    "totalCost": "t.cost",
}
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_SPAN_ID_LEN: Final = 8  # a key of the summary ends in the id of the span it chose
# Field of PublicTrace -> expression; what a trace has from chosen observations follows.
_FIELDS: Final = {
    "id": "t.trace_id",
    "started_at": "t.started_at",
    "ended_at": "t.ended_at",
    "latest_start_at": "t.latest_start_at",
    "name": "t.name",
    "user_id": "t.user_id",
    "session_id": "t.session_id",
    "release": "t.release",
    "version": "t.version",
    "environment": f"coalesce(t.environment, '{DEFAULT_ENVIRONMENT}')",
    "tags": "t.tags",
    "cost": "t.cost",
    "named_by": "substring(t.name_key FROM length(t.name_key) - 7)",
    "asked_by": "substring(t.input_key FROM length(t.input_key) - 7)",
    "answered_by": "substring(t.output_key FROM length(t.output_key) - 7)",
}


@dataclass(frozen=True, slots=True)
class PublicTrace:
    """One trace; `*_by` name the observations (hex) from which it has name, input and output."""

    id: str
    started_at: datetime
    ended_at: datetime
    latest_start_at: datetime
    name: str
    user_id: str | None
    session_id: str | None
    release: str | None
    version: str | None
    environment: str
    tags: list[str]
    cost: Decimal | None
    named_by: bytes | None
    asked_by: bytes | None
    answered_by: bytes | None


@dataclass(frozen=True, slots=True)
class Payloads:
    """What a trace has from its observations: stored texts, and the attributes of its name's."""

    input: str | None = None
    output: str | None = None
    metadata: str | None = None
    attributes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceQuery:
    """Traces of a project that meet every condition."""

    project_id: int
    conditions: Sequence[Condition] = ()
    order: str = "timestamp.desc"

    def where(self) -> tuple[str, list[Any]]:
        """What follows WHERE, and its values."""
        clause, values = conditions_sql(self.conditions, TRACE_COLUMNS)
        return f"t.project_id = %s AND {clause}", [self.project_id, *values]

    def order_by(self) -> str:
        """What follows ORDER BY; raises InvalidError."""
        column, _, direction = self.order.partition(".")
        if column not in ORDERS or direction.lower() not in ("asc", "desc", ""):
            known = ", ".join(ORDERS)
            raise InvalidError(f"orderBy: got {self.order[:60]!r}, want one of {known} with .asc")
        word = "ASC" if direction.lower() == "asc" else "DESC"
        nulls = "FIRST" if word == "ASC" else "LAST"
        if column == "timestamp":
            return f"t.started_at {word}, t.trace_id {word}"
        return f"{ORDERS[column]} {word} NULLS {nulls}, t.trace_id"


def traces_page(query: TraceQuery, *, limit: int, offset: int = 0) -> list[PublicTrace]:
    """Up to `limit` traces behind the first `offset`."""
    where, values = query.where()
    sql = f"SELECT {_COLUMNS} FROM traces_trace t WHERE {where} ORDER BY {query.order_by()}"
    return [_row(row) for row in fetch_slow(f"{sql} LIMIT %s OFFSET %s", [*values, limit, offset])]


def traces_count(query: TraceQuery) -> int:
    """How many traces meet the query; where only times decide, kept counts are added up."""
    window = _window(query)
    if window is not None and window[0] < window[1]:
        wanted = TraceFilter(project_id=query.project_id, start=window[0], end=window[1])
        [whole] = traces_histogram(wanted, buckets=1)
        return whole.ok + whole.error
    where, values = query.where()
    [(number,)] = fetch_slow(f"SELECT count(*) FROM traces_trace t WHERE {where}", values)
    return int(number)


def _window(query: TraceQuery) -> tuple[datetime, datetime] | None:
    """The times that are asked for; None where something else is asked, too."""
    start, end = _EVER
    for condition in query.conditions:
        if condition.column not in ("timestamp", "startTime"):
            return None
        if condition.operator == ">=":
            start = max(start, condition.value)
        elif condition.operator == "<":
            end = min(end, condition.value)
        else:
            return None
    return start, end


def trace_find(project_id: int, trace_id: str) -> PublicTrace | None:
    """The trace of an id (hex)."""
    where = "t.project_id = %s AND t.trace_id = %s"
    rows = fetch(
        f"SELECT {_COLUMNS} FROM traces_trace t WHERE {where}",
        [project_id, bytes.fromhex(trace_id)],
    )
    return _row(rows[0]) if rows else None


def trace_ids_of(project_id: int, ids: Sequence[str]) -> set[str]:
    """Those of `ids` (hex) that there are."""
    rows = fetch(
        "SELECT trace_id FROM traces_trace WHERE project_id = %s AND trace_id = ANY(%s)",
        [project_id, [bytes.fromhex(identity) for identity in ids]],
    )
    return {bytes(trace_id).hex() for (trace_id,) in rows}


_PAYLOADS: Final = """
    SELECT w.trace_id, o.span_id, o.input, o.output, o.metadata, o.attributes
    FROM unnest(%s::bytea[], %s::bytea[], %s::timestamptz[], %s::timestamptz[])
        AS w (trace_id, span_id, first, latest)
    CROSS JOIN LATERAL (
        SELECT o.* FROM traces_observation o
        WHERE o.project_id = %s AND o.trace_id = w.trace_id AND o.span_id = w.span_id
            AND o.start_time BETWEEN w.first AND w.latest OFFSET 0
    ) o
"""


def traces_payloads(project_id: int, traces: Sequence[PublicTrace]) -> dict[str, Payloads]:
    """Input, output and metadata of traces, by id."""
    wanted = [
        (bytes.fromhex(trace.id), span_id, trace.started_at, trace.latest_start_at)
        for trace in traces
        for span_id in {trace.named_by, trace.asked_by, trace.answered_by}
        if span_id is not None
    ]
    columns = [list(column) for column in zip(*wanted, strict=True)]
    rows = fetch(_PAYLOADS, [*columns, project_id]) if wanted else []
    found = {(bytes(row[0]).hex(), bytes(row[1])): row[2:] for row in rows}
    nothing = (None, None, None, None)
    payloads = {}
    for trace in traces:
        asked, answered, named = (
            found.get((trace.id, key or b""), nothing)
            for key in (trace.asked_by, trace.answered_by, trace.named_by)
        )
        payloads[trace.id] = Payloads(
            _own(asked[3], "langfuse.trace.input") or asked[0],
            _own(answered[3], "langfuse.trace.output") or answered[1],
            named[2],
            named[3],
        )
    return payloads


def _own(attributes: str | None, key: str) -> str | None:
    """What was said of the trace itself, beside what was said of the observation."""
    if attributes is None or key not in attributes:
        return None
    value = json_stored(attributes).get(key)
    return value if isinstance(value, str) else None


_COLUMNS: Final = ", ".join(_FIELDS.values())


def _row(row: Sequence[Any]) -> PublicTrace:
    trace_id, *rest, named_by, asked_by, answered_by = row
    keys = (None if key is None else bytes(key) for key in (named_by, asked_by, answered_by))
    return PublicTrace(bytes(trace_id).hex(), *rest, *keys)


assert list(_FIELDS) == [f.name for f in fields(PublicTrace)]
