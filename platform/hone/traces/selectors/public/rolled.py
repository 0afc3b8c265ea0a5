"""Metrics of observations from figures kept by hour (services/rollups).

Whole hours come from the figures; what the window's ends cut off, what is not rolled up yet and
what was changed since is read. Sums, counts and means are exact; percentiles of many come from
buckets of 4 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hone.common.conditions import Column, Condition, conditions_sql
from hone.traces.core.metrics import Metric, MetricsQuery
from hone.traces.core.rollup import GROWTH, MOST, SUMS, facts_sql
from hone.traces.selectors.public.columns import IS_SENT, OBSERVATION_COLUMNS
from hone.traces.selectors.query import fetch, fetch_slow

WORTH: Final = 1000  # observations in whole hours: fewer are read one by one
SKETCHED: Final = 50_000  # from so many on percentiles are told from buckets
_HOUR: Final = timedelta(hours=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ATTEMPTS: Final = 3
# Column of filters and dimensions -> column of the figures.
_NAMES: Final = {
    "type": "type",
    "level": "level",
    "environment": "environment",
    "model": "model",
    "providedModelName": "model",
}
_COLUMNS: Final[Mapping[str, Column]] = {
    name: Column(f"nullif(f.{column}, '')", read=OBSERVATION_COLUMNS[name].read)
    for name, column in _NAMES.items()
}
_BY_LATENCY: Final = frozenset({"type", "model"})  # dimensions that buckets are kept by


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question that the figures can answer, and the whole hours in its window."""

    project_id: int
    query: MetricsQuery
    conditions: Sequence[Condition]
    first: datetime
    latest: datetime

    @property
    def used(self) -> set[str]:
        names = [*self.query.dimensions, *(one.column for one in self.conditions)]
        return {_NAMES[name] for name in names}

    @property
    def percents(self) -> list[int]:
        given = {metric.aggregation for metric in self.query.metrics}
        return sorted(int(name[1:]) for name in given if name[0] == "p" and name[1:].isdigit())


