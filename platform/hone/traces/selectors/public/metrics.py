"""Figures over a time: one row for each combination of dimensions."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from hone.common.conditions import Condition, conditions_sql
from hone.common.errors import InvalidError
from hone.common.public import stamp
from hone.traces.core.metrics import Metric, MetricsQuery
from hone.traces.selectors.conditions import parts_needed
from hone.traces.selectors.public.by_user import user_rows
from hone.traces.selectors.public.figures import figure_rows
from hone.traces.selectors.public.rolled import rolled_rows
from hone.traces.selectors.public.views import VIEWS, View
from hone.traces.selectors.query import PATIENCE_MS, fetch_slow
from hone.traces.selectors.search import candidates

TIME: Final = "time_dimension"
_AGGREGATES: Final = {
    "sum": "sum({0})",
    "avg": "avg({0})",
    "count": "count({0})",
    "max": "max({0})",
    "min": "min({0})",
    "uniq": "count(DISTINCT {0})",
    **{
        f"p{percent}": f"percentile_cont({percent / 100}) WITHIN GROUP (ORDER BY {{0}})"
        for percent in (50, 75, 90, 95, 99)
    },
    "histogram": "array_agg({0}) FILTER (WHERE {0} IS NOT NULL)",
}


def metrics_rows(
    project_id: int, query: MetricsQuery, conditions: Sequence[Condition]
) -> list[dict[str, Any]]:
    """The answer, at most `query.row_limit` rows; raises InvalidError for what a view has not."""
    view = VIEWS.get(query.view)
    if view is None:
        raise InvalidError(f"view: want one of {', '.join(VIEWS)}", field="view")
    names, expressions = _dimensions(view, query)
    order = _order(query, names)
    keys = [*names, *(metric.name for metric in query.metrics)]
    for metric in query.metrics:
        _measure(view, metric)
    rows = None
    for kept in (rolled_rows, figure_rows, user_rows):
        if rows is None:
            rows = kept(project_id, query, conditions, order)
    if rows is None:
        rows = _read(project_id, query, conditions, expressions, order)
    return [dict(zip(keys, map(_plain(query), keys, row), strict=True)) for row in rows]


def _read(
    project_id: int,
    query: MetricsQuery,
    conditions: Sequence[Condition],
    expressions: Sequence[str],
    order: str,
) -> list[tuple[Any, ...]]:
    """The answer from the rows themselves."""
    view = VIEWS[query.view]
    clause, values = conditions_sql(conditions, view.columns)
    metrics = [_AGGREGATES[m.aggregation].format(f"m{n}") for n, m in enumerate(query.metrics)]
    measures = [f"({_measure(view, m)}) AS m{n}" for n, m in enumerate(query.metrics)]
    inner = [f"{expression} AS d{n}" for n, expression in enumerate(expressions)]
    groups = [f"d{n}" for n in range(len(expressions))]
    narrowed, ids = narrowing(project_id, query.view, conditions, query.start, query.end)
    sql = (
        f"SELECT {', '.join([*groups, *metrics])} FROM ("
        f"SELECT {', '.join([*inner, *measures])} FROM {view.scope}"
        f" AND {view.time} >= %s AND {view.time} < %s AND {narrowed}{clause}) AS facts"
        + (f" GROUP BY {', '.join(groups)}" if groups else "")
        + f" ORDER BY {order} LIMIT %s"
    )
    return fetch_slow(
        sql,
        [project_id, query.start, query.end, *ids, *values, query.row_limit],
        what=_told(query),
        narrows=NARROWS,
        field="query",
    )


NARROWS: Final = (
    "no figures are kept for it, so every row was read. Choose a shorter time, filter by something"
    " rare, or group by what figures are kept for: docs/langfuse.md names it"
)


def narrowing(
    project_id: int, view: str, conditions: Sequence[Condition], start: datetime, end: datetime
) -> tuple[str, list[Any]]:
    """A condition that leaves only what the search index names, where that is little; else ''."""
    parts = parts_needed(conditions, VIEWS[view].columns)
    ids = candidates(project_id, parts, start, end) if parts else None
    return ("", []) if ids is None else ("t.trace_id = ANY(%s) AND ", [ids])


def _told(query: MetricsQuery) -> str:
    """What is asked, in words."""
    names = list(query.dimensions)
    if query.granularity is not None:
        names.append(query.granularity)
    by = f" by {', '.join(names)}" if names else ""
    metrics = ", ".join(metric.name for metric in query.metrics)
    return (
        f"{metrics} of {query.view}{by} from {stamp(query.start)} to {stamp(query.end)}"
        f" (over {PATIENCE_MS // 1000} s)"
    )


def _measure(view: View, metric: Metric) -> str:
    if metric.measure not in view.measures:
        known = ", ".join(view.measures)
        raise InvalidError(f"metrics: {metric.measure!r} is not one of {known}", field="metrics")
    return view.measures[metric.measure]


def _dimensions(view: View, query: MetricsQuery) -> tuple[list[str], list[str]]:
    """Names and expressions of what rows are grouped by."""
    names, expressions = [], []
    if query.granularity is not None:
        names.append(TIME)
        local = f"{view.time} AT TIME ZONE 'UTC'"
        expressions.append(f"date_trunc('{query.granularity}', {local}) AT TIME ZONE 'UTC'")
    for name in query.dimensions:
        if name not in view.dimensions:
            known = ", ".join(view.dimensions)
            raise InvalidError(f"dimensions: {name!r} is not one of {known}", field="dimensions")
        names.append(name)
        is_list = name in view.lists
        expression = view.dimensions[name]
        expressions.append(
            f"unnest(CASE WHEN cardinality({expression}) > 0 THEN {expression}"
            " ELSE ARRAY[NULL::text] END)"
            if is_list
            else expression
        )
    return names, expressions


def _order(query: MetricsQuery, names: list[str]) -> str:
    """By what is asked, else by time, else by the first metric, largest first; equal ones by time
    and the dimensions in their order, so that the same question has the same answer."""
    groups = [str(place) for place in range(1, len(names) + 1)]
    places = {name: place for place, name in enumerate(names, 1)}
    places |= {m.name: place for place, m in enumerate(query.metrics, len(names) + 1)}
    if not query.order:
        return ", ".join(
            groups if query.granularity else [f"{len(names) + 1} DESC NULLS LAST", *groups]
        )
    parts = []
    for order in query.order:
        if order.field not in places:
            raise InvalidError(f"orderBy: {order.field!r} is not in the answer", field="orderBy")
        parts.append(f"{places[order.field]} {'DESC' if order.descends else 'ASC'} NULLS LAST")
    return ", ".join([*parts, *groups])


def _plain(query: MetricsQuery) -> Any:
    histograms = {m.name for m in query.metrics if m.aggregation == "histogram"}

    def plain(key: str, value: Any) -> Any:
        if key in histograms:
            return histogram([float(v) for v in value or []], query.bins)
        if isinstance(value, Decimal):
            return float(value)
        if isinstance(value, datetime):
            return stamp(value)
        return value

    return plain


def histogram(values: Sequence[float], bins: int) -> list[list[float]]:
    """`bins` equal parts of the range of `values`: [lower, upper, how many]."""
    if not values:
        return []
    low, high = min(values), max(values)
    if low == high:
        return [[low, high, len(values)]]
    width = (high - low) / bins
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int((value - low) / width))] += 1
    return [[low + n * width, low + (n + 1) * width, count] for n, count in enumerate(counts)]
