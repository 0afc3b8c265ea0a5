"""The one place that writes observations and trace summaries: a batch in one transaction.

The rows of all known traces are locked first. From then on no other transaction writes spans of
these traces, so repeats can be found by looking, and what is new goes in by binary COPY without any
conflict handling. Two transactions that both believe a trace to be new collide on the trace's
primary key; the loser tries again and finds it known.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import psycopg
from psycopg import sql

from hone.traces.core import row, trace_row
from hone.traces.core.part import Part, TraceKey, disjoint, part_of, summed
from hone.traces.core.row import SPAN_ID, START, Row, numbered, rank
from hone.traces.core.summary import Summary, merged
from hone.traces.core.trace_row import summary_from, trace_row_of
from hone.traces.core.wire import Encoded, copy_data
from hone.traces.services.marks import seq_begin
from hone.traces.services.recount import instant, summary_recount

Cursor = psycopg.Cursor[Any]


@dataclass(slots=True)
class _Batch:
    seq: int
    traces: dict[TraceKey, Sequence[Part]]  # of each trace parts that share no span
    known: dict[TraceKey, Summary] = field(default_factory=dict)
    recount: set[TraceKey] = field(default_factory=set)


def batch_write(raw: psycopg.Connection[Any], parts: Iterable[Part]) -> list[TraceKey]:
    """Write parts of traces; the traces that changed.

    Call it in a transaction. A span that is there already changes nothing; where its content
    differs, the greater by `rank` stands, so that no order of arrival matters, or the one that
    replaces. Raises UniqueViolation or DeadlockDetected where another transaction was faster:
    roll back, try again.
    """
    by_trace: dict[TraceKey, list[Part]] = {}
    for part in parts:
        by_trace.setdefault(part.key, []).append(part)
    with psycopg.Cursor(raw) as cursor:
        traces = {key: disjoint(found) for key, found in by_trace.items()}
        batch = _Batch(seq_begin(cursor), traces)
        batch.known = summaries_lock(cursor, traces)
        if batch.known:
            _settle_repeats(cursor, batch)
        _copy_observations(cursor, batch)
        _write_summaries(cursor, batch)
    return [key for key, found in batch.traces.items() if found or key in batch.recount]


def _columns(names: Iterable[str], times: Iterable[str]) -> sql.Composed:
    """Columns for reading, times as microseconds since 2000."""
    micros = sql.SQL(
        "(extract(epoch FROM {0} - '2000-01-01Z'::timestamptz) * 1000000)::bigint AS {1}"
    )
    return sql.SQL(", ").join(
        micros.format(sql.Identifier("o", name), sql.Identifier(name))
        if name in times
        else sql.Identifier("o", name)
        for name in names
    )


# LATERAL with OFFSET 0 keeps the planner to one index lookup a key, in the order of the keys,
# whatever it believes about the size of the tables. In one order everybody locks without deadlock.
_LOCK: Final = (
    sql.SQL(
        "SELECT o.* FROM unnest(%b::bigint[], %b::bytea[]) AS k (project_id, trace_id)"
        " CROSS JOIN LATERAL (SELECT {columns} FROM traces_trace o"
        " WHERE o.project_id = k.project_id AND o.trace_id = k.trace_id FOR UPDATE OFFSET 0) o"
    )
    .format(columns=_columns(trace_row.COLUMNS, trace_row.TIMES))
    .as_bytes()
)


def summaries_lock(cursor: Cursor, keys: Iterable[TraceKey]) -> dict[TraceKey, Summary]:
    """The summaries of those traces that are there, their rows locked until the commit."""
    ordered = sorted(keys)
    cursor.execute(_LOCK, [[k[0] for k in ordered], [k[1] for k in ordered]], binary=True)
    return {(values[0], bytes(values[1])): summary_from(values[2:]) for values in cursor}


_REPEATS: Final = (
    sql.SQL(
        "SELECT o.* FROM unnest(%b::bigint[], %b::bytea[], %b::bytea[])"
        " AS k (project_id, trace_id, span_id)"
        " CROSS JOIN LATERAL (SELECT {columns} FROM traces_observation o"
        " WHERE o.project_id = k.project_id AND o.trace_id = k.trace_id AND o.span_id = k.span_id"
        " AND o.start_time BETWEEN %s AND %s OFFSET 0) o"
    )
    .format(columns=_columns(row.COLUMNS, row.TIMES))
    .as_bytes()
)
_DELETE: Final = (
    "DELETE FROM traces_observation"
    " WHERE project_id = %s AND trace_id = %s AND span_id = %s AND start_time = %s"
)


def _settle_repeats(cursor: Cursor, batch: _Batch) -> None:
    """Drop from the batch what is stored already, and from the table what the batch replaces."""
    ids = [(*key, i) for key in batch.known for part in batch.traces[key] for i in part.span_ids()]
    known = batch.known.values()
    window = min(s.started_us for s in known), max(s.latest_start_us for s in known)
    columns = [list(column) for column in zip(*ids, strict=True)]
    cursor.execute(_REPEATS, [*columns, *map(instant, window)], binary=True)
    repeated: dict[TraceKey, list[Row]] = {}
    for stored in cursor.fetchall():
        repeated.setdefault((stored[0], bytes(stored[2])), []).append(tuple(stored))
    for key, rows in repeated.items():
        batch.traces[key] = list(_settled(cursor, batch, key, rows))


def _settled(cursor: Cursor, batch: _Batch, key: TraceKey, stored: list[Row]) -> Iterator[Part]:
    """The parts of a trace without what is stored already."""
    for part in batch.traces[key]:
        rows = {values[SPAN_ID]: values for values in part.values()}
        for old in stored:
            values = rows.get(old[SPAN_ID])
            if values is None:
                continue
            if _stands(part, values, old):
                cursor.execute(_DELETE, [*key, old[SPAN_ID], _start(old)])
                batch.recount.add(key)
            else:
                del rows[old[SPAN_ID]]
        if rows:
            yield part_of(key, list(rows.values()), replaces=part.replaces)


def _stands(part: Part, values: Row, old: Row) -> bool:
    """Whether new values take the place of stored ones."""
    return rank(values) != rank(old) if part.replaces else rank(values) > rank(old)


def _start(values: Row) -> datetime:
    start = values[START]
    assert isinstance(start, int)
    return instant(row.since_1970(start))


def _copying(table: str, columns: Iterable[str]) -> bytes:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)")
    return statement.format(sql.Identifier(table), names).as_bytes()


# Statements as bytes: composing them anew cost a twentieth of a small batch.
_OBSERVATIONS: Final = _copying("traces_observation", row.COLUMNS), list(row.COLUMNS.values())
_FRESH: Final = _copying("traces_trace", trace_row.COLUMNS), list(trace_row.COLUMNS.values())
_CHANGING: Final = _copying("traces_changed", trace_row.COLUMNS), _FRESH[1]


def _copy(cursor: Cursor, target: tuple[bytes, list[str]], rows: Iterable[Any]) -> None:
    statement, types = target
    with cursor.copy(statement) as copy:
        copy.set_types(types)
        for values in rows:
            copy.write_row(values)


def _copy_observations(cursor: Cursor, batch: _Batch) -> None:
    encoded: list[Encoded] = []
    plain: list[Row] = []
    for parts in batch.traces.values():
        for part in parts:
            if isinstance(part.rows, Sequence):
                plain += part.rows
            else:
                encoded.append(part.rows)
    if encoded:
        with cursor.copy(_OBSERVATIONS[0]) as copy:
            copy.write(copy_data(encoded, batch.seq))
    if plain:
        _copy(cursor, _OBSERVATIONS, (numbered(values, batch.seq) for values in plain))


def _write_summaries(cursor: Cursor, batch: _Batch) -> None:
    fresh: list[tuple[object, ...]] = []
    changed: list[tuple[object, ...]] = []
    for key, parts in batch.traces.items():
        old = batch.known.get(key)
        if old is None:
            fresh.append(trace_row_of(*key, summed(parts)))
        elif key in batch.recount:
            wider = merged(old, summed(parts)) if parts else old
            changed.append(trace_row_of(*key, summary_recount(cursor, key, wider)))
        elif parts:
            changed.append(trace_row_of(*key, merged(old, summed(parts))))
    if fresh:
        _copy(cursor, _FRESH, fresh)
    if changed:
        summaries_write(cursor, changed)


def summaries_write(cursor: Cursor, rows: Iterable[Sequence[object]]) -> None:
    """Write rows of traces that are there, at least one, under numbers of their own."""
    cursor.execute(_CHANGED)
    _copy(cursor, _CHANGING, rows)
    cursor.execute(_UPDATE)


# A table of the session's own: filled in binary like the others, it changes many rows at once.
_CHANGED: Final = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS traces_changed ON COMMIT DELETE ROWS"
    " AS SELECT * FROM traces_trace WITH NO DATA"
)
_SET: Final = [name for name in trace_row.COLUMNS if name not in trace_row.KEY]
_UPDATE: Final = (
    sql.SQL(
        "WITH c AS (DELETE FROM traces_changed RETURNING *)"
        " UPDATE traces_trace t SET seq = nextval('traces_seq'), {assignments} FROM c"
        " WHERE t.project_id = c.project_id AND t.trace_id = c.trace_id"
    )
    .format(
        assignments=sql.SQL(", ").join(
            sql.SQL("{0} = {1}").format(sql.Identifier(name), sql.Identifier("c", name))
            for name in _SET
        )
    )
    .as_bytes()
)
