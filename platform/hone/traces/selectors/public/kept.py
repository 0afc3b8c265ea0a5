"""What the figures by hour are: shared by the job that counts (services/figures) and the reads.

All SQL here takes its values by name: `project`, and what each function says.
"""

from collections.abc import Mapping
from typing import Final

from hone.traces.core.rollup import GROWTH
from hone.traces.selectors.hours import kind_of
from hone.traces.selectors.public.columns import IS_SENT
from hone.traces.selectors.public.views import OBSERVATIONS, TRACES, View

SUMMED: Final = (
    "n", "observations", "latency_us", "n_input", "input_tokens", "n_output", "output_tokens",
    "n_total", "total_tokens", "n_cost", "cost",
)  # fmt: skip
# View -> the dimensions that have figures of their own, with that of none.
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "observations": ("", "traceName", "name", "tags", "release", "version", "promptName"),
    "traces": ("", "name", "tags", "release", "version"),
}
_VIEWS: Final[Mapping[str, View]] = {"observations": OBSERVATIONS, "traces": TRACES}
DAY: Final = "day"  # the kinds that count the traces of a day, each where it is seen first
DAY_KINDS: Final[Mapping[str, str]] = {
    "": "NULL::text",
    "traceName": "p.name",
    "environment": "p.environment",
    "tags": "unnest(CASE WHEN cardinality(p.tags) > 0 THEN p.tags ELSE ARRAY[NULL::text] END)",
}
WHOLE: Final = "*"  # type of a row of a day that counts traces whatever their models
_US: Final = "(extract(epoch FROM {0}) * 1000000)::bigint"
_OBSERVATION: Final = f"""
    o.type, o.model, {OBSERVATIONS.dimensions["environment"]} AS environment,
    1 AS observations, {_US.format("o.end_time - o.start_time")} AS latency_us,
    (o.input_tokens IS NOT NULL)::int AS n_input, o.input_tokens,
    (o.output_tokens IS NOT NULL)::int AS n_output, o.output_tokens,
    (o.total_tokens IS NOT NULL)::int AS n_total, o.total_tokens,
    (o.cost IS NOT NULL)::int AS n_cost, o.cost
"""
_TRACE: Final = f"""
    NULL::text AS type, NULL::text AS model, {TRACES.dimensions["environment"]} AS environment,
    t.observation_count AS observations, {_US.format("t.ended_at - t.started_at")} AS latency_us,
    1 AS n_input, t.input_tokens, 1 AS n_output, t.output_tokens, 1 AS n_total, t.total_tokens,
    (t.cost IS NOT NULL)::int AS n_cost, t.cost
"""
# OFFSET 0: a look-up of the trace for each, as there are few, whatever the planner believes.
_OBSERVATIONS: Final = f"""
    traces_observation o CROSS JOIN LATERAL (
        SELECT trace_id, started_at, name, tags, environment, release, version FROM traces_trace t
        WHERE t.project_id = o.project_id AND t.trace_id = o.trace_id OFFSET 0
    ) t WHERE o.project_id = %(project)s AND {IS_SENT}
"""
_SCOPES: Final = {
    "observations": _OBSERVATIONS,
    "traces": TRACES.scope.replace("%s", "%(project)s"),
}
_COLUMNS: Final[Mapping[str, str]] = {"observations": _OBSERVATION, "traces": _TRACE}


def rows_sql(view: str, dimensions: tuple[str, ...]) -> str:
    """A row for each observation or trace that began in `spans` (lo, hi), and each dimension, in
    the columns of the figures, the bucket of its latency last."""
    shown = _VIEWS[view]
    values = [
        f"{_value(shown, dimension)} AS v{number}" for number, dimension in enumerate(dimensions)
    ]
    picked = []
    for number, dimension in enumerate(dimensions):
        value = f"f.v{number}"
        if dimension in shown.lists:
            value = f"unnest(CASE WHEN cardinality({value}) > 0 THEN {value}"
            value += " ELSE ARRAY[NULL::text] END)"
        picked.append(f"SELECT '{kind_of(view, dimension)}' AS kind, {value} AS value")
    sums = ", ".join(f"f.{name}" for name in SUMMED[1:])
    return f"""
        SELECT date_bin('1 hour', f.at, 'epoch'::timestamptz) AS slot, k.kind, k.value, f.type,
            f.model, f.environment, 1 AS n, {sums},
            floor(ln(greatest(f.latency_us, 1)) / ln({GROWTH}))::smallint AS bucket
        FROM spans CROSS JOIN LATERAL (
            SELECT {shown.time} AS at, {_COLUMNS[view]}, {", ".join(values)}
            FROM {_SCOPES[view]} AND {shown.time} >= spans.lo AND {shown.time} < spans.hi OFFSET 0
        ) f CROSS JOIN LATERAL ({" UNION ALL ".join(picked)}) k
    """


def _value(view: View, dimension: str) -> str:
    return view.dimensions[dimension] if dimension else "NULL::text"


def seen_sql(dimensions: tuple[str, ...]) -> str:
    """For each of `spans` (lo, hi; within an hour) how many traces are seen in it for the first
    time of the day (UTC): of each model, and (type WHOLE) whatever the model."""
    environment = OBSERVATIONS.dimensions["environment"]
    kinds = " UNION ALL ".join(
        f"SELECT '{kind_of(DAY, dimension)}' AS kind, {DAY_KINDS[dimension]} AS value"
        for dimension in dimensions
    )
    day = "date_trunc('day', spans.lo AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
    return f"""
        SELECT s.slot, s.kind, s.value, s.type, s.model, count(*) AS n FROM (
            SELECT DISTINCT date_bin('1 hour', spans.lo, 'epoch'::timestamptz) AS slot,
                spans.lo, p.trace_id, p.started_at, k.kind, k.value, m.type, m.model
            FROM spans CROSS JOIN LATERAL (
                SELECT DISTINCT o.trace_id, t.started_at, t.name, t.tags, o.model,
                    {environment} AS environment
                FROM {_OBSERVATIONS}
                    AND o.start_time >= spans.lo AND o.start_time < spans.hi OFFSET 0
            ) p CROSS JOIN LATERAL (VALUES (NULL::text, p.model), ('{WHOLE}', NULL)) m (type, model)
            CROSS JOIN LATERAL ({kinds}) k
        ) s CROSS JOIN LATERAL (SELECT {day.replace("spans.", "s.")} AS day) d
        WHERE s.started_at >= s.lo OR NOT EXISTS (
            SELECT FROM traces_observation o JOIN traces_trace t
                ON t.project_id = o.project_id AND t.trace_id = o.trace_id
            WHERE o.project_id = %(project)s AND o.trace_id = s.trace_id AND {IS_SENT}
                AND o.start_time >= d.day AND o.start_time < s.lo
                AND (s.type IS NOT NULL OR o.model IS NOT DISTINCT FROM s.model)
                AND (s.kind <> '{kind_of(DAY, "environment")}' OR {environment} = s.value)
        )
        GROUP BY s.slot, s.kind, s.value, s.type, s.model
    """
