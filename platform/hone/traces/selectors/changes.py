"""Traces that changed since a number, without missing any (services/marks says how)."""

from dataclasses import dataclass
from typing import Final

from hone.traces.core.marks import MARK
from hone.traces.selectors.query import fetch
from hone.traces.selectors.rows import COLUMNS, TraceRow, trace_row_from

_UNDER_WAY: Final = """
    SELECT min((classid::bigint & 65535) << 32 | objid::bigint) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = %s
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@dataclass(frozen=True, slots=True)
class Change:
    """A trace as it is now, and the number of its latest change."""

    seq: int
    row: TraceRow


def seq_now() -> int:
    """The number of the newest change, though it may not be visible yet."""
    [(latest,)] = fetch("SELECT last_value FROM traces_seq", [])
    return int(latest)


def horizon() -> int:
    """Up to this number every change is visible; later reads need to look beyond it only."""
    # In this order: a writer that starts between the two holds a number that is not lower.
    latest = seq_now()
    [(under_way,)] = fetch(_UNDER_WAY, [MARK])
    return latest if under_way is None else min(latest, int(under_way))


def changes_since(project_id: int, seq: int, *, limit: int) -> list[Change]:
    """The newest `limit` of the project's traces that changed after `seq`, oldest change first."""
    query = f"""
        SELECT t.seq, {COLUMNS} FROM traces_trace t WHERE t.project_id = %s AND t.seq > %s
        ORDER BY t.seq DESC LIMIT %s
    """
    rows = fetch(query, [project_id, seq, limit])
    return [Change(seq, trace_row_from(row)) for seq, *row in reversed(rows)]
