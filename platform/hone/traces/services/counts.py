"""How many traces began when, counted once for all histograms (selectors/histogram)."""

from typing import Any, Final

import psycopg

# A trace that grows may begin earlier than before: its slots up to the latest start are counted.
_CHANGED: Final = """
    INSERT INTO traces_count_dirty SELECT DISTINCT t.project_id, slot FROM traces_trace t,
        generate_series(date_bin('15 minutes', t.started_at, 'epoch'::timestamptz),
            least(t.latest_start_at, t.started_at + interval '2 days'), '15 minutes') slot
    WHERE t.seq > %s AND t.seq <= %s
"""
_CLEANED: Final = """
    CREATE TEMPORARY TABLE traces_recount ON COMMIT DROP AS
    WITH gone AS (DELETE FROM traces_count_dirty RETURNING project_id, slot)
    SELECT DISTINCT project_id, slot FROM gone
"""
_DROPPED: Final = """
    DELETE FROM traces_count c USING traces_recount d
    WHERE c.project_id = d.project_id AND c.slot = d.slot
"""
_COUNTED: Final = """
    INSERT INTO traces_count SELECT d.project_id, d.slot, n.ok, n.error
    FROM traces_recount d CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE t.error_count = 0) AS ok,
            count(*) FILTER (WHERE t.error_count > 0) AS error
        FROM traces_trace t WHERE t.project_id = d.project_id AND t.started_at >= d.slot
            AND t.started_at < d.slot + interval '15 minutes'
    ) n WHERE n.ok + n.error > 0
"""


def counts_refresh(cursor: psycopg.Cursor[Any], since: int, until: int) -> None:
    """Count anew the slots of traces that changed in (since, until] or were deleted."""
    cursor.execute(_CHANGED, [since, until])
    for statement in (_CLEANED, _DROPPED, _COUNTED, "DROP TABLE traces_recount"):
        cursor.execute(statement)
