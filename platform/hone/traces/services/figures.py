"""Figures by hour of what is told by traces, kept by the job that keeps the search index.

A trace's name, tags and user may come after its observations and change all of them, so nothing is
added up here: what changed marks its hours (the trigger of migration 0012 marks those of deleted
rows), and an hour that has been quiet for a while is counted as a whole. Until then it is read.
"""

import time
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg
from django.db import connection, transaction

from hone.traces.core.rollup import HOUR, MOST, hour_at
from hone.traces.selectors.changes import horizon
from hone.traces.selectors.hours import BEGUN, BEGUN_KINDS, begun_sql, changed_sql, kind_of
from hone.traces.selectors.public.kept import DAY, DAY_KINDS, KINDS, SUMMED, rows_sql, seen_sql

STEP: Final = 200_000  # numbers that are noted in one transaction
BUDGET_S: Final = 10.0  # of one run, beside the index's
QUIET: Final = timedelta(minutes=1)  # an hour that changes is counted so long afterwards, ...
LONGEST: Final = timedelta(minutes=10)  # ... and at the latest so long after it began to
CROWDED: Final = 2000  # rows of a kind in an hour: that hour is read instead
LOCK: Final = 0x484F_4E45_0004  # one process counts
Cursor = psycopg.Cursor[Any]
_NOTE: Final = f"""
    INSERT INTO traces_figure_dirty (project_id, slot)
    SELECT c.* FROM accounts_project p CROSS JOIN LATERAL (
        {changed_sql("t.project_id = p.id AND t.seq > %(since)s AND t.seq <= %(until)s")}
    ) c
"""
_NOTED: Final = """
    INSERT INTO traces_figure_state (id, noted_seq) VALUES (1, %s)
    ON CONFLICT (id) DO UPDATE SET noted_seq = excluded.noted_seq
"""
_RIPE: Final = """
    SELECT project_id, slot FROM traces_figure_dirty GROUP BY project_id, slot
    HAVING max(noted_at) <= clock_timestamp() - %s::interval
        OR min(noted_at) <= clock_timestamp() - %s::interval
    ORDER BY slot DESC LIMIT 1
"""
# Compiling takes longer than running; the rows of an hour are grouped without the disk.
_FRUGAL: Final = "SELECT set_config('jit', 'off', true), set_config('work_mem', '32MB', true)"
_PLACE: Final = "project_id = %(project)s AND slot = %(slot)s"
_KEY: Final = "kind, value, type, model, environment"
_SUMS: Final = ", ".join(f"sum({name}) AS {name}" for name in SUMMED)
_TOO_LONG: Final = f"max(greatest(length(value), length(model), length(environment))) > {MOST}"
_DROP: Final = """
    DELETE FROM traces_figure WHERE project_id = %(project)s AND kind = ANY(%(kinds)s)
        AND slot >= %(slot)s AND slot < %(slot)s::timestamptz + interval '1 hour'
"""
_SPANS: Final = (
    "spans AS (SELECT %(slot)s::timestamptz AS lo, %(slot)s::timestamptz + interval '1 hour' AS hi)"
)
_PUT: Final = """
    WITH {spans}, grouped AS MATERIALIZED ({grouped}), crowded AS (
        SELECT kind FROM grouped GROUP BY kind HAVING count(*) > {most} OR {too_long}
    ), noted AS (
        INSERT INTO traces_figure_crowded SELECT %(project)s, %(slot)s, kind FROM crowded
    )
    INSERT INTO traces_figure (project_id, slot, {columns})
    SELECT %(project)s, {slot}, {columns} FROM grouped g
    WHERE NOT EXISTS (SELECT FROM crowded c WHERE c.kind = g.kind)
"""


def figures_refresh() -> None:
    """Note what changed and count hours anew, for a while; the next run goes on."""
    until = time.monotonic() + BUDGET_S
    while figures_note() and time.monotonic() < until:
        pass
    while figures_count(quiet=QUIET) and time.monotonic() < until:
        pass


def figures_note() -> bool:
    """Mark the hours of traces that changed; False: all are, or another process is at it."""
    latest = horizon()
    with transaction.atomic(), connection.cursor() as outer:
        cursor: Cursor = outer.cursor
        if not _lock(cursor):
            return False
        cursor.execute("SELECT coalesce(max(noted_seq), 0) FROM traces_figure_state")
        since = _one(cursor)
        until = max(since, min(latest, since + STEP))
        if until > since:
            cursor.execute(_NOTE, {"since": since, "until": until})
            cursor.execute(_NOTED, [until])
    return bool(until < latest)


