"""Executions with what their traces say: input, output, time, cost and scores."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hone.evals.models import DatasetItem, DatasetRunItem
from hone.traces.models import Score
from hone.traces.selectors import trace_detail, traces_by_ids
from hone.traces.selectors.named import observations_named
from hone.traces.selectors.rows import DEFAULT_ENVIRONMENT, TraceRow
from hone.traces.selectors.scores import scores_of_traces


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution; what has not arrived (yet) is None."""

    row: DatasetRunItem
    item: DatasetItem | None  # of a dataset, as it is now
    trace: TraceRow | None
    started_at: datetime
    ended_at: datetime | None
    level: str
    environment: str
    input: Any
    output: Any
    metadata: dict[str, Any]
    duration_ms: float | None
    scores: list[Score] = field(default_factory=list)

    @property
    def expected_output(self) -> Any:
        """As the execution was told, else as its item has it."""
        if self.row.expected_output is not None or self.item is None:
            return self.row.expected_output
        return self.item.expected_output

    @property
    def item_metadata(self) -> Any:
        if self.row.item_metadata is not None or self.item is None:
            return self.row.item_metadata
        return self.item.metadata


def executions_of(
    project_id: int, rows: Sequence[DatasetRunItem], *, with_scores: bool = True
) -> list[Execution]:
    """The executions of these rows, in their order; a handful of queries for all of them."""
    trace_ids = list({row.trace_id for row in rows})
    traces = {trace.id: trace for trace in traces_by_ids(project_id, trace_ids)}
    found = observations_named(project_id, {(row.trace_id, row.observation_id) for row in rows})
    keys = {row.item_key for row in rows}
    items = {
        item.key: item
        for item in DatasetItem.objects.filter(
            project_id=project_id, key__in=keys, valid_to=None
        ).select_related("dataset")
    }
    scores = scores_of_traces(project_id, trace_ids) if with_scores else {}
    return [
        _execution(project_id, row, items.get(row.item_key), traces, found, scores) for row in rows
    ]


def _execution(
    project_id: int,
    row: DatasetRunItem,
    item: DatasetItem | None,
    traces: dict[str, TraceRow],
    found: dict[tuple[str, str], Any],
    scores: dict[str, list[Score]],
) -> Execution:
    trace = traces.get(row.trace_id)
    root = found.get((row.trace_id, row.observation_id))
    told: dict[str, Any] = {"input": None, "output": None, "metadata": {}}
    if root is not None:
        told = {"input": root.input, "output": root.output, "metadata": root.metadata}
    elif trace is not None and not row.observation_id:
        # Older clients name the trace alone, which then speaks for itself.
        detail = trace_detail(project_id, row.trace_id, limit=1)
        if detail is not None:
            told = {"input": detail.input, "output": detail.output, "metadata": detail.metadata}
    return Execution(
        row=row,
        item=item,
        trace=trace,
        started_at=root.started_at if root else trace.started_at if trace else row.started_at,
        ended_at=root.ended_at if root else None,
        level=root.level if root else "ERROR" if trace and trace.error_count else "DEFAULT",
        environment=trace.environment if trace else DEFAULT_ENVIRONMENT,
        duration_ms=root.duration_ms if root else trace.duration_ms if trace else None,
        scores=execution_scores(row, scores.get(row.trace_id, [])),
        **told,
    )


def execution_scores(row: DatasetRunItem, found: Sequence[Score]) -> list[Score]:
    """Scores of the execution: of its root, or of its trace as a whole."""
    return [score for score in found if score.observation_id in ("", row.observation_id)]
