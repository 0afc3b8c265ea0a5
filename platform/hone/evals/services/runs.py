"""Runs and their executions, as the API tells of them."""

from datetime import datetime
from typing import Any

from django.db import transaction

from hone.accounts.models import Project
from hone.common import clock
from hone.common.errors import InvalidError
from hone.evals.core.experiment import execution_key, run_key
from hone.evals.core.names import key_clean
from hone.evals.models import DatasetRun, DatasetRunItem
from hone.evals.selectors.datasets import item_get
from hone.evals.selectors.runs import run_get
from hone.traces.core.ids import span_key, trace_key
from hone.traces.services.scores import run_scores_delete


@transaction.atomic
def run_item_create(
    *,
    project: Project,
    run_name: str,
    item_key: str,
    trace_id: str | None,
    observation_id: str | None = None,
    description: str | None = None,
    metadata: Any = None,
    item_version: datetime | None = None,
    created_at: datetime | None = None,
) -> DatasetRunItem:
    """Note an execution; the first one makes the run. A repeat changes nothing.

    Raises NotFoundError for an unknown item, InvalidError without a trace.
    """
    if not trace_id:
        raise InvalidError("traceId: an execution has a trace", field="traceId")
    item = item_get(project.pk, item_key)
    now = clock.now()
    at = created_at or now
    run, is_new = DatasetRun.objects.get_or_create(
        project=project,
        key=run_key(project.slug, item.dataset.key, key_clean(run_name, "runName")),
        defaults={
            "dataset_key": item.dataset.key,
            "name": run_name,
            "description": description or "",
            "metadata": metadata,
            "started_at": at,
            "ended_at": at,
            "created_at": now,
            "updated_at": now,
        },
    )
    if not is_new and (description or metadata is not None):
        run.description = description or run.description
        run.metadata = run.metadata if metadata is None else metadata
        run.updated_at = now
        run.save(update_fields=["description", "metadata", "updated_at"])
    trace = trace_key(trace_id)
    observation = span_key(observation_id) if observation_id else ""
    made, _ = DatasetRunItem.objects.get_or_create(
        run=run,
        key=execution_key(run.key, item.key, trace, observation),
        defaults={
            "item_key": item.key,
            "trace_id": trace,
            "observation_id": observation,
            "item_version": item_version,
            "started_at": at,
            "created_at": now,
            "updated_at": now,
        },
    )
    return made


@transaction.atomic
def run_delete(*, project_id: int, key: str) -> None:
    """Delete a run with its executions and its own scores; traces stay."""
    run = run_get(project_id, key)
    run_scores_delete(project_id=project_id, run_key=run.key)
    run.delete()
