"""How many traces when."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from hone.traces.selectors.filters import TraceFilter
from hone.traces.selectors.hours import (
    BEGUN,
    BEGUN_KINDS,
    STATUS,
    changed_sql,
    kind_of,
    noted_seq,
)
from hone.traces.selectors.narrowing import ids_named, where_of
from hone.traces.selectors.query import Named, fetch, fetch_slow

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
# The same for the traces of one model, tag, name or environment (services/figures), where a slot
# that changed makes its whole hour be counted here.
_BY_FIGURES: Final = f"""
    WITH dirty AS MATERIALIZED (
        SELECT slot FROM (
            SELECT slot FROM traces_figure_dirty WHERE project_id = %(project)s
            UNION SELECT slot FROM traces_figure_crowded
                WHERE project_id = %(project)s AND kind = %(kind)s
            UNION SELECT slot FROM (
                {changed_sql("t.project_id = %(project)s AND t.seq > %(counted)s")}
            ) c
        ) d WHERE slot > %(start)s - interval '1 hour' AND slot < %(end)s
    ), cut AS MATERIALIZED (
        SELECT DISTINCT
            date_bin('15 minutes', %(start)s + number * %(step)s, 'epoch'::timestamptz) AS slot
        FROM generate_series(0, %(buckets)s) number
    ), spans AS MATERIALIZED (
        SELECT slot AS lo, slot + interval '1 hour' AS hi FROM dirty
        UNION ALL SELECT slot, slot + interval '15 minutes' FROM cut
        WHERE NOT date_bin('1 hour', slot, 'epoch'::timestamptz) IN (SELECT slot FROM dirty)
    )
    SELECT least((extract(epoch FROM slot - %(start)s)::float8 * 1e6)::bigint / %(step_us)s,
        %(buckets)s - 1) AS bucket, coalesce(sum(n) FILTER (WHERE type = 'ok'), 0)::bigint,
        coalesce(sum(n) FILTER (WHERE type = 'error'), 0)::bigint
    FROM (
        SELECT slot, type, n FROM traces_figure
        WHERE project_id = %(project)s AND kind = %(kind)s AND value = %(value)s
            AND type = ANY(%(types)s) AND slot >= %(start)s AND slot < %(end)s
            AND NOT slot IN (SELECT slot FROM cut)
            AND NOT date_bin('1 hour', slot, 'epoch'::timestamptz) IN (SELECT slot FROM dirty)
        UNION ALL
        SELECT t.started_at, t.type, 1 FROM spans CROSS JOIN LATERAL (
            SELECT t.started_at, {STATUS} AS type FROM traces_trace t
            WHERE t.started_at >= spans.lo AND t.started_at < spans.hi AND {{where}} OFFSET 0
        ) t
    ) counts GROUP BY bucket
"""
_STATUSES: Final = ("ok", "error")


@dataclass(frozen=True, slots=True)
class Bucket:
    """Traces that started in one of equal parts of the window."""

    start: datetime
    ok: int
    error: int


def traces_histogram(wanted: TraceFilter, *, buckets: int) -> list[Bucket]:
    """The window of `wanted` in `buckets` equal parts, empty ones included."""
    step = (wanted.end - wanted.start) / buckets
    ok: Counter[int] = Counter()
    error: Counter[int] = Counter()
    for bucket, good, bad in _rows(wanted, step, buckets):
        ok[bucket] += good
        error[bucket] += bad
    return [
        Bucket(wanted.start + step * number, ok[number], error[number]) for number in range(buckets)
    ]


def _rows(wanted: TraceFilter, step: timedelta, buckets: int) -> Iterable[Any]:
    is_kept = step >= _WORTH * SLOT
    if is_kept and replace(wanted, status=None).is_plain:
        rows = _by_slots(wanted, step, buckets)
        is_ok, is_error = (wanted.status in (None, status) for status in _STATUSES)
        return [(bucket, good * is_ok, bad * is_error) for bucket, good, bad in rows]
    ids = ids_named(wanted)
    if ids is None and is_kept and wanted.alone in BEGUN_KINDS and (noted := noted_seq()):
        return _by_figures(wanted, noted, step, buckets)
    return _by_reading(wanted, ids, step, buckets)


def _values(wanted: TraceFilter, counted: int, step: timedelta, buckets: int) -> dict[str, Any]:
    return {
        "project": wanted.project_id,
        "counted": counted,
        "start": wanted.start,
        "end": wanted.end,
        "step": step,
        "step_us": step // timedelta(microseconds=1),
        "buckets": buckets,
    }


def _by_slots(wanted: TraceFilter, step: timedelta, buckets: int) -> Iterable[Any]:
    # Asked first: of a number that it does not know the planner would read a third of all traces.
    [(counted,)] = fetch("SELECT coalesce(max(indexed_seq), 0) FROM traces_search_state", [])
    return fetch_slow(_BY_SLOTS, _values(wanted, counted, step, buckets))


def _by_figures(wanted: TraceFilter, noted: int, step: timedelta, buckets: int) -> Iterable[Any]:
    field = wanted.alone or ""
    clause = Named(*wanted.where())
    values = _values(wanted, noted, step, buckets) | {
        "kind": kind_of(BEGUN, field),
        "value": getattr(wanted, field),
        "types": [wanted.status] if wanted.status else list(_STATUSES),
    }
    return fetch_slow(_BY_FIGURES.replace("{where}", clause.sql), values | clause.values)


def _by_reading(
    wanted: TraceFilter, ids: list[bytes] | None, step: timedelta, buckets: int
) -> Iterable[Any]:
    where, values = where_of(wanted, ids)
    query = f"""
        SELECT
            least(floor(extract(epoch FROM t.started_at - %s)::float8 / %s::float8)::int, %s)
                AS bucket,
            count(*) FILTER (WHERE t.error_count = 0), count(*) FILTER (WHERE t.error_count > 0)
        FROM traces_trace t WHERE {where} GROUP BY bucket
    """
    return fetch_slow(query, [wanted.start, step.total_seconds(), buckets - 1, *values])
