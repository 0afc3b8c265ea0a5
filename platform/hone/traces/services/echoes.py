"""Calls that both the gateway and its client tell of, settled in the batch that brings either.

Every batch that touches such a trace ends here, whichever side it brought, while the trace's row is
locked. What is to stand follows from what is stored (`core.echo`), so no order matters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from django.db import connection

from hone.traces.core.echo import CALLER, Account, Teller, account_beside, counts_of
from hone.traces.core.part import TraceKey
from hone.traces.core.span import Span
from hone.traces.core.trace_row import trace_row_of
from hone.traces.services.batch import summaries_lock, summaries_write
from hone.traces.services.recount import summary_recount

Cursor = psycopg.Cursor[Any]
_MAX_STEPS: Final = 16  # on the way up, so that spans in a ring end too
_MAX_ECHOES: Final = 2000  # of one trace; more than these all count


def echoes_note(cursor: Cursor, items: Sequence[tuple[int, Span]]) -> None:
    """Remember the observations that name the span in which their call was made."""
    rows = sorted(
        (project_id, bytes.fromhex(span.trace_id), bytes.fromhex(span.span_id), caller)
        for project_id, span in items
        if (caller := _caller(span))
    )
    cursor.executemany(
        "INSERT INTO traces_echo (project_id, trace_id, span_id, caller) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        rows,
    )


def _caller(span: Span) -> bytes | None:
    try:
        caller = bytes.fromhex(str(span.attributes[CALLER]))
    except ValueError:
        return None
    return caller if len(caller) == 8 else None


def echoes_forget(project_id: int, trace_ids: Sequence[str]) -> None:
    """Forget what belongs to traces (hex) that are deleted."""
    ids = [bytes.fromhex(trace_id) for trace_id in trace_ids]
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM traces_echo WHERE project_id = %s AND trace_id = ANY(%s)",
            [project_id, ids],
        )


def echoes_settle(raw: psycopg.Connection[Any], keys: Sequence[TraceKey]) -> None:
    """Have each call of these traces counted once; call it after they were written."""
    if not keys:
        return
    with psycopg.Cursor(raw) as cursor:
        told_twice = _with_echoes(cursor, keys)
        if not told_twice:
            return
        changed = {echo.key for echo in _echoes(cursor, told_twice) if _settle(cursor, echo)}
        if changed:
            known = summaries_lock(cursor, changed)
            recounted = [
                trace_row_of(*key, summary_recount(cursor, key, known[key])) for key in known
            ]
            summaries_write(cursor, recounted)


@dataclass(frozen=True, slots=True)
class _Echo:
    key: TraceKey
    span_id: bytes
    start_time: Any
    account: Account
    teller: Teller | None


# LIMIT keeps the planner to one look-up a key, whatever it believes about the size of the table.
_WITH_ECHOES: Final = """
    SELECT k.* FROM unnest(%b::bigint[], %b::bytea[]) AS k (project_id, trace_id)
    CROSS JOIN LATERAL (SELECT FROM traces_echo e
        WHERE e.project_id = k.project_id AND e.trace_id = k.trace_id LIMIT 1) e
"""


def _with_echoes(cursor: Cursor, keys: Sequence[TraceKey]) -> list[TraceKey]:
    cursor.execute(_WITH_ECHOES, _columns(keys), binary=True)
    return [(project_id, bytes(trace_id)) for project_id, trace_id in cursor.fetchall()]


def _columns(keys: Sequence[TraceKey]) -> list[list[Any]]:
    return [[key[0] for key in keys], [key[1] for key in keys]]


# From each gateway's observation to the span it was called in, and on up through plain spans.
_ECHOES: Final = f"""
    WITH RECURSIVE found AS (
        SELECT k.project_id, k.trace_id, e.span_id, e.caller, t.started_at, t.latest_start_at
        FROM unnest(%b::bigint[], %b::bytea[]) AS k (project_id, trace_id)
        CROSS JOIN LATERAL (SELECT span_id, caller FROM traces_echo e
            WHERE e.project_id = k.project_id AND e.trace_id = k.trace_id
            ORDER BY span_id LIMIT {_MAX_ECHOES}) e
        JOIN traces_trace t ON t.project_id = k.project_id AND t.trace_id = k.trace_id
    ), up AS (
        SELECT found.*, found.caller AS above, 0 AS step, NULL::text AS type,
            false AS tells_usage, false AS tells_cost
        FROM found
        UNION ALL
        SELECT up.project_id, up.trace_id, up.span_id, up.caller, up.started_at,
            up.latest_start_at, o.parent_span_id, up.step + 1, o.type, o.tells_usage, o.tells_cost
        FROM up CROSS JOIN LATERAL (
            SELECT parent_span_id, type, usage IS NOT NULL AS tells_usage,
                cost IS NOT NULL AS tells_cost
            FROM traces_observation o
            WHERE o.project_id = up.project_id AND o.trace_id = up.trace_id
                AND o.span_id = up.above
                AND o.start_time BETWEEN up.started_at AND up.latest_start_at OFFSET 0) o
        WHERE up.step < {_MAX_STEPS} AND NOT up.tells_usage
            AND (up.type IS NULL OR up.type IN ('span', 'event'))
    ), ends AS (
        SELECT DISTINCT ON (project_id, trace_id, span_id) * FROM up
        ORDER BY project_id, trace_id, span_id, step DESC
    )
    SELECT ends.project_id, ends.trace_id, ends.span_id, o.start_time, o.type, o.usage,
        o.cost_details, o.attributes, ends.type, ends.tells_usage, ends.tells_cost
    FROM ends CROSS JOIN LATERAL (
        SELECT * FROM traces_observation o
        WHERE o.project_id = ends.project_id AND o.trace_id = ends.trace_id
            AND o.span_id = ends.span_id
            AND o.start_time BETWEEN ends.started_at AND ends.latest_start_at OFFSET 0) o
"""


def _echoes(cursor: Cursor, keys: Sequence[TraceKey]) -> list[_Echo]:
    cursor.execute(_ECHOES, _columns(keys), binary=True)
    found = []
    for project_id, trace_id, span_id, start, *rest in cursor.fetchall():
        own, (kind, tells_usage, tells_cost) = rest[:4], rest[4:]
        is_told = kind is not None and (tells_usage or kind not in ("span", "event"))
        teller = Teller(kind, tells_usage, tells_cost) if is_told else None
        key = (project_id, bytes(trace_id))
        found.append(_Echo(key, bytes(span_id), start, Account(*own), teller))
    return found


_UPDATE: Final = """
    UPDATE traces_observation SET seq = nextval('traces_seq'), type = %s, usage = %s,
        cost_details = %s, attributes = %s, input_tokens = %s, output_tokens = %s,
        total_tokens = %s, cost = %s
    WHERE project_id = %s AND trace_id = %s AND span_id = %s AND start_time = %s
"""


def _settle(cursor: Cursor, echo: _Echo) -> bool:
    """Write the observation as it is to stand; whether that is a change."""
    wanted = account_beside(echo.account, echo.teller)
    if wanted == echo.account:
        return False
    given = (wanted.type, wanted.usage, wanted.cost, wanted.attributes, *counts_of(wanted))
    cursor.execute(_UPDATE, [*given, *echo.key, echo.span_id, echo.start_time])
    return True
