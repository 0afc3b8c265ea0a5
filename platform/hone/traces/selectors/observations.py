"""Pages of observations, newest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from hone.common.conditions import Column, Condition, condition_sql
from hone.traces.core.preview import preview
from hone.traces.core.search.wanted import Part, parts_of
from hone.traces.selectors.conditions import parts_needed
from hone.traces.selectors.filters import fold_of, patterns_of
from hone.traces.selectors.query import fetch, fetch_slow
from hone.traces.selectors.rows import (
    DEFAULT_ENVIRONMENT,
    PromptUse,
    milliseconds,
    money_text,
    prompt_version,
    rate,
)
from hone.traces.selectors.search import CANDIDATES, candidates

Position = tuple[datetime, str]  # start, and span id with trace id, of the last of a page
ID_LEN: Final = 48  # hex digits of a position's id
_SECONDS: Final = "extract(epoch FROM {})::float8"
_PREVIEWED: Final = 20_000  # characters of a payload that are looked at for its one line
_FAILED: Final = {"level": "ERROR", "status": "error"}  # what counts as an error of its trace
_FIRST: Final = 60  # traces whose time is looked at first, and how much more each time after
_MORE: Final = 8
_COLUMNS: Final = f"""
    o.span_id, o.trace_id, o.parent_span_id, o.type, o.name, o.start_time, o.end_time, o.level,
    o.status, o.status_message, o.model, left(o.input, {_PREVIEWED}), left(o.output, {_PREVIEWED}),
    o.input_tokens, o.output_tokens, o.total_tokens, o.cost, o.first_token_at, o.prompt_name,
    o.prompt_version, o.user_id, o.session_id, o.environment, o.release, o.version
"""
COLUMNS: Final[Mapping[str, Column]] = {
    "id": Column("encode(o.span_id, 'hex')"),
    "traceId": Column("encode(o.trace_id, 'hex')"),
    "type": Column("o.type"),
    "name": Column("o.name", term="name"),
    "startTime": Column("o.start_time", "time"),
    "endTime": Column("o.end_time", "time"),
    "level": Column("o.level"),
    "status": Column("o.status"),
    "statusMessage": Column("o.status_message"),
    "environment": Column(f"coalesce(o.environment, '{DEFAULT_ENVIRONMENT}')"),
    "version": Column("o.version", term="version"),
    "release": Column("o.release", term="release"),
    "userId": Column("o.user_id", term="user"),
    "sessionId": Column("o.session_id", term="session"),
    "isRootObservation": Column("o.parent_span_id IS NULL", "flag"),
    "traceName": Column("o.trace_name", term="name"),
    "model": Column("o.model", term="model"),
    "promptName": Column("o.prompt_name"),
    "promptVersion": Column("o.prompt_version"),
    "latency": Column(_SECONDS.format("o.end_time - o.start_time"), "number"),
    "timeToFirstToken": Column(_SECONDS.format("o.first_token_at - o.start_time"), "number"),
    "tokensPerSecond": Column(
        "o.output_tokens / nullif("
        + _SECONDS.format("o.end_time - coalesce(o.first_token_at, o.start_time)")
        + ", 0)",
        "number",
    ),
    "inputTokens": Column("o.input_tokens", "number"),
    "outputTokens": Column("o.output_tokens", "number"),
    "totalTokens": Column("o.total_tokens", "number"),
    "totalCost": Column("o.cost", "number"),
    "input": Column("o.input", term="*"),
    "output": Column("o.output", term="*"),
    "metadata": Column("o.metadata", "json"),
}


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """One observation, without payloads."""

    id: str
    trace_id: str
    parent_id: str | None
    type: str
    name: str
    started_at: datetime
    duration_ms: float
    level: str
    status: str
    status_message: str | None
    model: str | None
    input_preview: str | None
    output_preview: str | None
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    cost: str | None
    ttft_ms: float | None
    tokens_per_second: float | None
    prompt: PromptUse | None
    user_id: str | None
    session_id: str | None
    environment: str
    release: str | None
    version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationFilter:
    """The observations of a project that started in [start, end) and meet every condition."""

    project_id: int
    start: datetime
    end: datetime
    text: str | None = None
    conditions: tuple[Condition, ...] = ()

    def where(self) -> tuple[str, list[object]]:
        """The condition on `traces_observation o`, without the time."""
        clauses = ["o.project_id = %s"]
        given: list[object] = [self.project_id]
        for condition in self.conditions:
            clause, more = condition_sql(condition, COLUMNS)
            clauses.append(clause)
            given += more
        if self.text:
            likes = patterns_of(self.text)
            like = f"{fold_of(self.text)} ILIKE ANY(%s)"
            clauses.append(f"(o.input{like} OR o.output{like} OR o.name{like})")
            given += [likes, likes, likes]
        return " AND ".join(clauses), given

    @property
    def is_of_failed(self) -> bool:
        """Whether only observations are wanted that failed."""
        return any(
            _FAILED.get(one.column) == (one.value if isinstance(one.value, str) else one.value[0])
            for one in self.conditions
            if one.column in _FAILED
            and (one.operator == "=" or (one.operator == "any of" and len(one.value) == 1))
        )

    def parts(self) -> list[Part]:
        parts = parts_of(self.text) if self.text else []
        return parts + parts_needed(self.conditions, COLUMNS)


def observations_list(
    wanted: ObservationFilter, *, limit: int, after: Position | None = None
) -> tuple[list[ObservationRow], Position | None]:
    """A page of observations and where the next one begins, None at the end."""
    where, values = wanted.where()
    end = wanted.end
    if after is not None:
        where += " AND (o.start_time, o.span_id, o.trace_id) < (%s, %s, %s)"
        values += [after[0], bytes.fromhex(after[1][:16]), bytes.fromhex(after[1][16:])]
        end = min(end, after[0] + timedelta(microseconds=1))  # others may have begun with it
    parts = wanted.parts()
    ids = candidates(wanted.project_id, parts, wanted.start, end) if parts else None
    if ids is None and wanted.is_of_failed:
        ids = _failed_traces(wanted, end)
    if ids is not None:
        where += " AND o.trace_id = ANY(%s)"
        rows = _rows(where, [*values, ids], (wanted.start, end), limit + 1)
    else:
        rows = _newest(wanted, where, values, end, limit + 1)
    if len(rows) <= limit:
        return rows, None
    latest = rows[limit - 1]
    return rows[:limit], (latest.started_at, latest.id + latest.trace_id)


def _failed_traces(wanted: ObservationFilter, end: datetime) -> list[bytes] | None:
    """The traces with failures that began before `end`; None where they are many."""
    found = fetch(
        "SELECT trace_id FROM traces_trace WHERE project_id = %s AND error_count > 0"
        " AND started_at < %s ORDER BY started_at DESC LIMIT %s",
        [wanted.project_id, end, CANDIDATES + 1],
    )
    return [trace_id for (trace_id,) in found] if len(found) <= CANDIDATES else None


def _newest(
    wanted: ObservationFilter, where: str, values: list[object], end: datetime, number: int
) -> list[ObservationRow]:
    """Rows from the newest stretch of time on, in ever longer ones: each trace that began in a
    stretch has an observation in it, so counting traces says how long it must be."""
    rows: list[ObservationRow] = []
    step = max(_FIRST, number)
    while len(rows) < number and wanted.start < end:
        begin = trace_start(wanted, end, step)
        rows += _rows(where, values, (begin, end), number - len(rows))
        end, step = begin, step * _MORE
    return rows


def trace_start(wanted: ObservationFilter, end: datetime, number: int) -> datetime:
    """When the `number`th newest trace before `end` began; the window's start where none did."""
    found = fetch(
        "SELECT started_at FROM traces_trace WHERE project_id = %s AND started_at >= %s"
        " AND started_at < %s ORDER BY started_at DESC OFFSET %s LIMIT 1",
        [wanted.project_id, wanted.start, end, number],
    )
    return max(found[0][0], wanted.start) if found else wanted.start


