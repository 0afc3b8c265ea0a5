"""A span as the values of one table row, in the order of COLUMNS."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from hone.traces.core.span import Event, Span
from hone.traces.core.summary import token_counts
from hone.traces.core.text import json_text

Value = bytes | int | str | Decimal | None
Row = tuple[Value, ...]

# Column of traces_observation -> type under which its value crosses in a binary COPY.
# Times cross as microseconds since 2000 (`since_2000`), which is what timestamptz is inside.
COLUMNS: Final[Mapping[str, str]] = {
    "project_id": "int8",
    "seq": "int8",
    "trace_id": "bytea",
    "span_id": "bytea",
    "start_time": "int8",
    "end_time": "int8",
    "parent_span_id": "bytea",
    "type": "text",
    "level": "text",
    "status": "text",
    "status_message": "text",
    "name": "text",
    "trace_name": "text",
    "model": "text",
    "model_parameters": "text",
    "input": "text",
    "output": "text",
    "metadata": "text",
    "attributes": "text",
    "events": "text",
    "usage": "text",
    "input_tokens": "int8",
    "output_tokens": "int8",
    "total_tokens": "int8",
    "cost": "numeric",
    "cost_details": "text",
    "first_token_at": "int8",
    "prompt_name": "text",
    "prompt_version": "text",
    "session_id": "text",
    "user_id": "text",
    "environment": "text",
    "release": "text",
    "version": "text",
    "tags": "text",
    "scope": "text",
}
TIMES: Final = frozenset({"start_time", "end_time", "first_token_at"})
_2000_US: Final = 946_684_800_000_000
_SEQ: Final = list(COLUMNS).index("seq")
_END: Final = list(COLUMNS).index("end_time")
SPAN_ID: Final = list(COLUMNS).index("span_id")
START: Final = list(COLUMNS).index("start_time")


def row_of(project_id: int, span: Span) -> Row:
    """The values of a fitted span; `seq` is 0 until its transaction hands it out."""
    given, answer, total = token_counts(span)
    counted = bool(span.usage)
    return (
        project_id,
        0,
        bytes.fromhex(span.trace_id),
        bytes.fromhex(span.span_id),
        since_2000(span.start_ns // 1000),
        since_2000(span.end_ns // 1000),
        bytes.fromhex(span.parent_span_id) if span.parent_span_id else None,
        span.type,
        span.level,
        span.status,
        span.status_message,
        span.name,
        span.trace_name,
        span.model,
        _json(span.model_parameters),
        span.input,
        span.output,
        _json(span.metadata),
        _json(span.attributes),
        _json_events(span.events) if span.events else None,
        _json(span.usage),
        given if counted else None,
        answer if counted else None,
        total if counted else None,
        span.cost["total"] if span.cost else None,
        _json(span.cost),
        None if span.first_token_ns is None else since_2000(span.first_token_ns // 1000),
        span.prompt_name,
        None if span.prompt_version is None else str(span.prompt_version),
        span.session_id,
        span.user_id,
        span.environment,
        span.release,
        span.version,
        json_text(span.tags) if span.tags else None,
        span.scope,
    )


def numbered(row: Row, seq: int) -> Row:
    """The row under the number of its transaction."""
    return (*row[:_SEQ], seq, *row[_SEQ + 1 :])


def since_2000(us: int) -> int:
    """Unix microseconds as PostgreSQL counts them."""
    return us - _2000_US


def since_1970(us: int) -> int:
    """PostgreSQL's microseconds as unix ones."""
    return us + _2000_US


def rank(row: Row) -> tuple[object, ...]:
    """Decides between rows that claim to be the same span: the greater one stands.

    Later end first, then every other column, so that the order of arrival never matters.
    `seq` says when a row came and has no say.
    """
    order = (row[_END], *row[:_SEQ], *row[_SEQ + 1 :])
    return tuple((value is not None, value) for value in order)


def _json(value: Mapping[str, object] | Mapping[str, int] | None) -> str | None:
    return json_text(value) if value else None


def _json_events(events: Sequence[Event]) -> str:
    return json_text(
        [
            {"name": event.name, "time_ns": event.time_ns, "attributes": event.attributes}
            for event in events
        ]
    )
