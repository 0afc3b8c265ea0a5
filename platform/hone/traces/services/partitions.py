"""Partitions of the observations: made before they are needed, dropped when they are old."""

import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import psycopg
import structlog
from django.conf import settings
from django.db import connection
from psycopg import errors, sql

from hone.common import clock
from hone.traces.core.periods import DAY_US, Period, period_for, period_from

log = structlog.get_logger(__name__)
TABLE: Final = "traces_observation"
AHEAD_DAYS: Final = 14
# For locks that shut out others: less than PostgreSQL waits before it looks for deadlocks (1 s), so
# that nobody is told of one on our account.
PATIENCE_MS: Final = 400
TRIES: Final = 20
PAUSE_S: Final = 0.5
_LOCK: Final = 0x484F_4E45_0001  # one maker at a time
_known: set[int] = set()  # days that have a partition, as far as this process has seen


def partitions_ensure(days: Iterable[int] | None = None) -> list[str]:
    """Make the partitions of `days` (default: from today on, AHEAD_DAYS); the names of new ones.

    Works on a connection of its own, so that the partitions stay also when the caller's
    transaction does not.
    """
    if days is None:
        today = int(clock.now().timestamp() * 10**6) // DAY_US
        days = range(today, today + AHEAD_DAYS + 1)
    missing = sorted(set(days) - _known)
    if not missing:
        return []
    with _connect() as raw:
        raw.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        existing = _existing(raw)
        made = [_make(raw, day, existing) for day in missing]
    _known.update(day for period in existing for day in range(*period))
    return [name for name in made if name is not None]


def partitions_forget() -> None:
    """Ask the database again which partitions there are."""
    _known.clear()


def partitions_all() -> list[Period]:
    """What each partition holds, in no order."""
    with connection.cursor() as cursor:
        cursor.execute(_EXISTING, [TABLE])
        return _periods(cursor.fetchall())


def partitions_drop(before: datetime) -> list[str]:
    """Drop the partitions that end at `before` or earlier; their names."""
    with _connect() as raw:
        raw.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        # While this waits for the table, others wait behind it: a moment, and again.
        raw.execute("SELECT set_config('lock_timeout', %s, false)", [f"{PATIENCE_MS}ms"])
        old = [period for period in _existing(raw) if period.bounds[1] <= before]
        dropped = [f"{TABLE}_{period.suffix}" for period in old if _drop(raw, period)]
    partitions_forget()
    for name in dropped:
        log.info("partition_dropped", name=name)
    return dropped


def _drop(raw: psycopg.Connection[tuple[object, ...]], period: Period) -> bool:
    """Drop a partition; False where others use the table all the time."""
    for _ in range(TRIES):
        try:
            raw.execute(sql.SQL("DROP TABLE {}").format(_name(period)))
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            time.sleep(PAUSE_S)
        else:
            return True
    return False


def _connect() -> psycopg.Connection[tuple[object, ...]]:
    """A connection outside of any transaction; settings of Django's but not its pool."""
    parameters = connection.get_connection_params()
    for name in ("cursor_factory", "context", "pool"):
        parameters.pop(name, None)
    raw = psycopg.connect(**parameters, autocommit=True)
    raw.execute("SELECT set_config('lock_timeout', '10s', false)")
    return raw


_EXISTING: Final = (
    "SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid"
    " WHERE inhparent = %s::regclass"
)


def _existing(raw: psycopg.Connection[tuple[object, ...]]) -> list[Period]:
    return _periods(raw.execute(_EXISTING, [TABLE]))


def _periods(rows: Iterable[Sequence[object]]) -> list[Period]:
    found = (period_from(str(name).removeprefix(f"{TABLE}_")) for (name,) in rows)
    return [period for period in found if period is not None]


def _make(
    raw: psycopg.Connection[tuple[object, ...]], day: int, existing: list[Period]
) -> str | None:
    if any(period.start <= day < period.end for period in existing):
        return None
    period = period_for(day, settings.HONE_TRACES_PARTITION_DAYS, existing)
    start, end = period.bounds
    # Attached rather than created in place: that locks out no reader and no writer.
    with raw.transaction():
        for statement in (
            "CREATE TABLE {part} (LIKE {table} INCLUDING ALL)",
            "ALTER TABLE {part} ADD CONSTRAINT period"
            " CHECK (start_time >= {start} AND start_time < {end})",
            "ALTER TABLE {table} ATTACH PARTITION {part} FOR VALUES FROM ({start}) TO ({end})",
            "ALTER TABLE {part} DROP CONSTRAINT period",
        ):
            raw.execute(
                sql.SQL(statement).format(
                    part=_name(period),
                    table=sql.Identifier(TABLE),
                    start=sql.Literal(start.isoformat()),
                    end=sql.Literal(end.isoformat()),
                )
            )
    existing.append(period)
    log.info("partition_made", name=f"{TABLE}_{period.suffix}")
    return f"{TABLE}_{period.suffix}"


def _name(period: Period) -> sql.Identifier:
    return sql.Identifier(f"{TABLE}_{period.suffix}")


def window_us(now: datetime) -> tuple[int, int]:
    """Start times that are taken, unix microseconds: a clock may be a day ahead, and history
    reaches back HONE_TRACES_HISTORY_DAYS, or as far as traces are kept."""
    kept = settings.HONE_TRACES_RETENTION_DAYS or settings.HONE_TRACES_HISTORY_DAYS
    present = int(now.timestamp() * 10**6)
    return present - min(kept, settings.HONE_TRACES_HISTORY_DAYS) * DAY_US, present + DAY_US
