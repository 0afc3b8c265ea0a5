"""Calls of a version, newest first, and the trend of every prompt in a list."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hone.prompts.models import Prompt
from hone.traces.core.preview import preview
from hone.traces.selectors.public.figures import prompt_counts
from hone.traces.selectors.query import fetch_slow
from hone.traces.selectors.rows import milliseconds

_PREVIEWED: Final = 20_000  # characters of a payload that are looked at for its one line
MAX_TRENDS: Final = 2000  # prompts
MAX_SCORED: Final = 20_000  # newest scores that are looked at for trends
_NEWEST: Final = """
    SELECT o.span_id, o.trace_id, o.start_time, o.end_time, o.status, o.status_message, o.model,
        left(o.input, %(previewed)s), left(o.output, %(previewed)s)
    FROM traces_observation o
    WHERE o.project_id = %(project)s AND o.prompt_name = %(name)s
        AND o.prompt_version = %(version)s AND (NOT %(failed)s OR o.status = 'error')
        AND o.start_time >= %(start)s AND o.start_time < %(end)s
    ORDER BY o.start_time DESC LIMIT %(limit)s
"""
_COUNTS: Final = """
    SELECT prompt_name, width_bucket(start_time, %(edges)s::timestamptz[]) - 1, count(*)
    FROM traces_observation
    WHERE project_id = %(project)s AND prompt_name IS NOT NULL
        AND start_time >= %(start)s AND start_time < %(end)s
    GROUP BY 1, 2 LIMIT %(limit)s
"""
# A score of a trace is one of every prompt that the trace's summary names (NAME@VERSION); one of an
# observation is found by its key. The trace's own times leave all other partitions alone.
_SCORED: Final = """
    WITH said AS (
        SELECT name, number, timestamp, trace_id, observation_id FROM traces_score
        WHERE project_id = %(project)s AND timestamp >= %(start)s AND timestamp < %(end)s
            AND number IS NOT NULL AND trace_id ~ '^[0-9a-f]{32}$'
        ORDER BY timestamp DESC, id DESC LIMIT %(limit)s
    )
    SELECT o.prompt_name, s.name, width_bucket(s.timestamp, %(edges)s::timestamptz[]) - 1,
        count(*), avg(s.number)
    FROM said s CROSS JOIN LATERAL (
        SELECT prompts, started_at, latest_start_at FROM traces_trace
        WHERE project_id = %(project)s AND trace_id = decode(s.trace_id, 'hex')
            AND latest_start_at >= %(begin)s AND started_at < %(end)s OFFSET 0
    ) t CROSS JOIN LATERAL (
        SELECT DISTINCT regexp_replace(prompt, '@[^@]*$', '') AS prompt_name
        FROM unnest(t.prompts) prompt WHERE s.observation_id = ''
        UNION ALL
        SELECT prompt_name FROM traces_observation
        WHERE project_id = %(project)s AND trace_id = decode(s.trace_id, 'hex')
            AND span_id = CASE WHEN s.observation_id ~ '^[0-9a-f]{16}$'
                THEN decode(s.observation_id, 'hex') END
            AND start_time BETWEEN t.started_at AND t.latest_start_at
            AND coalesce(prompt_name, '') <> ''
    ) o
    GROUP BY 1, 2, 3
"""


@dataclass(frozen=True, slots=True)
class PromptCall:
    """One call of a version."""

    id: str
    trace_id: str
    started_at: datetime
    duration_ms: float | None
    status: str
    status_message: str | None
    model: str | None
    input_preview: str | None
    output_preview: str | None


@dataclass(frozen=True, slots=True)
class Trend:
    """A prompt over equal steps of time; `scores` are means of its commonest score."""

    calls: list[int]
    score: str | None
    scores: list[float | None]
    num_scores: int


def version_calls(
    prompt: Prompt,
    version: int,
    *,
    start: datetime,
    end: datetime,
    failed: bool = False,
    limit: int = 5,
) -> list[PromptCall]:
    """The newest calls of a version that started in [start, end), or those that failed."""
    rows = fetch_slow(
        _NEWEST,
        {
            "project": prompt.project_id,
            "name": prompt.name,
            "version": str(version),
            "failed": failed,
            "start": start,
            "end": end,
            "limit": limit,
            "previewed": _PREVIEWED,
        },
    )
    return [_call(row) for row in rows]


def _call(row: Sequence[Any]) -> PromptCall:
    span_id, trace_id, start, end, status, message, model, given, answer = row
    return PromptCall(
        id=bytes(span_id).hex(),
        trace_id=bytes(trace_id).hex(),
        started_at=start,
        duration_ms=milliseconds(start, end),
        status=status,
        status_message=message,
        model=model,
        input_preview=preview(given, of_input=True),
        output_preview=preview(answer, of_input=False),
    )


def prompt_trends(project_id: int, *, edges: Sequence[datetime]) -> dict[str, Trend]:
    """By name, what each prompt did between the edges, of which there is one more than steps."""
    steps = len(edges) - 1
    values = {
        "project": project_id,
        "edges": list(edges),
        "start": edges[0],
        "begin": edges[0] - (edges[-1] - edges[0]),  # a trace is scored after it began
        "end": edges[-1],
    }
    calls: defaultdict[str, list[int]] = defaultdict(lambda: [0] * steps)
    rows = prompt_counts(project_id, edges)
    if rows is None:
        rows = fetch_slow(_COUNTS, values | {"limit": MAX_TRENDS * steps})
    for name, step, count in rows[: MAX_TRENDS * steps]:
        calls[name][step] = count
    scored = _scored(fetch_slow(_SCORED, values | {"limit": MAX_SCORED}), steps)
    nothing: tuple[None, list[float | None], int] = (None, [None] * steps, 0)
    return {name: Trend(calls[name], *scored.get(name, nothing)) for name in [*calls, *scored]}


def _scored(
    rows: Sequence[Sequence[Any]], steps: int
) -> dict[str, tuple[str, list[float | None], int]]:
    """The commonest score of each prompt: its name, its means step by step, how many there are."""
    means: defaultdict[tuple[str, str], list[float | None]] = defaultdict(lambda: [None] * steps)
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for prompt, score, step, count, mean in rows:
        means[prompt, score][step] = mean
        counts[prompt, score] += count
    best: dict[str, tuple[str, list[float | None], int]] = {}
    for (prompt, score), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        best.setdefault(prompt, (score, means[prompt, score], count))
    return best
