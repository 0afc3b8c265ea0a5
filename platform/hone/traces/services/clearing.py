"""All that a project has in a partition taken out at once (ADR 42).

Deleting row by row writes every page of the partition to the disk twice. Where what stays is less
than what goes, the partition is emptied instead and what stays is put back: rows of other projects
are copied beforehand, while everybody reads and writes; under the lock only what changed since.

Every lock is asked for with less patience than PostgreSQL has before it looks for deadlocks (1 s):
whoever writes is never told of one on our account, we give way and try again.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import psycopg
import structlog
from django.db import OperationalError, connection, transaction
from psycopg import errors, sql

from hone.common import events
from hone.traces.selectors.changes import horizon
from hone.traces.selectors.query import fetch
from hone.traces.services import figures, rollups, search
from hone.traces.services.deletion import EVENT
from hone.traces.services.partitions import (
    PATIENCE_MS,
    PAUSE_S,
    TABLE,
    TRIES,
    partitions_all,
)
from hone.traces.services.parts import erased_parts_delete

log = structlog.get_logger(__name__)
Cursor = psycopg.Cursor[Any]
LEAST: Final = 5_000  # observations of a partition; fewer are deleted row by row
MOST_STAY: Final = 400_000  # rows that are put back under the lock, some ten microseconds each
WORTH: Final = 2  # putting back a row costs so much less than deleting one
MOST_CROSSING: Final = 20_000  # traces that reach over the bounds of partitions
TURN_MS: Final = 30_000  # for the jobs that keep index and figures, which nobody waits for
MOST_S: Final = 40.0  # for all tries at one partition: a lease is to be renewed


@dataclass(frozen=True, slots=True)
class Doomed:
    """Which traces of a project go: those whose latest change is at most `until_seq`."""

    project_id: int
    until_seq: int
    before: datetime | None = None  # only traces whose latest observation began earlier


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition and its bounds."""

    name: str
    start: datetime
    end: datetime

    def values(self, doomed: Doomed, **more: Any) -> dict[str, Any]:
        return {
            "project": doomed.project_id,
            "until": doomed.until_seq,
            "start": self.start,
            "end": self.end,
            **more,
        }


# Traces that lie wholly within the partition.
_WITHIN: Final = """
    project_id = %(project)s AND started_at >= %(start)s AND started_at < %(end)s
    AND latest_start_at < %(end)s AND seq <= %(until)s
"""
_SIZE: Final = f"""
    SELECT count(*), coalesce(sum(observation_count), 0)::bigint FROM traces_trace WHERE {_WITHIN}
"""
# Two ranges of the primary key; the index alone answers.
_OTHERS: Final = """
    SELECT (SELECT count(*) FROM (
            SELECT FROM {part} WHERE project_id < %(project)s LIMIT %(most)s) a)
        + (SELECT count(*) FROM (
            SELECT FROM {part} WHERE project_id > %(project)s LIMIT %(most)s) b)
"""
_CROSSING: Final = """
    SELECT trace_id FROM traces_trace WHERE project_id = %s
        AND width_bucket(started_at, %s::timestamptz[])
            <> width_bucket(latest_start_at, %s::timestamptz[])
    LIMIT %s
"""
# Of the project, what stays in the partition: traces that reach over its bounds, and those that
# changed since; both are few and found by an index.
_LATER: Final = """
    SELECT trace_id FROM traces_trace WHERE project_id = %(project)s AND seq > %(until)s
        AND started_at < %(end)s AND latest_start_at >= %(start)s
"""
_NUM_LATER: Final = f"""
    SELECT coalesce(sum(t.observation_count), 0)::bigint FROM (
        SELECT unnest(%(crossing)s::bytea[]) AS trace_id UNION {_LATER}
    ) k JOIN traces_trace t ON t.project_id = %(project)s AND t.trace_id = k.trace_id
"""
_ERASE: Final = f"""
    CREATE TEMPORARY TABLE traces_erased ON COMMIT DROP AS
    WITH gone AS (DELETE FROM traces_trace WHERE {_WITHIN} RETURNING trace_id)
    SELECT trace_id, encode(trace_id, 'hex') AS hex FROM gone
"""
_STAY: Final = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS traces_stay"
    " (LIKE {table} INCLUDING STORAGE INCLUDING COMPRESSION) ON COMMIT PRESERVE ROWS"
)
_COPY: Final = """
    INSERT INTO traces_stay SELECT * FROM {part}
    WHERE (project_id < %(project)s OR project_id > %(project)s) AND seq {which}
"""
# OFFSET 0: a look-up by the primary key for each, whatever the planner believes.
_CHANGED: Final = """
    DELETE FROM traces_stay s WHERE NOT EXISTS (SELECT FROM {part} o
        WHERE o.project_id = s.project_id AND o.trace_id = s.trace_id AND o.span_id = s.span_id
            AND o.start_time = s.start_time AND o.seq = s.seq OFFSET 0)
"""
_OWN: Final = f"""
    INSERT INTO traces_stay SELECT o.* FROM (
        SELECT unnest(%(crossing)s::bytea[]) AS trace_id UNION {_LATER}
    ) t CROSS JOIN LATERAL (SELECT * FROM {{part}} o
        WHERE o.project_id = %(project)s AND o.trace_id = t.trace_id OFFSET 0) o
"""


