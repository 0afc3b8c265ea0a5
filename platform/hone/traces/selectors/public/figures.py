"""Answers from figures by hour of what is told by traces (services/figures).

Whole hours come from the figures; those that changed since they were counted and those that the
window's ends cut are read, in the same statement. Sums, counts and means are exact; percentiles of
many come from buckets of 4 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hone.common.conditions import Column, Condition, conditions_sql
from hone.traces.core.metrics import Metric, MetricsQuery
from hone.traces.core.rollup import GROWTH, HOUR, hour_at
from hone.traces.selectors.hours import changed_sql, kind_of, noted_seq
from hone.traces.selectors.public.columns import OBSERVATION_COLUMNS, TRACE_COLUMNS
from hone.traces.selectors.public.kept import KINDS, SUMMED, rows_sql
from hone.traces.selectors.query import Named, fetch, fetch_slow

# Observations in whole hours: of fewer each is read; from so many on percentiles are from buckets.
WORTH: Final = 1000
SKETCHED: Final = 50_000
# View -> names of dimensions and columns of filters -> column of the figures.
_BASE: Final[Mapping[str, Mapping[str, str]]] = {
    "observations": {
        "type": "type",
        "model": "model",
        "providedModelName": "model",
        "environment": "environment",
    },
    "traces": {"environment": "environment"},
}
_MONTHS: Final = frozenset({"startTimeMonth", "timestampMonth"})
_LISTS: Final = frozenset({"tags", "traceTags"})
_READ: Final = {"observations": OBSERVATION_COLUMNS, "traces": TRACE_COLUMNS}
# Measure -> column of its sum and of how many have a value.
_SUMS: Final[Mapping[str, tuple[str, str]]] = {
    "count": ("n", "n"),
    "latency": ("latency_us", "n"),
    "inputTokens": ("input_tokens", "n_input"),
    "outputTokens": ("output_tokens", "n_output"),
    "totalTokens": ("total_tokens", "n_total"),
    "totalCost": ("cost", "n_cost"),
    "observationsCount": ("observations", "n"),
}
_PERCENTILES: Final = frozenset({"p50", "p75", "p90", "p95", "p99"})


@dataclass(frozen=True, slots=True)
class Window:
    """A time of a project, with the whole hours [first, latest) in it."""

    project_id: int
    start: datetime
    end: datetime

    @property
    def first(self) -> datetime:
        begun = hour_at(self.start)
        return begun if begun == self.start else begun + HOUR

    @property
    def latest(self) -> datetime:
        return hour_at(self.end)

    def values(self, noted_seq: int, kind: str) -> dict[str, Any]:
        """What `spans_sql` takes."""
        return {
            "project": self.project_id,
            "start": self.start,
            "end": self.end,
            "first": self.first,
            "latest": self.latest,
            "noted": noted_seq,
            "kind": kind,
        }


def spans_sql() -> str:
    """The hours whose figures do not stand (`dirty`), and all `spans` (lo, hi) to be read."""
    return f"""
        dirty AS MATERIALIZED (
            SELECT slot FROM (
                SELECT slot FROM traces_figure_dirty WHERE project_id = %(project)s
                UNION SELECT slot FROM traces_figure_crowded
                    WHERE project_id = %(project)s AND kind = %(kind)s
                UNION SELECT slot FROM ({
        changed_sql("t.project_id = %(project)s AND t.seq > %(noted)s")
    }) c
            ) d WHERE slot >= %(first)s AND slot < %(latest)s
        ), spans AS MATERIALIZED (
            SELECT slot AS lo, slot + interval '1 hour' AS hi FROM dirty
            UNION ALL SELECT %(start)s, %(first)s WHERE %(start)s < %(first)s
            UNION ALL SELECT %(latest)s, %(end)s WHERE %(latest)s < %(end)s
        )
    """


KEPT: Final = (
    "FROM traces_figure WHERE project_id = %(project)s AND kind = %(kind)s"
    " AND slot >= %(first)s AND slot < %(latest)s AND NOT slot IN (SELECT slot FROM dirty)"
)


def figure_rows(
    project_id: int, query: MetricsQuery, conditions: Sequence[Condition], order: str
) -> list[tuple[Any, ...]] | None:
    """Rows of dimensions and metrics; None where the figures do not answer the question."""
    window = Window(project_id, query.start, query.end)
    dimension = dimension_of(query.view, query.dimensions, conditions)
    if dimension is None or query.granularity == "minute" or window.first >= window.latest:
        return None
    if not all(map(_has, query.metrics)):
        return None
    noted = noted_seq()
    percents = sorted({m.aggregation for m in query.metrics} & _PERCENTILES)
    if not noted or not is_worth(window, SKETCHED if percents else WORTH):
        return None
    clause = Named(*conditions_sql(conditions, columns_of(query.view, dimension)))
    sql = _statement(query, dimension, clause.sql, percents, order)
    values = window.values(noted, kind_of(query.view, dimension)) | clause.values
    return fetch_slow(sql, values | {"limit": query.row_limit})


def prompt_counts(project_id: int, edges: Sequence[datetime]) -> list[tuple[Any, ...]] | None:
    """Names of prompts, number of the step between edges, how many observations name it.

    None where the edges are not all at whole hours, or nothing is counted yet.
    """
    window = Window(project_id, edges[0], edges[-1])
    noted = noted_seq()
    if not noted or any(hour_at(edge) != edge for edge in edges):
        return None
    rows = rows_sql("observations", ("promptName",))
    return fetch_slow(
        f"WITH {spans_sql()}, facts AS (SELECT slot, value, n {KEPT} AND value IS NOT NULL"
        f" UNION ALL SELECT slot, value, n FROM ({rows}) r WHERE value IS NOT NULL)"
        " SELECT value, width_bucket(slot, %(edges)s::timestamptz[]) - 1, sum(n)::bigint"
        " FROM facts GROUP BY 1, 2 ORDER BY 1, 2",
        window.values(noted, kind_of("observations", "promptName")) | {"edges": list(edges)},
    )


def is_worth(window: Window, least: int) -> bool:
    """Whether the whole hours hold so many observations."""
    [(number,)] = fetch(
        "SELECT coalesce(sum(n), 0) FROM traces_figure WHERE project_id = %s"
        " AND kind = 'observations' AND slot >= %s AND slot < %s",
        [window.project_id, window.first, window.latest],
    )
    return bool(number >= least)


def dimension_of(
    view: str, dimensions: Sequence[str], conditions: Sequence[Condition]
) -> str | None:
    """The one dimension, '' for none, whose figures answer a question; None where none do."""
    if view not in KINDS:
        return None
    asked = {name for name in dimensions if name not in _MONTHS}
    asked |= {"tags" if one.column in _LISTS else one.column for one in conditions}
    asked -= set(_BASE[view])
    if len(asked) > 1 or not asked <= set(KINDS[view]):
        return None
    if any(one.column not in _READ[view] for one in conditions):
        return None  # reading says what is wrong
    of_tags = [one for one in conditions if one.column in _LISTS]
    # A row with two tags stands under both: only what names one tag counts each row once.
    if of_tags and ("tags" in dimensions or len(of_tags) > 1 or not _names_one(of_tags[0])):
        return None
    return asked.pop() if asked else ""


def _names_one(condition: Condition) -> bool:
    is_options = condition.type.endswith("Options") and condition.operator in ("any of", "all of")
    return is_options and len(condition.value) == 1


def _has(metric: Metric) -> bool:
    if metric.aggregation in _PERCENTILES:
        return metric.measure == "latency"
    return metric.measure in _SUMS and metric.aggregation in ("sum", "avg", "count")


def columns_of(view: str, dimension: str) -> dict[str, Column]:
    """The columns of filters, as they are told by figures `f`."""
    read = _READ[view]
    columns = {
        name: Column(f"f.{column}", read=read[name].read)
        for name, column in _BASE[view].items()
        if name in read
    }
    if dimension in _LISTS:
        columns |= dict.fromkeys(_LISTS, Column("ARRAY[f.value]", "array"))
    elif dimension:
        columns[dimension] = Column("f.value")
    return columns


def _dimensions(query: MetricsQuery, dimension: str) -> list[str]:
    local = "f.slot AT TIME ZONE 'UTC'"
    shown = []
    if query.granularity is not None:
        shown.append(f"date_trunc('{query.granularity}', {local}) AT TIME ZONE 'UTC'")
    for name in query.dimensions:
        if name in _MONTHS:
            shown.append(f"to_char({local}, 'YYYY-MM')")
        elif name == dimension:
            shown.append("f.value")
        else:
            column = f"f.{_BASE[query.view][name]}"
            shown.append(f"upper({column})" if name == "type" else column)
    return shown


def _statement(
    query: MetricsQuery, dimension: str, clause: str, percents: Sequence[str], order: str
) -> str:
    shown = _dimensions(query, dimension)
    groups = [f"d{number}" for number in range(len(shown))]
    named = "".join(f"{sql} AS {group}, " for group, sql in zip(groups, shown, strict=True))
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    some = " HAVING sum(n) > 0" if groups else ""
    keys = "".join(f"{group}, " for group in groups)
    base = f"slot, value, type, model, environment, {', '.join(SUMMED)}"
    kept = ", buckets, counts" if percents else ""
    read = ", ARRAY[bucket], ARRAY[1::bigint]" if percents else ""
    rows = rows_sql(query.view, (dimension,))
    parts = [
        f"WITH {spans_sql()}",
        f"facts AS (SELECT {base}{kept} {KEPT} UNION ALL SELECT {base}{read} FROM ({rows}) r)",
        f"shown AS {'MATERIALIZED' if percents else ''} (SELECT {named}{', '.join(SUMMED)}{kept}"
        f" FROM facts f WHERE {clause})",
        f"sums AS (SELECT {keys}{', '.join(map(_summed, SUMMED))} FROM shown{by}{some})",
    ]
    joined = "sums s"
    if percents:
        parts += _percentiles(groups, percents)
        same = " AND ".join(f"p.{g} IS NOT DISTINCT FROM s.{g}" for g in groups) or "TRUE"
        joined += f" LEFT JOIN percents p ON {same}"
    picked = [*(f"s.{group}" for group in groups), *map(metric_sql, query.metrics)]
    return (
        f"{', '.join(parts)} SELECT {', '.join(picked)} FROM {joined}"
        f" ORDER BY {order} LIMIT %(limit)s"
    )


def _summed(column: str) -> str:
    whole = "::bigint" if column.startswith("n") else ""
    return f"coalesce(sum({column}), 0){whole} AS {column}"


def _percentiles(groups: Sequence[str], percents: Sequence[str]) -> list[str]:
    """For each group the middle of the bucket in which a percentile lies, in ms."""
    keys = "".join(f"{group}, " for group in groups)
    part = f"PARTITION BY {', '.join(groups)}" if groups else ""
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    middles = ", ".join(
        f"power({GROWTH}, min(bucket) FILTER (WHERE sofar >= {int(name[1:]) / 100} * whole) + 0.5)"
        f" / 1000 AS {name}"
        for name in percents
    )
    return [
        f"heaps AS (SELECT {keys}bucket, sum(number) AS number"
        f" FROM shown CROSS JOIN LATERAL unnest(buckets, counts) u (bucket, number)"
        f" GROUP BY {keys}bucket)",
        f"places AS (SELECT {keys}bucket, sum(number) OVER ({part} ORDER BY bucket) AS sofar,"
        f" sum(number) OVER ({part}) AS whole FROM heaps)",
        f"percents AS (SELECT {keys}{middles} FROM places{by})",
    ]


def metric_sql(metric: Metric) -> str:
    """A metric of `sums s`, or of `percents p`."""
    if metric.aggregation in _PERCENTILES:
        return f"p.{metric.aggregation}"
    column, count = _SUMS[metric.measure]
    if metric.measure == "count":
        of_some = {"avg": "CASE WHEN s.n > 0 THEN 1.0 END", "sum": "nullif(s.n, 0)"}
        return of_some.get(metric.aggregation, "s.n")
    scale = " / 1000" if metric.measure == "latency" else ""  # us to ms
    if metric.aggregation == "count":
        return f"s.{count}"
    if metric.aggregation == "sum":
        return f"CASE WHEN s.{count} > 0 THEN s.{column}{scale} END"
    return f"s.{column}{scale} / nullif(s.{count}, 0)"
