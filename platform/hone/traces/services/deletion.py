"""Traces taken out for good."""

from collections.abc import Sequence
from typing import Final

from django.db import connection, transaction

from hone.common import events
from hone.traces.services.parts import trace_parts_delete
from hone.traces.services.search import search_stale

EVENT: Final = "traces.deleted"
_TOLD_IDS: Final = 500  # trace ids in one event
# The rows of the traces first: whoever writes spans of a trace waits for its row, so nothing can
# come between this and the next statement.
_LOCKED: Final = """
    SELECT FROM traces_trace WHERE project_id = %s AND trace_id = ANY(%s)
    ORDER BY project_id, trace_id FOR UPDATE
"""
_TRACES: Final = """
    DELETE FROM traces_trace WHERE project_id = %s AND trace_id = ANY(%s)
    RETURNING trace_id, started_at, latest_start_at
"""
_OBSERVATIONS: Final = """
    DELETE FROM traces_observation
    WHERE project_id = %s AND trace_id = ANY(%s) AND start_time BETWEEN %s AND %s RETURNING seq
"""


def trace_delete(*, project_id: int, trace_id: str) -> bool:
    """Delete a trace with its observations and what was said of them; False where there is none."""
    return bool(traces_delete(project_id=project_id, trace_ids=[bytes.fromhex(trace_id)]))


@transaction.atomic
def traces_delete(*, project_id: int, trace_ids: Sequence[bytes]) -> int:
    """Delete traces as `trace_delete` does; how many there were."""
    with connection.cursor() as cursor:
        # Sorted, as the writer locks them: in one order nobody waits for each other.
        cursor.execute(_LOCKED, [project_id, sorted(trace_ids)])
        cursor.execute(_TRACES, [project_id, list(trace_ids)])
        gone = [(bytes(trace_id), first, latest) for trace_id, first, latest in cursor.fetchall()]
        if not gone:
            return 0
        ids = [trace_id for trace_id, _, _ in gone]
        window = min(first for _, first, _ in gone), max(latest for _, _, latest in gone)
        cursor.execute(_OBSERVATIONS, [project_id, ids, *window])
        search_stale(project_id=project_id, seqs={seq for (seq,) in cursor.fetchall()})
    spelled = [trace_id.hex() for trace_id in ids]
    trace_parts_delete(project_id=project_id, trace_ids=spelled)
    for start in range(0, len(spelled), _TOLD_IDS):
        events.publish(project_id, EVENT, {"traces": spelled[start : start + _TOLD_IDS]})
    return len(gone)
