"""What the versions of a prompt did, counted from the observations that name them.

All of it runs over one index (prompts/migrations/0006), which holds only calls that name a prompt,
with all columns that are summed up here; each version's newest SAMPLE calls are looked at.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from hone.prompts.core.measures import ScoreFigure, VersionFigures
from hone.prompts.core.statistics import Mean
from hone.prompts.models import Prompt, PromptVersion
from hone.traces.selectors.query import fetch_slow

SAMPLE: Final = 20_000
MAX_VERSIONS: Final = 20
MAX_SCORES: Final = 30  # names of scores of a version
_CALLS: Final = """
    SELECT v.version, o.start_time, o.end_time, o.status, o.input_tokens, o.output_tokens,
        o.total_tokens, o.cost, o.trace_id, o.span_id
    FROM unnest(%(versions)s::text[]) AS v (version) CROSS JOIN LATERAL (
        SELECT start_time, end_time, status, input_tokens, output_tokens, total_tokens, cost,
            trace_id, span_id
        FROM traces_observation
        WHERE project_id = %(project)s AND prompt_name = %(name)s AND prompt_version = v.version
            AND start_time >= %(start)s AND start_time < %(end)s
        ORDER BY start_time DESC LIMIT %(sample)s
    ) o
"""
_FIGURES: Final = f"""
    SELECT version, count(*), count(*) FILTER (WHERE status = 'error'),
        min(start_time), max(start_time),
        count(s), avg(s), stddev_samp(s),
        percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY s),
        count(input_tokens), avg(input_tokens)::float8, stddev_samp(input_tokens)::float8,
        count(output_tokens), avg(output_tokens)::float8, stddev_samp(output_tokens)::float8,
        count(cost), avg(cost)::float8, stddev_samp(cost)::float8, sum(cost)::float8,
        count(*) FILTER (WHERE cost IS NULL AND total_tokens > 0)
    FROM (
        SELECT calls.*, CASE WHEN status <> 'error'
            THEN extract(epoch FROM end_time - start_time)::float8 END AS s
        FROM ({_CALLS}) calls
    ) timed
    GROUP BY version
"""
# A score of a trace counts once for a version, however often the trace called it.
_SCORES: Final = f"""
    WITH calls AS MATERIALIZED (
        SELECT version, encode(trace_id, 'hex') AS trace_id, encode(span_id, 'hex') AS span_id
        FROM ({_CALLS}) calls
    ), said AS (
        SELECT DISTINCT c.version, s.id, s.name, s.type, s.number
        FROM calls c JOIN traces_score s ON s.project_id = %(project)s
            AND s.trace_id = c.trace_id AND s.trace_id <> ''
            AND (s.observation_id = '' OR s.observation_id = c.span_id)
        WHERE s.number IS NOT NULL
    )
    SELECT version, name, type, count(*), avg(number), stddev_samp(number)
    FROM said GROUP BY version, name, type ORDER BY count(*) DESC, name
"""


def version_figures(
    prompt: Prompt, versions: Sequence[int], *, start: datetime, end: datetime
) -> list[VersionFigures]:
    """The figures of these versions in [start, end), newest version first."""
    numbers = sorted(versions, reverse=True)[:MAX_VERSIONS]
    values = {
        "project": prompt.project_id,
        "name": prompt.name,
        "versions": [str(number) for number in numbers],
        "start": start,
        "end": end,
        "sample": SAMPLE,
    }
    rows = {int(row[0]): row[1:] for row in fetch_slow(_FIGURES, values)}
    called = [str(number) for number in rows]
    scores = _scores(fetch_slow(_SCORES, values | {"versions": called})) if called else {}
    return [_figures(number, rows.get(number), scores.get(number, ())) for number in numbers]


def newest_versions(prompt: Prompt, number: int = MAX_VERSIONS) -> list[int]:
    """The numbers of the newest versions, newest first."""
    rows = PromptVersion.objects.filter(prompt=prompt).order_by("-number")
    return list(rows.values_list("number", flat=True)[:number])


def _scores(rows: Sequence[Sequence[Any]]) -> dict[int, tuple[ScoreFigure, ...]]:
    found: defaultdict[int, list[ScoreFigure]] = defaultdict(list)
    for version, name, kind, n, mean, deviation in rows:
        if len(found[int(version)]) < MAX_SCORES:
            found[int(version)].append(ScoreFigure(name, kind, Mean(n, mean, deviation)))
    return {version: tuple(figures) for version, figures in found.items()}


def _figures(
    version: int, row: Sequence[Any] | None, scores: tuple[ScoreFigure, ...]
) -> VersionFigures:
    calls, failures, first_at, latest_at, *rest = row or [0, 0, None, None, *[None] * 15]
    latency, percentiles, rest = _mean(rest[:3]), rest[3], rest[4:]
    return VersionFigures(
        version=version,
        calls=calls,
        is_cut=calls >= SAMPLE,
        failures=failures,
        first_at=first_at,
        latest_at=latest_at,
        latency_s=latency,
        latency_p50_s=percentiles[0] if percentiles else None,
        latency_p95_s=percentiles[1] if percentiles else None,
        input_tokens=_mean(rest[:3]),
        output_tokens=_mean(rest[3:6]),
        cost=_mean(rest[6:9]),
        cost_total=rest[9],
        unpriced=rest[10] or 0,
        scores=scores,
    )


def _mean(row: Sequence[Any]) -> Mean | None:
    n, mean, deviation = row
    return Mean(n, mean, deviation) if n else None
