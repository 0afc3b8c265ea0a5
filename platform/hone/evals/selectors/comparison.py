"""Runs side by side: what each comes to, and its answers item by item."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from hone.evals.models import DatasetItem, DatasetRun
from hone.evals.selectors.executions import Execution, execution_scores, executions_of
from hone.evals.selectors.runs import run_items
from hone.traces.models import Score
from hone.traces.selectors import TraceRow, traces_by_ids
from hone.traces.selectors.named import times_named
from hone.traces.selectors.scores import ScoreMean, scores_of_runs, scores_of_traces


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in figures."""

    run: DatasetRun
    num_items: int
    num_executions: int
    num_errors: int
    duration_ms: float | None  # median
    cost: float | None  # USD, of the traces whose cost is known
    num_unpriced: int  # executions whose cost is not known as a whole
    scores: list[ScoreMean]  # of the executions
    run_scores: list[ScoreMean]  # of the run as a whole


@dataclass(frozen=True, slots=True)
class Row:
    """An item with its executions in each of the compared runs."""

    item: DatasetItem
    executions: dict[str, list[Execution]]  # by key of the run


def means(scores: Iterable[Score]) -> list[ScoreMean]:
    """What scores come to, by name and type."""
    groups: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        if score.type != "CORRECTION":
            groups.setdefault((score.name, score.type), []).append(score)
    return [_mean(name, kind, group) for (name, kind), group in sorted(groups.items())]


def _mean(name: str, kind: str, group: Sequence[Score]) -> ScoreMean:
    if kind in ("NUMERIC", "BOOLEAN"):
        mean = fmean(score.number or 0.0 for score in group)
        return ScoreMean(name, kind, len(group), mean=mean)
    texts = [score.text for score in group]
    return ScoreMean(name, kind, len(group), label=max(sorted(set(texts)), key=texts.count))


def summaries(project_id: int, runs: Sequence[DatasetRun]) -> list[RunSummary]:
    """The runs in figures, in their order; payloads are not looked at."""
    rows = list(run_items(project_id, run_keys=[run.key for run in runs])) if runs else []
    trace_ids = list({row.trace_id for row in rows})
    traces = {trace.id: trace for trace in traces_by_ids(project_id, trace_ids)}
    times = times_named(project_id, {(row.trace_id, row.observation_id) for row in rows})
    scores = scores_of_traces(project_id, trace_ids)
    own = scores_of_runs(project_id, [run.key for run in runs])
    by_run: dict[str, list[_Figures]] = {run.key: [] for run in runs}
    for row in rows:
        said = execution_scores(row, scores.get(row.trace_id, []))
        time = times.get((row.trace_id, row.observation_id))
        by_run[row.run.key].append(_Figures(row.item_key, traces.get(row.trace_id), time, said))
    return [_summary(run, by_run[run.key], own[run.key]) for run in runs]


@dataclass(frozen=True, slots=True)
class _Figures:
    """An execution as far as sums go."""

    item_key: str
    trace: TraceRow | None
    time: tuple[float, str] | None  # ms and level of its root
    scores: Sequence[Score]

    @property
    def duration_ms(self) -> float | None:
        return self.time[0] if self.time else self.trace.duration_ms if self.trace else None

    @property
    def is_error(self) -> bool:
        return self.time[1] == "ERROR" if self.time else bool(self.trace and self.trace.error_count)


def _summary(run: DatasetRun, found: Sequence[_Figures], own: Sequence[Score]) -> RunSummary:
    durations = [e.duration_ms for e in found if e.duration_ms is not None]
    costs = [float(e.trace.cost) for e in found if e.trace and e.trace.cost is not None]
    return RunSummary(
        run=run,
        num_items=len({execution.item_key for execution in found}),
        num_executions=len(found),
        num_errors=sum(execution.is_error for execution in found),
        duration_ms=median(durations) if durations else None,
        cost=sum(costs) if costs else None,
        num_unpriced=sum(1 for e in found if not e.trace or e.trace.unpriced_count),
        scores=means(score for execution in found for score in execution.scores),
        run_scores=means(own),
    )


def rows_compared(
    project_id: int, items: Sequence[DatasetItem], runs: Sequence[DatasetRun]
) -> list[Row]:
    """The items with their executions in each run."""
    found = run_items(
        project_id, run_keys=[run.key for run in runs], item_keys=[item.key for item in items]
    )
    rows = {item.key: Row(item, {run.key: [] for run in runs}) for item in items}
    if not runs or not items:
        return list(rows.values())
    for execution in executions_of(project_id, list(found.order_by("started_at", "id"))):
        rows[execution.row.item_key].executions[execution.row.run.key].append(execution)
    return list(rows.values())
