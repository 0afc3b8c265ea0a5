"""Rows as the JSON of our own API."""

from typing import Any

from hone.evals.models import Dataset, DatasetItem
from hone.evals.selectors.comparison import Row, RunSummary
from hone.evals.selectors.executions import Execution
from hone.traces.api.score_views import score_row


def dataset_row(dataset: Dataset, counted: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": dataset.key,
        "name": dataset.name,
        "description": dataset.description,
        "metadata": dataset.metadata,
        "input_schema": dataset.input_schema,
        "output_schema": dataset.output_schema,
        "item_count": counted["items"],
        "run_count": counted["runs"],
        "latest_run_at": counted["latest_run_at"],
        "created_at": dataset.created_at,
        "updated_at": dataset.updated_at,
    }


def item_row(item: DatasetItem) -> dict[str, Any]:
    return {
        "id": item.key,
        "status": item.status,
        "input": item.input,
        "expected_output": item.expected_output,
        "metadata": item.metadata,
        "source_trace_id": item.source_trace_id or None,
        "source_observation_id": item.source_observation_id or None,
        "created_at": item.created_at,
        "updated_at": item.valid_from,
    }


def run_row(found: RunSummary) -> dict[str, Any]:
    return {
        "id": found.run.key,
        "name": found.run.name,
        "description": found.run.description,
        "metadata": found.run.metadata,
        "started_at": found.run.started_at,
        "item_count": found.num_items,
        "execution_count": found.num_executions,
        "error_count": found.num_errors,
        "duration_ms": found.duration_ms,
        "cost": found.cost,
        "unpriced_count": found.num_unpriced,
        "scores": found.scores,
        "run_scores": found.run_scores,
    }


def execution_row(found: Execution) -> dict[str, Any]:
    return {
        "trace_id": found.row.trace_id,
        "observation_id": found.row.observation_id or None,
        "has_trace": found.trace is not None,
        "level": found.level,
        "output": found.output,
        "duration_ms": found.duration_ms,
        "cost": found.trace.cost if found.trace else None,
        "scores": [score_row(score) for score in found.scores],
    }


def compared_row(row: Row) -> dict[str, Any]:
    return {
        "item": item_row(row.item),
        "runs": [
            {"run": key, "executions": [execution_row(one) for one in found]}
            for key, found in row.executions.items()
        ],
    }
