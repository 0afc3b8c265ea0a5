"""Figures by day and model: from those kept by hour, and read where none answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from hone.common.conditions import Condition, conditions_sql
from hone.common.public import stamp
from hone.traces.selectors.hours import kind_of, noted_seq
from hone.traces.selectors.public.columns import IS_SENT, OBSERVATION_COLUMNS
from hone.traces.selectors.public.figures import (
    KEPT,
    WORTH,
    Window,
    columns_of,
    dimension_of,
    is_worth,
    spans_sql,
)
from hone.traces.selectors.public.kept import DAY, DAY_KINDS, WHOLE, rows_sql, seen_sql
from hone.traces.selectors.public.metrics import narrowing
from hone.traces.selectors.query import PATIENCE_MS, Named, fetch_slow

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
_DAY: Final = "(f.slot AT TIME ZONE 'UTC')::date AS day"
_SUMMED: Final = ("n", "input_tokens", "output_tokens", "total_tokens", "cost")
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class _Asked:
    project_id: int
    start: datetime
    end: datetime
    conditions: Sequence[Condition]


def daily_rows(
    project_id: int, start: datetime, end: datetime, conditions: Sequence[Condition]
) -> list[dict[str, Any]]:
    """One row a day, newest first, in the shape of the public API.

    A trace counts on every day on which one of its observations began.
    """
    return _bodies(_kept(_Asked(project_id, start, end, conditions)))


def _kept(asked: _Asked) -> Rows:
    """From figures, but for the day that the start cuts: of its traces some began before it."""
    midnight = asked.start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if midnight < asked.start:
        midnight += timedelta(days=1)
    window = Window(asked.project_id, midnight, asked.end)
    dimension = dimension_of("observations", (), asked.conditions)
    places = [one for one in asked.conditions if one.column == "environment"]
    if places and (dimension or not _names_one(places)):
        dimension = None  # the traces of one environment are counted where nothing else is asked
    noted = noted_seq()
    if dimension is None or not noted or midnight >= asked.end:
        return _read(asked)
    counted = "environment" if places else dimension
    if counted not in DAY_KINDS or not is_worth(window, WORTH):
        return _read(asked)
    rows = _figures(window, noted, (dimension, counted), asked.conditions)
    if midnight > asked.start:
        rows += _read(_Asked(asked.project_id, asked.start, midnight, asked.conditions))
    return rows


def _names_one(places: Sequence[Condition]) -> bool:
    return len(places) == 1 and len(places[0].value) == 1


def _figures(
    window: Window, noted: int, kinds: tuple[str, str], conditions: Sequence[Condition]
) -> Rows:
    """Rows as `_read` gives them, of whole days but for the last."""
    dimension, counted = kinds
    clause, of_seen = (
        Named(*conditions_sql(conditions, columns_of("observations", name))) for name in kinds
    )
    sums = fetch_slow(
        f"WITH {spans_sql()}, facts AS ("
        f"SELECT slot, value, type, model, environment, {', '.join(_SUMMED)} {KEPT} UNION ALL"
        f" SELECT slot, value, type, model, environment, {', '.join(_SUMMED)}"
        f" FROM ({rows_sql('observations', (dimension,))}) r)"
        f" SELECT {_DAY}, f.model, {', '.join(f'coalesce(sum(f.{c}), 0)' for c in _SUMMED)},"
        f" grouping(f.model) FROM facts f WHERE {clause.sql}"
        " GROUP BY GROUPING SETS ((day, f.model), (day)) ORDER BY day DESC, f.model",
        window.values(noted, kind_of("observations", dimension)) | clause.values,
    )
    seen = fetch_slow(
        f"WITH {spans_sql()}, facts AS ("
        f"SELECT slot, value, type, model, n {KEPT} UNION ALL"
        f" SELECT slot, value, type, model, n FROM ({seen_sql((counted,))}) r)"
        f" SELECT {_DAY}, f.model, coalesce(f.type, '') = '{WHOLE}', sum(f.n)::bigint"
        f" FROM facts f WHERE {of_seen.sql} GROUP BY 1, 2, 3",
        window.values(noted, kind_of(DAY, counted)) | of_seen.values,
    )
    traces: Mapping[tuple[Any, ...], int] = {tuple(key): number for *key, number in seen}
    return [
        (day, model, number, traces.get((day, model, bool(is_whole)), 0), *rest, is_whole)
        for day, model, number, *rest, is_whole in sums
        if number
    ]


def _read(asked: _Asked) -> Rows:
    clause, values = conditions_sql(asked.conditions, OBSERVATION_COLUMNS)
    narrowed, ids = narrowing(
        asked.project_id, "observations", asked.conditions, asked.start, asked.end
    )
    return fetch_slow(
        f"{_ROWS} {narrowed}{clause} {_GROUPED}",
        [asked.project_id, asked.start, asked.end, *ids, *values],
        what=f"Figures by day from {stamp(asked.start)} to {stamp(asked.end)}"
        f" (over {PATIENCE_MS // 1000} s)",
        narrows="choose a later fromTimestamp, or one of the filters userId, traceName, tags and"
        " environment instead of several",
        field="fromTimestamp",
    )


def _bodies(rows: Rows) -> list[dict[str, Any]]:
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
