"""Figures of observations by hour, kept by the job that keeps the search index.

A row of an observation never changes its number, so figures grow by what has new numbers; what is
deleted or changed in place leaves a note (traces_rollup_fix, by trigger). One statement reads both,
so both are of one moment.
"""

import time
from datetime import datetime
from typing import Any, Final

import psycopg
from django.db import connection, transaction

from hone.traces.core.rollup import DIMENSIONS, SUMS, facts_sql
from hone.traces.selectors.changes import horizon

STEP: Final = 20_000  # numbers in one transaction; a trace takes one, too, and so does a batch
BUDGET_S: Final = 20.0  # of one run, beside the index's
LOCK: Final = 0x484F_4E45_0003  # one process writes the figures
_COLUMNS: Final = [name for pair in SUMS.values() for name in pair]
_KEY: Final = ", ".join(["project_id", "slot", *DIMENSIONS])
_ADD: Final = f"""
    , sums AS (
        INSERT INTO traces_rollup ({_KEY}, {", ".join(_COLUMNS)})
        SELECT {_KEY}, {", ".join(f"sum({name})" for name in _COLUMNS)} FROM facts GROUP BY {_KEY}
        ON CONFLICT ({_KEY}) DO UPDATE
        SET {", ".join(f"{name} = traces_rollup.{name} + excluded.{name}" for name in _COLUMNS)}
    )
    INSERT INTO traces_rollup_latency (project_id, slot, type, model, bucket, n)
    SELECT project_id, slot, type, model, bucket, sum(n) FROM facts GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (project_id, slot, type, model, bucket) DO UPDATE
    SET n = traces_rollup_latency.n + excluded.n
"""
_GROW: Final = f"""
    WITH facts AS MATERIALIZED (
        {facts_sql("traces_observation", "1")}
            WHERE seq > %(since)s AND seq <= %(until)s AND scope IS DISTINCT FROM 'langfuse.trace'
        UNION ALL
        {facts_sql("traces_rollup_fix", "sign")} WHERE seq <= %(since)s
    ), noted AS (
        DELETE FROM traces_rollup_fix
    ) {_ADD}
"""
# Notes are of the rows as they were; what is added up again is without them.
_BY_TIME: Final = {
    "traces_rollup": "slot",
    "traces_rollup_latency": "slot",
    "traces_rollup_fix": "start_time",
}
_ROLLED: Final = """
    INSERT INTO traces_rollup_state (id, rolled_seq) VALUES (1, %s)
    ON CONFLICT (id) DO UPDATE SET rolled_seq = excluded.rolled_seq
"""


def rollups_grow() -> bool:
    """Take in one portion of what is new; False: all is in, or another process is at it."""
    latest = horizon()
    with transaction.atomic(), connection.cursor() as outer:
        cursor: psycopg.Cursor[Any] = outer.cursor
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if not _one(cursor):
            return False
        cursor.execute("SELECT coalesce(max(rolled_seq), 0) FROM traces_rollup_state")
        since = _one(cursor)
        until = max(since, min(latest, since + STEP))
        cursor.execute("SELECT EXISTS (SELECT FROM traces_rollup_fix)")
        has_notes = _one(cursor)
        if until > since or has_notes:
            cursor.execute(_GROW, {"since": since, "until": until})
            cursor.execute(_ROLLED, [until])
        if has_notes:
            for table in ("traces_rollup", "traces_rollup_latency"):
                cursor.execute(f"DELETE FROM {table} WHERE n = 0")
    return bool(until < latest)


def rollups_anew(
    cursor: psycopg.Cursor[Any], project_id: int, part: str, bounds: tuple[datetime, datetime]
) -> None:
    """Add up a project's hours again from what its partition `part` holds, whose bounds are given.

    The caller holds LOCK, and nobody writes to the partition meanwhile.
    """
    place = {"project": project_id, "start": bounds[0], "end": bounds[1]}
    for table, column in _BY_TIME.items():
        cursor.execute(
            f"DELETE FROM {table} WHERE project_id = %(project)s"
            f" AND {column} >= %(start)s AND {column} < %(end)s",
            place,
        )
    cursor.execute(
        f"WITH facts AS MATERIALIZED ({facts_sql(part, '1')} WHERE project_id = %(project)s"
        " AND seq <= (SELECT max(rolled_seq) FROM traces_rollup_state)"
        f" AND scope IS DISTINCT FROM 'langfuse.trace') {_ADD}",
        place,
    )


def rollups_refresh() -> None:
    """Take in what is new, for a while; the next run goes on."""
    until = time.monotonic() + BUDGET_S
    while rollups_grow() and time.monotonic() < until:
        pass


def rollups_retain(cutoff: datetime) -> None:
    """Let go of the hours before `cutoff`."""
    with connection.cursor() as cursor:
        for table in ("traces_rollup", "traces_rollup_latency"):
            cursor.execute(f"DELETE FROM {table} WHERE slot < %s - interval '1 hour'", [cutoff])


def _one(cursor: psycopg.Cursor[Any]) -> Any:
    row = cursor.fetchone()
    assert row is not None
    return row[0]
