"""How many traces when."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from hone.traces.selectors.filters import TraceFilter
from hone.traces.selectors.narrowing import where_narrowed
from hone.traces.selectors.query import fetch, fetch_slow

SLOT: Final = timedelta(minutes=15)  # of services/counts
_WORTH: Final = 4  # slots in a bucket from which on they are used
# Whole slots of a bucket come from their counts; those that a bucket's end cuts, and those that
# changed since they were counted, are counted here.
_BY_SLOTS: Final = """
    WITH dirty AS MATERIALIZED (
        SELECT slot FROM traces_count_dirty WHERE project_id = %(project)s
        UNION
        SELECT slot FROM traces_trace t,
            generate_series(date_bin('15 minutes', t.started_at, 'epoch'::timestamptz),
                least(t.latest_start_at, t.started_at + interval '2 days'), '15 minutes') slot
        WHERE t.project_id = %(project)s AND t.seq > %(counted)s
    ), cut AS MATERIALIZED (
        SELECT slot FROM dirty WHERE slot > %(start)s - interval '15 minutes' AND slot < %(end)s
        UNION
        SELECT date_bin('15 minutes', %(start)s + number * %(step)s, 'epoch'::timestamptz)
        FROM generate_series(0, %(buckets)s) number
    )
    SELECT least((extract(epoch FROM slot - %(start)s)::float8 * 1e6)::bigint / %(step_us)s,
        %(buckets)s - 1) AS bucket, sum(ok)::bigint, sum(error)::bigint
    FROM (
        SELECT slot, ok, error FROM traces_count
        WHERE project_id = %(project)s AND slot >= %(start)s AND slot < %(end)s
            AND NOT slot IN (SELECT slot FROM cut)
        UNION ALL
        SELECT t.started_at, (t.error_count = 0)::int, (t.error_count > 0)::int
        FROM cut CROSS JOIN LATERAL (
            SELECT started_at, error_count FROM traces_trace t
            WHERE t.project_id = %(project)s AND t.started_at >= greatest(cut.slot, %(start)s)
                AND t.started_at < least(cut.slot + interval '15 minutes', %(end)s)
            OFFSET 0
        ) t
    ) counts GROUP BY bucket
"""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Traces that started in one of equal parts of the window."""

    start: datetime
    ok: int
    error: int


def traces_histogram(wanted: TraceFilter, *, buckets: int) -> list[Bucket]:
    """The window of `wanted` in `buckets` equal parts, empty ones included."""
    step = (wanted.end - wanted.start) / buckets
    if wanted.is_plain and step >= _WORTH * SLOT:
        rows: Iterable[Any] = _by_slots(wanted, step, buckets)
    else:
        rows = _by_reading(wanted, step, buckets)
    ok: Counter[int] = Counter()
    error: Counter[int] = Counter()
    for bucket, good, bad in rows:
        ok[bucket] += good
        error[bucket] += bad
    return [
        Bucket(wanted.start + step * number, ok[number], error[number]) for number in range(buckets)
    ]


def _by_slots(wanted: TraceFilter, step: timedelta, buckets: int) -> Iterable[Any]:
    # Asked first: of a number that it does not know the planner would read a third of all traces.
    [(counted,)] = fetch("SELECT coalesce(max(indexed_seq), 0) FROM traces_search_state", [])
    values = {
        "project": wanted.project_id,
        "counted": counted,
        "start": wanted.start,
        "end": wanted.end,
        "step": step,
        "step_us": step // timedelta(microseconds=1),
        "buckets": buckets,
    }
    return fetch_slow(_BY_SLOTS, values)


def _by_reading(wanted: TraceFilter, step: timedelta, buckets: int) -> Iterable[Any]:
    where, values = where_narrowed(wanted)
    query = f"""
        SELECT
            least(floor(extract(epoch FROM t.started_at - %s)::float8 / %s::float8)::int, %s)
                AS bucket,
            count(*) FILTER (WHERE t.error_count = 0), count(*) FILTER (WHERE t.error_count > 0)
        FROM traces_trace t WHERE {where} GROUP BY bucket
    """
    return fetch_slow(query, [wanted.start, step.total_seconds(), buckets - 1, *values])
