"""Pages of traces, newest first."""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from hone.traces.selectors.filters import TraceFilter
from hone.traces.selectors.query import fetch, fetch_slow
from hone.traces.selectors.rows import COLUMNS, TraceRow, trace_row_from
from hone.traces.selectors.search import Condition, search

Position = tuple[datetime, str]  # start and id of the last trace of a page
_ORDER: Final = "ORDER BY t.started_at DESC, t.trace_id DESC"


def traces_list(
    wanted: TraceFilter, *, limit: int, after: Position | None = None
) -> tuple[list[TraceRow], Position | None]:
    """A page of traces and where the next one begins, None at the end."""
    where, values = wanted.where()
    if after is not None:
        where += " AND (t.started_at, t.trace_id) < (%s, %s)"
        values += [after[0], bytes.fromhex(after[1])]
    rows = _rows(wanted, where, values, limit + 1)
    if len(rows) <= limit:
        return rows, None
    latest = rows[limit - 1]
    return rows[:limit], (latest.started_at, latest.id)


def _rows(wanted: TraceFilter, where: str, values: list[object], number: int) -> list[TraceRow]:
    parts = wanted.parts()
    if parts:
        found = search(
            Condition(wanted.project_id, where, values, number), parts, wanted.start, wanted.end
        )
        if found is not None:
            return found
    query = f"SELECT {COLUMNS} FROM traces_trace t WHERE {where} {_ORDER} LIMIT %s"
    return [trace_row_from(row) for row in fetch_slow(query, [*values, number])]


def traces_by_ids(project_id: int, ids: Collection[str]) -> list[TraceRow]:
    """The traces that are there, newest first."""
    query = (
        f"SELECT {COLUMNS} FROM traces_trace t"
        f" WHERE t.project_id = %s AND t.trace_id = ANY(%s) {_ORDER}"
    )
    rows = fetch(query, [project_id, [bytes.fromhex(trace_id) for trace_id in ids]])
    return [trace_row_from(row) for row in rows]
