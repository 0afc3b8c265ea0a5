"""One trace with its observations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any, Final

from hone.traces.core.text import json_stored, json_value
from hone.traces.selectors.query import Values, fetch, fetch_slow
from hone.traces.selectors.rows import (
    COLUMNS,
    PromptUse,
    TraceRow,
    milliseconds,
    prompt_version,
    rate,
    trace_row_from,
)

Position = tuple[datetime, str]  # start and id of the last observation of a page
OBSERVATION: Final = """
    SELECT o.span_id, o.parent_span_id, o.type, o.name, o.start_time, o.end_time, o.level,
        o.status, o.status_message, o.model, o.model_parameters, o.input, o.output, o.metadata,
        o.usage, o.output_tokens, o.cost_details, o.first_token_at, o.prompt_name,
        o.prompt_version, o.attributes, o.events, o.scope
    FROM traces_observation o
    WHERE o.project_id = %s AND o.trace_id = %s AND o.start_time BETWEEN %s AND %s
"""
_PAYLOADS: Final = ("model_parameters", "input", "output", "metadata", "attributes", "events")
_LIGHT: Final = reduce(lambda sql, name: sql.replace(f"o.{name},", "NULL,"), _PAYLOADS, OBSERVATION)
_PLACE: Final = (
    "SELECT t.started_at, t.latest_start_at FROM traces_trace t"
    " WHERE t.project_id = %s AND t.trace_id = %s"
)
LARGE: Final = 20_000  # observations, all of which are put in order for a page
_SPAN_ID_LEN: Final = 8  # a key of the summary ends in the id of the span it chose


@dataclass(frozen=True, slots=True)
class Observation:
    """One span with its payloads; JSON ones as the value they spell."""

    id: str
    parent_id: str | None
    type: str
    name: str
    started_at: datetime
    ended_at: datetime
    duration_ms: float
    level: str
    status: str  # unset | ok | error
    status_message: str | None
    model: str | None
    model_parameters: dict[str, Any]
    input: object
    output: object
    metadata: dict[str, Any]
    usage: dict[str, int] | None
    cost: dict[str, str] | None
    ttft_ms: float | None
    tokens_per_second: float | None
    prompt: PromptUse | None
    attributes: dict[str, Any]
    events: list[Any]
    scope: str | None


@dataclass(frozen=True, slots=True)
class TraceDetail:
    """A trace, its own payloads, and a page of its observations in order of start."""

    row: TraceRow
    input: object
    output: object
    metadata: dict[str, Any]
    observations: list[Observation]
    next: Position | None


def trace_detail(
    project_id: int,
    trace_id: str,
    *,
    limit: int,
    after: Position | None = None,
    light: bool = False,
) -> TraceDetail | None:
    """The trace with up to `limit` observations after a position; None where there is none.

    `light` ones come without payloads: all that a tree of many thousands shows.
    """
    found = fetch(
        f"SELECT {COLUMNS}, t.latest_start_at, t.name_key, t.input_key, t.output_key"
        " FROM traces_trace t WHERE t.project_id = %s AND t.trace_id = %s",
        [project_id, bytes.fromhex(trace_id)],
    )
    if not found:
        return None
    *columns, latest_start_at, name_key, input_key, output_key = found[0]
    row = trace_row_from(columns)
    place = [project_id, bytes.fromhex(trace_id), row.started_at, latest_start_at]
    read = fetch if row.observation_count <= LARGE else fetch_slow
    observations, following = _page(read, place, limit, after, light)
    chosen = _chosen(place, [name_key, input_key, output_key])
    named, asked, answered = (chosen.get(_span_id(k)) for k in (name_key, input_key, output_key))
    return TraceDetail(
        row=row,
        input=json_value(asked[1]) if asked else None,
        output=json_value(answered[2]) if answered else None,
        metadata=_object(named[3]) if named else {},
        observations=observations,
        next=following,
    )


def observation_detail(project_id: int, trace_id: str, span_id: str) -> Observation | None:
    """One observation of a trace with its payloads; None where there is none."""
    key: list[object] = [project_id, bytes.fromhex(trace_id)]
    found = fetch(_PLACE, key)
    if not found:
        return None
    query = OBSERVATION + " AND o.span_id = %s"
    rows = fetch(query, [*key, *found[0], bytes.fromhex(span_id)])
    return observation_from(rows[0]) if rows else None


def _page(
    read: Callable[[str, Values], list[tuple[Any, ...]]],
    place: list[object],
    limit: int,
    after: Position | None,
    light: bool,
) -> tuple[list[Observation], Position | None]:
    query, values = _LIGHT if light else OBSERVATION, list(place)
    if after is not None:
        query += " AND (o.start_time, o.span_id) > (%s, %s)"
        values += [after[0], bytes.fromhex(after[1])]
    rows = read(f"{query} ORDER BY o.start_time, o.span_id LIMIT %s", [*values, limit + 1])
    page = [observation_from(row) for row in rows[:limit]]
    latest = page[-1] if len(rows) > limit else None
    return page, (latest.started_at, latest.id) if latest else None


def _chosen(place: list[object], keys: list[bytes | None]) -> dict[bytes, Sequence[Any]]:
    """Input, output and metadata of the spans that speak for the trace, by span id."""
    ids = [_span_id(key) for key in keys if key is not None]
    rows = fetch(
        "SELECT o.span_id, o.input, o.output, o.metadata FROM traces_observation o"
        " WHERE o.project_id = %s AND o.trace_id = %s AND o.start_time BETWEEN %s AND %s"
        " AND o.span_id = ANY(%s)",
        [*place, ids],
    )
    return {bytes(row[0]): row for row in rows}


def _span_id(key: bytes | None) -> bytes:
    return b"" if key is None else bytes(key)[-_SPAN_ID_LEN:]


def observation_from(row: Sequence[Any]) -> Observation:
    """A row of OBSERVATION."""
    span_id, parent, kind, name, started_at, ended_at, level, status, message, model, *rest = row
    parameters, given, answer, metadata, usage, output_tokens, cost, first_token_at, *rest = rest
    prompt_name, version, attributes, events, scope = rest
    since = first_token_at or started_at
    decode_us = round((ended_at - since).total_seconds() * 1e6)
    return Observation(
        id=bytes(span_id).hex(),
        parent_id=bytes(parent).hex() if parent is not None else None,
        type=kind,
        name=name,
        started_at=started_at,
        ended_at=ended_at,
        duration_ms=milliseconds(started_at, ended_at) or 0.0,
        level=level,
        status=status,
        status_message=message,
        model=model,
        model_parameters=_object(parameters),
        input=json_value(given),
        output=json_value(answer),
        metadata=_object(metadata),
        usage=_object(usage) or None,
        cost=_cost(cost),
        ttft_ms=milliseconds(started_at, first_token_at),
        tokens_per_second=rate(output_tokens, decode_us),
        prompt=PromptUse(prompt_name, prompt_version(version)) if prompt_name else None,
        attributes=_object(attributes),
        events=json_stored(events) if events else [],
        scope=scope,
    )


def _cost(text: str | None) -> dict[str, str] | None:
    return {part: str(amount) for part, amount in _object(text).items()} or None


def _object(text: str | None) -> dict[str, Any]:
    value = json_value(text)
    return value if isinstance(value, dict) else {}