def figures_count(*, quiet: timedelta) -> bool:
    """Count one hour that has not changed for `quiet`; False where there is none."""
    with transaction.atomic(), connection.cursor() as outer:
        cursor: Cursor = outer.cursor
        if not _lock(cursor):
            return False
        cursor.execute(_FRUGAL)
        cursor.execute(_RIPE, [quiet, max(quiet, LONGEST)])
        found = cursor.fetchone()
        if found is None:
            return False
        _count(cursor, {"project": found[0], "slot": found[1]})
    return True


def _count(cursor: Cursor, hour: dict[str, Any]) -> None:
    # The marks go first: what changes from here on marks the hour again.
    kinds = [kind_of(view, name) for view, names in KINDS.items() for name in names]
    kinds += [kind_of(DAY, name) for name in DAY_KINDS]
    kinds += [kind_of(BEGUN, name) for name in BEGUN_KINDS]
    cursor.execute(f"DELETE FROM traces_figure_dirty WHERE {_PLACE}", hour)
    cursor.execute(f"DELETE FROM traces_figure_crowded WHERE {_PLACE}", hour)
    cursor.execute(_DROP, hour | {"kinds": kinds})
    for view, names in KINDS.items():
        by_bucket = f"SELECT {_KEY}, bucket, {_SUMS} FROM ({rows_sql(view, names)}) r"
        grouped = (
            f"SELECT {_KEY}, {_SUMS}, array_agg(bucket ORDER BY bucket) AS buckets,"
            " array_agg(n::bigint ORDER BY bucket) AS counts"
            f" FROM ({by_bucket} GROUP BY {_KEY}, bucket) b GROUP BY {_KEY}"
        )
        _put(cursor, hour, grouped, f"{_KEY}, {', '.join(SUMMED)}, buckets, counts")
    seen = "SELECT kind, value, type, model, NULL::text AS environment, n FROM ({}) s"
    _put(cursor, hour, seen.format(seen_sql(tuple(DAY_KINDS))), "kind, value, type, model, n")
    begun = "SELECT slot, kind, value, type, NULL::text AS model, NULL::text AS environment, n"
    _put(cursor, hour, f"{begun} FROM ({begun_sql()}) b", "kind, value, type, n", slot="g.slot")


def _put(
    cursor: Cursor, hour: dict[str, Any], grouped: str, columns: str, slot: str = "%(slot)s"
) -> None:
    statement = _PUT.format(
        spans=_SPANS, grouped=grouped, most=CROWDED, too_long=_TOO_LONG, columns=columns, slot=slot
    )
    cursor.execute(statement, hour)


def figures_retain(cutoff: datetime) -> None:
    """Let go of the hours up to that of `cutoff`; what is left of them is counted anew."""
    end = hour_at(cutoff) + HOUR
    with connection.cursor() as cursor:
        for table in ("traces_figure", "traces_figure_crowded"):
            cursor.execute(f"DELETE FROM {table} WHERE slot < %s", [end])
        cursor.execute(
            "INSERT INTO traces_figure_dirty (project_id, slot) SELECT c.*"
            " FROM accounts_project p CROSS JOIN LATERAL ("
            + changed_sql("t.project_id = p.id AND t.started_at < %s")
            + ") c WHERE c.slot < %s",
            [end, end],
        )


def figures_forget(
    cursor: Cursor, project_id: int, part: str, bounds: tuple[datetime, datetime]
) -> None:
    """Drop a project's hours within `bounds`; what its partition `part` still holds is to be
    counted anew. The caller holds LOCK, and nobody writes to the partition meanwhile."""
    place = {"project": project_id, "start": bounds[0], "end": bounds[1]}
    for table in ("traces_figure", "traces_figure_crowded"):
        cursor.execute(
            f"DELETE FROM {table} WHERE project_id = %(project)s"
            " AND slot >= %(start)s AND slot < %(end)s",
            place,
        )
    cursor.execute(
        "INSERT INTO traces_figure_dirty (project_id, slot)"
        " SELECT DISTINCT project_id, date_bin('1 hour', start_time, 'epoch'::timestamptz)"
        f" FROM {part} WHERE project_id = %(project)s",
        place,
    )


def _lock(cursor: Cursor) -> bool:
    cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
    return bool(_one(cursor))


def _one(cursor: Cursor) -> Any:
    row = cursor.fetchone()
    assert row is not None
    return row[0]
