"""What the rollups of observations hold, shared by the job that writes and the reads."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

HOUR: Final = timedelta(hours=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

GROWTH: Final = 1.04  # of the buckets of latencies: the middle of one is at most 2 % off
PLACE: Final = "environment"
DIMENSIONS: Final = ("type", "level", "model", PLACE)
# Measure of the public API -> column of its sum and of how many have a value. Latency in us.
SUMS: Final[Mapping[str, tuple[str, str]]] = {
    "latency": ("latency_us", "n"),
    "inputTokens": ("input_tokens", "n_input"),
    "outputTokens": ("output_tokens", "n_output"),
    "totalTokens": ("total_tokens", "n_total"),
    "totalCost": ("cost", "n_cost"),
}
MOST: Final = 200  # characters of a dimension that are kept


def hour_at(moment: datetime) -> datetime:
    """The beginning of the hour."""
    return _EPOCH + (moment - _EPOCH) // HOUR * HOUR


def facts_sql(source: str, sign: str, environment: str = "environment") -> str:
    """Rows of `source` (observations or what was taken out of them) in the rollup's columns.

    `sign` counts each as 1 or -1; a missing text is ''.
    """
    us = "(extract(epoch FROM end_time - start_time) * 1000000)::bigint"
    shown = {**{name: name for name in DIMENSIONS}, PLACE: environment}
    texts = ", ".join(
        f"left(coalesce({expression}, ''), {MOST}) AS {name}" for name, expression in shown.items()
    )
    values = ", ".join(
        f"{sign} * ({column} IS NOT NULL)::int AS {count},"
        f" {sign} * coalesce({column}, 0)::numeric AS {column}"
        for column, count in list(SUMS.values())[1:]
    )
    return (
        f"SELECT project_id, date_bin('1 hour', start_time, 'epoch'::timestamptz) AS slot, {texts},"
        f" {sign} AS n, {sign} * {us}::numeric AS latency_us, {values},"
        f" floor(ln(greatest({us}, 1)) / ln({GROWTH}))::smallint AS bucket FROM {source}"
    )
