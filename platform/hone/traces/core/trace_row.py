"""A summary as the values of one row of traces_trace, and back."""

import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from hone.traces.core.row import since_1970, since_2000
from hone.traces.core.summary import Keyed, Summary

# Column -> type under which its value crosses. Times as in `row`; text[] as its own binary
# form (`text_array`), which PostgreSQL takes as it is.
COLUMNS: Final[Mapping[str, str]] = {
    "project_id": "int8",
    "trace_id": "bytea",
    "started_at": "int8",
    "ended_at": "int8",
    "latest_start_at": "int8",
    "first_token_at": "int8",
    "name_key": "bytea",
    "name": "text",
    "input_key": "bytea",
    "input_preview": "text",
    "output_key": "bytea",
    "output_preview": "text",
    "user_id": "text",
    "session_id": "text",
    "environment": "text",
    "release": "text",
    "version": "text",
    "models": "bytea",
    "tags": "bytea",
    "prompts": "bytea",
    "observation_count": "int8",
    "error_count": "int8",
    "input_tokens": "int8",
    "output_tokens": "int8",
    "total_tokens": "int8",
    "decode_tokens": "int8",
    "decode_us": "int8",
    "cost": "numeric",
    "unpriced_count": "int8",
}
KEY: Final = ("project_id", "trace_id")
TIMES: Final = frozenset({"started_at", "ended_at", "latest_start_at", "first_token_at"})
ARRAYS: Final = frozenset({"models", "tags", "prompts"})
_TEXT_OID: Final = 25

TraceValue = bytes | int | str | Decimal | None


def trace_row_of(project_id: int, trace_id: bytes, summary: Summary) -> tuple[TraceValue, ...]:
    """The values in the order of COLUMNS."""
    given, answer = summary.input or (None, None), summary.output or (None, None)
    return (
        project_id,
        trace_id,
        since_2000(summary.started_us),
        since_2000(summary.ended_us),
        since_2000(summary.latest_start_us),
        None if summary.first_token_us is None else since_2000(summary.first_token_us),
        *summary.name,
        *given,
        *answer,
        summary.user_id,
        summary.session_id,
        summary.environment,
        summary.release,
        summary.version,
        text_array(summary.models),
        text_array(summary.tags),
        text_array(summary.prompts),
        summary.observation_count,
        summary.error_count,
        summary.input_tokens,
        summary.output_tokens,
        summary.total_tokens,
        summary.decode_tokens,
        summary.decode_us,
        summary.cost,
        summary.unpriced_count,
    )


def summary_from(row: Sequence[Any]) -> Summary:
    """The summary that `trace_row_of` wrote; arrays come as lists here.

    `row` holds the values of COLUMNS after KEY, times as microseconds since 2000.
    """
    started, ended, latest, first_token, name_key, name, *rest = row
    input_key, given, output_key, answer, user, session, environment, release, version = rest[:9]
    models, tags, prompts, *numbers = rest[9:]
    return Summary(
        since_1970(started),
        since_1970(ended),
        since_1970(latest),
        None if first_token is None else since_1970(first_token),
        (bytes(name_key), name),
        _keyed(input_key, given),
        _keyed(output_key, answer),
        user,
        session,
        environment,
        release,
        version,
        tuple(models),
        tuple(tags),
        tuple(prompts),
        *numbers,
    )


def _keyed(key: bytes | None, value: str | None) -> Keyed | None:
    return None if key is None else (bytes(key), value)


def text_array(values: Sequence[str]) -> bytes:
    """text[] in PostgreSQL's binary form: dimensions, has-null flag, element type, then each
    dimension's length and lower bound, then each element with its length in bytes."""
    if not values:
        return struct.pack("!iiI", 0, 0, _TEXT_OID)
    parts = [struct.pack("!iiIii", 1, 0, _TEXT_OID, len(values), 1)]
    for value in values:
        data = value.encode()
        parts += (len(data).to_bytes(4), data)
    return b"".join(parts)