def rolled_rows(
    project_id: int, query: MetricsQuery, conditions: Sequence[Condition], order: str
) -> list[tuple[Any, ...]] | None:
    """Rows of dimensions and metrics; None where the figures do not answer the question."""
    first = _EPOCH - ((_EPOCH - query.start) // _HOUR) * _HOUR  # rounded up
    asked = _Asked(
        project_id, query, conditions, first, _EPOCH + (query.end - _EPOCH) // _HOUR * _HOUR
    )
    if not _is_kept(asked):
        return None
    for _ in range(_ATTEMPTS):
        seq = _rolled_seq()
        if not _is_worth(asked):
            return None
        rows = fetch_slow(*_sql(asked, seq, order))
        if seq == _rolled_seq():
            return rows
    return None


def rolled_count(project_id: int) -> int | None:
    """How many observations the project has; None where nothing is rolled up yet."""
    for _ in range(_ATTEMPTS):
        seq = _rolled_seq()
        if not seq:
            return None
        [(number,)] = fetch_slow(_COUNT, [project_id, project_id, seq, project_id, seq])
        if seq == _rolled_seq():
            return int(number)
    return None


_COUNT: Final = f"""
    SELECT (SELECT coalesce(sum(n), 0) FROM traces_rollup WHERE project_id = %s)
        + (SELECT count(*) FROM traces_observation o
            WHERE o.project_id = %s AND o.seq > %s AND {IS_SENT})
        + (SELECT coalesce(sum(sign), 0) FROM traces_rollup_fix WHERE project_id = %s
            AND seq <= %s)
"""


def _rolled_seq() -> int:
    [(seq,)] = fetch("SELECT coalesce(max(rolled_seq), 0) FROM traces_rollup_state", [])
    return int(seq)


def _is_kept(asked: _Asked) -> bool:
    """Whether the figures have what is asked."""
    query = asked.query
    names = [*query.dimensions, *(one.column for one in asked.conditions)]
    if query.view != "observations" or query.granularity == "minute":
        return False
    if asked.first >= asked.latest or any(name not in _NAMES for name in names):
        return False
    if any(len(text) > MOST for one in asked.conditions for text in _texts(one)):
        return False
    return all(_has(metric, asked.used) for metric in query.metrics)


def _texts(condition: Condition) -> Sequence[str]:
    value = condition.value
    return value if isinstance(value, list | tuple) else [str(value)]


def _has(metric: Metric, used: set[str]) -> bool:
    if metric.measure not in SUMS and metric.measure != "count":
        return False
    is_percentile = metric.aggregation in ("p50", "p75", "p90", "p95", "p99")
    if is_percentile:
        return metric.measure == "latency" and used <= _BY_LATENCY
    return metric.aggregation in ("sum", "avg", "count")


def _is_worth(asked: _Asked) -> bool:
    """Whether there are enough, with an environment each where one is asked for: an observation
    without one has that of its trace."""
    [(number, nameless)] = fetch(
        "SELECT coalesce(sum(n), 0), bool_or(environment = '') FROM traces_rollup"
        " WHERE project_id = %s AND slot >= %s AND slot < %s",
        [asked.project_id, asked.first, asked.latest],
    )
    least = SKETCHED if asked.percents else WORTH
    return number >= least and not (nameless and "environment" in asked.used)


def _sql(asked: _Asked, seq: int, order: str) -> tuple[str, list[Any]]:
    """One statement, so that all its parts are of one moment."""
    query = asked.query
    groups = [f"d{place}" for place in range(len(_dimensions(asked)))]
    sources, values = _sources(asked, seq, "traces_rollup")
    metrics = [_metric(metric.measure, metric.aggregation) for metric in query.metrics]
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    counted = [f"coalesce(sum({c}), 0)::bigint AS {c}" for c in _COUNTS]
    named = ", ".join([*groups, *counted, *(f"sum({c}) AS {c}" for c in _SUMMED)])
    some = " HAVING sum(n) > 0" if groups else ""  # of none at all there is one row, too
    parts = [f"WITH sums AS (SELECT {named} FROM ({sources}) facts{by}{some})"]
    joined = "sums s"
    if asked.percents:
        buckets, more = _sources(asked, seq, "traces_rollup_latency")
        parts.append(_percentiles(buckets, groups, asked.percents))
        same = " AND ".join(f"p.{g} IS NOT DISTINCT FROM s.{g}" for g in groups) or "TRUE"
        joined += f" LEFT JOIN percents p ON {same}"
        values += more
    picked = ", ".join([*(f"s.{group}" for group in groups), *metrics])
    statement = f"{', '.join(parts)} SELECT {picked} FROM {joined} ORDER BY {order} LIMIT %s"
    return statement, [*values, query.row_limit]


_SUMMED: Final = [column for column, _ in SUMS.values()]
_COUNTS: Final = [count for _, count in SUMS.values()]


def _metric(measure: str, aggregation: str) -> str:
    if measure == "count":
        return "1.0" if aggregation == "avg" else "s.n"
    column, count = SUMS[measure]
    scale = " / 1000" if measure == "latency" else ""  # us to ms
    if aggregation == "count":
        return f"s.{count}"
    if aggregation == "sum":
        return f"CASE WHEN s.{count} > 0 THEN s.{column}{scale} END"
    if aggregation == "avg":
        return f"s.{column}{scale} / nullif(s.{count}, 0)"
    return f"p.{aggregation}"


def _dimensions(asked: _Asked) -> list[str]:
    expressions = []
    if asked.query.granularity is not None:
        cut = f"date_trunc('{asked.query.granularity}', f.slot AT TIME ZONE 'UTC')"
        expressions.append(f"{cut} AT TIME ZONE 'UTC'")
    for name in asked.query.dimensions:
        shown = f"nullif(f.{_NAMES[name]}, '')"
        expressions.append(f"upper({shown})" if name == "type" else shown)
    return expressions


def _sources(asked: _Asked, seq: int, table: str) -> tuple[str, list[Any]]:
    """Figures of the whole hours, and everything beside them that belongs to the window."""
    start, end, first, latest = asked.query.start, asked.query.end, asked.first, asked.latest
    inside, within = "start_time >= %s AND start_time < %s", [first, latest]
    observations = (
        "(SELECT o.*, coalesce(o.environment, t.environment) AS placed FROM traces_observation o"
        " JOIN traces_trace t ON t.project_id = o.project_id AND t.trace_id = o.trace_id) o"
        if "environment" in asked.used
        else "(SELECT o.*, o.environment AS placed FROM traces_observation o) o"
    )
    read = facts_sql(observations, "1", "placed") + f" WHERE project_id = %s AND {IS_SENT}"
    kept = "slot >= %s AND slot < %s"
    parts: list[tuple[str, list[Any]]] = [
        (f"{read} AND start_time >= %s AND start_time < %s", [start, first]),
        (f"{read} AND start_time >= %s AND start_time < %s", [latest, end]),
        (f"{read} AND {inside} AND seq > %s", [*within, seq]),
        (facts_sql("traces_rollup_fix", "sign") + f" WHERE project_id = %s AND {inside}"
         " AND seq <= %s", [*within, seq]),
    ]  # fmt: skip
    clause, given = conditions_sql(asked.conditions, _COLUMNS)
    shown = [f"{expression} AS d{n}" for n, expression in enumerate(_dimensions(asked))]
    is_buckets = table == "traces_rollup_latency"
    columns = ", ".join([*shown, *(["bucket", "n"] if is_buckets else [*_COUNTS, *_SUMMED])])
    rows = [(f"SELECT * FROM {table} WHERE project_id = %s AND {kept}", within), *parts]
    if parts[0][1][0] == parts[0][1][1]:
        rows.remove(parts[0])
    if parts[1][1][0] == parts[1][1][1]:
        rows.remove(parts[1])
    statements, values = [], []
    for source, bounds in rows:
        statements.append(f"SELECT {columns} FROM ({source}) f WHERE {clause}")
        values += [asked.project_id, *bounds, *given]
    return " UNION ALL ".join(statements), values


def _percentiles(buckets: str, groups: Sequence[str], percents: Sequence[int]) -> str:
    """For each group the middle of the bucket in which a percentile lies, in ms."""
    keys = "".join(f"{group}, " for group in groups)
    part = f"PARTITION BY {', '.join(groups)}" if groups else ""
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    shown = ", ".join(
        f"power({GROWTH}, min(bucket) FILTER (WHERE sofar >= {percent / 100} * whole) + 0.5) / 1000"
        f" AS p{percent}"
        for percent in percents
    )
    return (
        f"heaps AS (SELECT {keys}bucket, sum(n) AS n FROM ({buckets}) facts"
        f" GROUP BY {keys}bucket HAVING sum(n) > 0),"
        f" places AS (SELECT {keys}bucket, sum(n) OVER ({part} ORDER BY bucket) AS sofar,"
        f" sum(n) OVER ({part}) AS whole FROM heaps),"
        f" percents AS (SELECT {keys}{shown} FROM places{by})"
    )