def partitions_clear(doomed: Doomed) -> Iterator[int]:
    """Empty the partitions in which much of the project goes; after each how many traces went.

    What is left of it is to be deleted row by row: traces that reach over a partition's bounds,
    partitions of which more stays than goes, and those that somebody reads all the time.
    """
    found = [Partition(f"{TABLE}_{period.suffix}", *period.bounds) for period in partitions_all()]
    bounds = sorted({moment for one in found for moment in (one.start, one.end)})
    if not bounds:
        return
    values = [doomed.project_id, bounds, bounds, MOST_CROSSING + 1]
    crossing = [bytes(trace_id) for (trace_id,) in fetch(_CROSSING, values)]
    if len(crossing) > MOST_CROSSING:
        return
    # The newest first: what comes in meanwhile mostly comes there, and is to be put back.
    for one in sorted(found, key=lambda one: one.start, reverse=True):
        if (doomed.before is None or one.end <= doomed.before) and _worth(doomed, one, crossing):
            yield _clear(doomed, one, crossing)


def _worth(doomed: Doomed, one: Partition, crossing: list[bytes]) -> bool:
    """Whether putting back what stays is quicker than deleting what goes."""
    [(_, goes)] = fetch(_SIZE, one.values(doomed))
    if goes < LEAST:
        return False
    most = min(MOST_STAY, goes * WORTH) + 1
    [(later,)] = fetch(_NUM_LATER, one.values(doomed, crossing=crossing))
    query = sql.SQL(_OTHERS).format(part=sql.Identifier(one.name)).as_string()
    [(others,)] = fetch(query, one.values(doomed, most=most))
    return bool(others + later < most)


def _clear(doomed: Doomed, one: Partition, crossing: list[bytes]) -> int:
    """Empty one partition; how many traces went, 0 where others never let us."""
    with _staying(doomed, one) as seen:
        until = time.monotonic() + MOST_S
        for number in range(TRIES):
            if time.monotonic() > until:
                break
            try:
                with transaction.atomic():
                    connection.ensure_connection()
                    with psycopg.Cursor(connection.connection) as cursor:
                        went = _swap(
                            cursor, doomed, one, one.values(doomed, seen=seen, crossing=crossing)
                        )
                    if went:
                        events.publish(doomed.project_id, EVENT, {"traces": [], "many": True})
                return went
            except (OperationalError, psycopg.OperationalError) as error:
                if not _is_lock(error):
                    raise
                log.info("partition_busy", name=one.name, attempt=number + 1)
                time.sleep(PAUSE_S)
    return 0


def _is_lock(error: Exception) -> bool:
    causes = (error, error.__cause__)
    return any(isinstance(e, errors.LockNotAvailable | errors.DeadlockDetected) for e in causes)


@contextmanager
def _staying(doomed: Doomed, one: Partition) -> Iterator[int]:
    """Copy the rows of other projects; up to which change they are there."""
    with connection.cursor() as cursor:
        cursor.execute(_sql(_STAY, one))
        try:
            seen = horizon()
            cursor.execute(_sql(_COPY, one, "<= %(seen)s"), one.values(doomed, seen=seen))
            yield seen
        finally:
            if not connection.needs_rollback:
                cursor.execute("DROP TABLE IF EXISTS traces_stay")


def _sql(statement: str, one: Partition, which: str = "") -> str:
    return (
        sql.SQL(statement.replace("{which}", which))
        .format(part=sql.Identifier(one.name), table=sql.Identifier(TABLE))
        .as_string()
    )


def _swap(cursor: Cursor, doomed: Doomed, one: Partition, values: dict[str, Any]) -> int:
    """The rows of the traces first, as everybody who writes spans does; then the partition."""
    _patience(cursor, TURN_MS)
    # In this order: the index's job holds a partition for as long as it reads.
    for lock in (search.LOCK, rollups.LOCK, figures.LOCK):
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock])
    _patience(cursor, PATIENCE_MS)
    cursor.execute(_ERASE, values)
    went = cursor.rowcount
    erased_parts_delete(cursor, doomed.project_id)
    cursor.execute(
        sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(one.name))
    )
    # From here on nothing comes, and whoever wrote before has committed.
    cursor.execute(_sql(_CHANGED, one))
    cursor.execute(_sql(_COPY, one, "> %(seen)s"), values)
    cursor.execute(_sql(_OWN, one), values)
    cursor.execute(sql.SQL("TRUNCATE {}").format(sql.Identifier(one.name)))
    cursor.execute(_sql("INSERT INTO {part} SELECT * FROM traces_stay", one))
    place = doomed.project_id, one.name, (one.start, one.end)
    rollups.rollups_anew(cursor, *place)
    figures.figures_forget(cursor, *place)
    return went


def _patience(cursor: Cursor, ms: int) -> None:
    cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{ms}ms"])
