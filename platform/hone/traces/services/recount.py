"""A trace's summary computed afresh from its stored observations."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import psycopg

from hone.traces.core.span import Span
from hone.traces.core.summary import Summary, summary_of
from hone.traces.core.text import json_stored

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# What decides a summary; of the payloads only whether there is one.
_COLUMNS: Final = """
    SELECT span_id, parent_span_id,
        (extract(epoch FROM start_time) * 1000000)::bigint,
        (extract(epoch FROM end_time) * 1000000)::bigint,
        (extract(epoch FROM first_token_at) * 1000000)::bigint,
        type, level, status, name, trace_name, model, user_id, session_id, environment, release,
        version, tags, prompt_name, prompt_version, input IS NOT NULL, output IS NOT NULL,
        usage IS NOT NULL, input_tokens, output_tokens, total_tokens, cost
    FROM traces_observation
"""
_WHERE: Final = "WHERE project_id = %s AND trace_id = %s AND start_time BETWEEN %s AND %s"


def instant(us: int) -> datetime:
    """Unix microseconds as a time."""
    return _EPOCH + timedelta(microseconds=us)


def summary_recount(cursor: psycopg.Cursor[Any], key: tuple[int, bytes], wider: Summary) -> Summary:
    """The summary of what is stored of a trace; its spans lie within the times of `wider`."""
    place = [*key, instant(wider.started_us), instant(wider.latest_start_us)]
    cursor.execute(_COLUMNS + _WHERE, place, binary=True)
    spans = [_span(key[1].hex(), *row) for row in cursor.fetchall()]

    def read(column: str, span: Span) -> str | None:
        cursor.execute(
            f"SELECT {column} FROM traces_observation {_WHERE} AND span_id = %s",
            [*place, bytes.fromhex(span.span_id)],
        )
        row = cursor.fetchone()
        return row and row[0]

    return summary_of(spans, lambda span: read("input", span), lambda span: read("output", span))


def _span(
    trace_id: str,
    span_id: bytes,
    parent: bytes | None,
    start_us: int,
    end_us: int,
    first_us: int | None,
    *rest: Any,
) -> Span:
    kind, level, status, name, trace_name, model, user, session, environment, release = rest[:10]
    version, tags, prompt_name, prompt_version, has_input, has_output = rest[10:16]
    counted, given, answer, total, cost = rest[16:]
    return Span(
        trace_id=trace_id,
        span_id=bytes(span_id).hex(),
        parent_span_id=bytes(parent).hex() if parent is not None else None,
        start_ns=start_us * 1000,
        end_ns=end_us * 1000,
        first_token_ns=None if first_us is None else first_us * 1000,
        type=kind,
        level=level,
        status=status,
        name=name,
        trace_name=trace_name,
        model=model,
        user_id=user,
        session_id=session,
        environment=environment,
        release=release,
        version=version,
        tags=json_stored(tags) if tags else (),
        prompt_name=prompt_name,
        prompt_version=prompt_version,
        input="" if has_input else None,
        output="" if has_output else None,
        usage={"input": given, "output": answer, "total": total} if counted else None,
        cost={"total": Decimal(cost)} if cost is not None else None,
    )
