"""Figures by hour (services/figures): which hours changed, and how traces that begin are counted.

All SQL here takes its values by name: `project`, and what each function says.
"""

from collections.abc import Mapping
from typing import Final

from hone.traces.selectors.query import fetch
from hone.traces.selectors.rows import DEFAULT_ENVIRONMENT

# The kinds that count traces by when they began, in quarters of an hour, for histograms: field of
# the filter -> its value or values. Their type is ok or error.
BEGUN: Final = "begun"
BEGUN_KINDS: Final[Mapping[str, str]] = {
    "name": "t.name",
    "model": "unnest(t.models)",
    "tag": "unnest(t.tags)",
    "environment": f"coalesce(t.environment, '{DEFAULT_ENVIRONMENT}')",
}
STATUS: Final = "CASE WHEN t.error_count > 0 THEN 'error' ELSE 'ok' END"


def kind_of(view: str, dimension: str) -> str:
    """The name under which figures stand."""
    return f"{view}.{dimension}" if dimension else view


def changed_sql(traces: str) -> str:
    """Projects and hours of the observations of `traces`, a condition on `traces_trace t`."""
    start = "date_bin('1 hour', t.started_at, 'epoch'::timestamptz)"
    return f"""
        SELECT DISTINCT t.project_id, h.slot FROM traces_trace t CROSS JOIN LATERAL (
            SELECT generate_series({start}, t.latest_start_at, '1 hour') AS slot
            WHERE t.latest_start_at - t.started_at < interval '2 days'
            UNION ALL
            SELECT DISTINCT date_bin('1 hour', o.start_time, 'epoch'::timestamptz)
            FROM traces_observation o WHERE o.project_id = t.project_id
                AND o.trace_id = t.trace_id
                AND o.start_time BETWEEN t.started_at AND t.latest_start_at
                AND t.latest_start_at - t.started_at >= interval '2 days'
        ) h WHERE {traces}
    """


def noted_seq() -> int:
    """Up to which number the hours of what changed are marked; 0: nothing is counted yet.

    Ask it before what reads figures: of a lower number too many hours are read, never too few.
    """
    [(seq,)] = fetch("SELECT coalesce(max(noted_seq), 0) FROM traces_figure_state", [])
    return int(seq)


def begun_sql() -> str:
    """How many traces began in each quarter of `spans` (lo, hi), by each value of each field."""
    kinds = " UNION ALL ".join(
        f"SELECT '{kind_of(BEGUN, field)}' AS kind, {value} AS value"
        for field, value in BEGUN_KINDS.items()
    )
    return f"""
        SELECT date_bin('15 minutes', t.started_at, 'epoch'::timestamptz) AS slot, k.kind, k.value,
            {STATUS} AS type, count(*) AS n
        FROM spans JOIN traces_trace t ON t.project_id = %(project)s
            AND t.started_at >= spans.lo AND t.started_at < spans.hi
        CROSS JOIN LATERAL ({kinds}) k GROUP BY 1, 2, 3, 4
    """
