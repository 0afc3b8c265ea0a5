"""Traces by user: from an index that holds the sums of those that have one (migration 0009).

There are nearly as many users in an hour as traces, so no figures are kept of them. The traces
without a user are what is left of all, whose number the figures by hour know.
"""

from collections.abc import Sequence
from typing import Any, Final

from hone.common.conditions import Condition
from hone.traces.core.metrics import MetricsQuery
from hone.traces.selectors.hours import kind_of, noted_seq
from hone.traces.selectors.public.figures import (
    KEPT,
    WORTH,
    Window,
    is_worth,
    metric_sql,
    spans_sql,
)
from hone.traces.selectors.public.kept import rows_sql
from hone.traces.selectors.query import fetch_slow

_MEASURES: Final = frozenset({"count", "observationsCount", "totalTokens", "totalCost"})
_AGGREGATIONS: Final = frozenset({"sum", "avg", "count"})
_SUMMED: Final = ("n", "observations", "n_total", "total_tokens", "n_cost", "cost")
# In the order of the index, so that nothing is sorted; no column that it does not hold.
_USERS: Final = """
    SELECT user_id AS value, count(*) AS n, sum(observation_count) AS observations,
        count(*) AS n_total, sum(total_tokens) AS total_tokens, count(cost) AS n_cost,
        coalesce(sum(cost), 0) AS cost
    FROM traces_trace WHERE project_id = %(project)s AND user_id IS NOT NULL
        AND started_at >= %(start)s AND started_at < %(end)s GROUP BY user_id
"""


def user_rows(
    project_id: int, query: MetricsQuery, conditions: Sequence[Condition], order: str
) -> list[tuple[Any, ...]] | None:
    """Rows of users and metrics; None where another question is asked."""
    is_plain = not conditions and query.granularity is None and query.dimensions == ("userId",)
    if query.view != "traces" or not is_plain or not all(
        m.measure in _MEASURES and m.aggregation in _AGGREGATIONS for m in query.metrics
    ):  # fmt: skip
        return None
    window, noted = Window(project_id, query.start, query.end), noted_seq()
    if not noted or window.first >= window.latest or not is_worth(window, WORTH):
        return None
    columns = ", ".join(_SUMMED)
    whole = ", ".join(f"coalesce(sum({c}), 0) AS {c}" for c in _SUMMED)
    rest = ", ".join(f"a.{c} - u.{c}" for c in _SUMMED)
    counts = ", ".join(f"{c}::bigint AS {c}" if c[0] == "n" else c for c in _SUMMED)
    metrics = ", ".join(map(metric_sql, query.metrics))
    statement = f"""
        WITH {spans_sql()}, users AS MATERIALIZED ({_USERS}), facts AS (
            SELECT {columns} {KEPT}
            UNION ALL SELECT {columns} FROM ({rows_sql("traces", ("",))}) r
        ), sums AS (
            SELECT value AS d0, {counts} FROM (
                SELECT value, {columns} FROM users
                UNION ALL
                SELECT NULL, {rest} FROM (SELECT {whole} FROM facts) a,
                    (SELECT {whole} FROM users) u
            ) everyone WHERE n > 0
        )
        SELECT s.d0, {metrics} FROM sums s ORDER BY {order} LIMIT %(limit)s
    """
    values = window.values(noted, kind_of("traces", ""))
    return fetch_slow(statement, values | {"limit": query.row_limit})
