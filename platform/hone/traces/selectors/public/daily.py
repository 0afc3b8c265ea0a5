"""Figures by day and model."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, Final

from hone.common.conditions import Condition, conditions_sql
from hone.traces.selectors.public.columns import IS_SENT, OBSERVATION_COLUMNS
from hone.traces.selectors.query import fetch_slow

_ROWS: Final = f"""
    SELECT (o.start_time AT TIME ZONE 'UTC')::date AS day, o.model, count(*),
        count(DISTINCT o.trace_id), coalesce(sum(o.input_tokens), 0),
        coalesce(sum(o.output_tokens), 0), coalesce(sum(o.total_tokens), 0),
        coalesce(sum(o.cost), 0), grouping(o.model)
    FROM traces_observation o JOIN traces_trace t
        ON t.project_id = o.project_id AND t.trace_id = o.trace_id
    WHERE o.project_id = %s AND {IS_SENT} AND o.start_time >= %s AND o.start_time < %s AND
"""
_GROUPED: Final = " GROUP BY GROUPING SETS ((day, o.model), (day)) ORDER BY day DESC, o.model"


def daily_rows(
    project_id: int, start: datetime, end: datetime, conditions: Sequence[Condition]
) -> list[dict[str, Any]]:
    """One row a day, newest first, in the shape of the public API."""
    clause, values = conditions_sql(conditions, OBSERVATION_COLUMNS)
    rows = fetch_slow(f"{_ROWS} {clause} {_GROUPED}", [project_id, start, end, *values])
    days: dict[date, dict[str, Any]] = {}
    for day, model, observations, traces, given, answer, total, cost, is_whole in rows:
        body = days.setdefault(day, {"date": day.isoformat(), "usage": []})
        if is_whole:
            body |= {
                "countTraces": traces,
                "countObservations": observations,
                "totalCost": float(cost),
            }
        elif model is not None:
            body["usage"].append(
                {
                    "model": model,
                    "inputUsage": int(given),
                    "outputUsage": int(answer),
                    "totalUsage": int(total),
                    "countTraces": traces,
                    "countObservations": observations,
                    "totalCost": float(cost),
                }
            )
    return list(days.values())