def _rows(
    where: str, values: list[object], window: tuple[datetime, datetime], number: int
) -> list[ObservationRow]:
    query = (
        f"SELECT {_COLUMNS} FROM traces_observation o"
        f" WHERE {where} AND o.start_time >= %s AND o.start_time < %s"
        " ORDER BY o.start_time DESC, o.span_id DESC, o.trace_id DESC LIMIT %s"
    )
    return [_row(row) for row in fetch_slow(query, [*values, *window, number])]


def _row(row: Sequence[Any]) -> ObservationRow:
    span_id, trace_id, parent, kind, name, start, end, level, status, message, model, *rest = row
    given, answer, tokens_in, tokens_out, total, cost, first_token, *rest = rest
    prompt, prompt_number, user, session, environment, release, version = rest
    since = first_token or start
    return ObservationRow(
        id=bytes(span_id).hex(),
        trace_id=bytes(trace_id).hex(),
        parent_id=None if parent is None else bytes(parent).hex(),
        type=kind,
        name=name,
        started_at=start,
        duration_ms=milliseconds(start, end) or 0.0,
        level=level,
        status=status,
        status_message=message,
        model=model,
        input_preview=preview(given, of_input=True),
        output_preview=preview(answer, of_input=False),
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        total_tokens=total,
        cost=money_text(cost),
        ttft_ms=milliseconds(start, first_token),
        tokens_per_second=rate(tokens_out, round((end - since).total_seconds() * 1e6)),
        prompt=PromptUse(prompt, prompt_version(prompt_number)) if prompt else None,
        user_id=user,
        session_id=session,
        environment=environment or DEFAULT_ENVIRONMENT,
        release=release,
        version=version,
    )
