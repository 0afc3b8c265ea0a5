"""A question about figures, as programs ask it: read and checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from hone.common.errors import InvalidError

AGGREGATIONS: Final = frozenset(
    {"sum", "avg", "count", "max", "min", "uniq", "p50", "p75", "p90", "p95", "p99", "histogram"}
)
GRANULARITIES: Final = ("auto", "minute", "hour", "day", "week", "month")
MAX_ROWS: Final = 1000
_BUCKETS: Final = 50  # that `auto` aims at
_LENGTHS: Final = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=30),
}


@dataclass(frozen=True, slots=True)
class Metric:
    measure: str
    aggregation: str

    @property
    def name(self) -> str:
        """Its key in a row of the answer."""
        return f"{self.aggregation}_{self.measure}"


@dataclass(frozen=True, slots=True)
class Order:
    field: str
    descends: bool


@dataclass(frozen=True, slots=True)
class MetricsQuery:
    """Metrics of a view by dimensions and by time, over [start, end)."""

    view: str
    dimensions: tuple[str, ...]
    metrics: tuple[Metric, ...]
    start: datetime
    end: datetime
    granularity: str | None = None  # never `auto`
    order: tuple[Order, ...] = ()
    bins: int = 10
    row_limit: int = 100


def metrics_query(data: Any, start: datetime, end: datetime) -> MetricsQuery:
    """The question that `data` asks of the time from `start` to `end`; raises InvalidError."""
    metrics = tuple(_metric(entry) for entry in _list(data, "metrics"))
    if not metrics:
        raise InvalidError("metrics: want at least one", field="metrics")
    if start >= end:
        raise InvalidError("fromTimestamp: must be earlier than toTimestamp", field="fromTimestamp")
    config = data.get("config") or {}
    return MetricsQuery(
        view=str(data.get("view")),
        dimensions=tuple(_field(entry, "dimensions") for entry in _list(data, "dimensions")),
        metrics=metrics,
        start=start,
        end=end,
        granularity=_granularity(data.get("timeDimension"), end - start),
        order=tuple(_order(entry) for entry in _list(data, "orderBy")),
        bins=_whole(config, "bins", 10, 100),
        row_limit=_whole(config, "row_limit", 100, MAX_ROWS),
    )


def _list(data: dict[str, Any], name: str) -> Sequence[Any]:
    value = data.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > 20:
        raise InvalidError(f"{name}: want a list of at most 20", field=name)
    return value


def _field(entry: Any, name: str) -> str:
    field = entry.get("field") if isinstance(entry, dict) else None
    if not isinstance(field, str):
        raise InvalidError(f"{name}: want objects with a field", field=name)
    return field


def _metric(entry: Any) -> Metric:
    measure = entry.get("measure") if isinstance(entry, dict) else None
    aggregation = (entry.get("aggregation") or entry.get("agg")) if measure else None
    if not isinstance(measure, str) or aggregation not in AGGREGATIONS:
        raise InvalidError(
            f"metrics: want a measure and an aggregation of {', '.join(sorted(AGGREGATIONS))}",
            field="metrics",
        )
    return Metric(measure, aggregation)


def _order(entry: Any) -> Order:
    direction = entry.get("direction", "asc") if isinstance(entry, dict) else None
    if direction not in ("asc", "desc"):
        raise InvalidError("orderBy: want field and direction asc or desc", field="orderBy")
    return Order(_field(entry, "orderBy"), direction == "desc")


def _granularity(given: Any, window: timedelta) -> str | None:
    if given is None:
        return None
    name = given.get("granularity", "auto") if isinstance(given, dict) else None
    if name not in GRANULARITIES:
        raise InvalidError(
            f"timeDimension: want a granularity of {', '.join(GRANULARITIES)}",
            field="timeDimension",
        )
    if name != "auto":
        return str(name)
    distances = {name: abs(window / length - _BUCKETS) for name, length in _LENGTHS.items()}
    return min(distances, key=lambda name: distances[name])


def _whole(config: Any, name: str, default: int, maximum: int) -> int:
    value = config.get(name, default) if isinstance(config, dict) else None
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= maximum:
        raise InvalidError(f"config.{name}: want 1 to {maximum}", field="config")
    return value
