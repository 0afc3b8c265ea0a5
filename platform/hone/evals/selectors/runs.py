"""Runs and their executions."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from hone.common.errors import NotFoundError
from hone.evals.models import DatasetRun, DatasetRunItem


def runs(
    project_id: int,
    *,
    dataset_keys: Collection[str] = (),
    keys: Collection[str] = (),
    names: Collection[str] = (),
    start: datetime | None = None,
    end: datetime | None = None,
) -> QuerySet[DatasetRun, DatasetRun]:
    """The project's runs; `item_count` counts items that were run, however often."""
    condition = Q(project_id=project_id)
    for field, given in (("dataset_key", dataset_keys), ("key", keys), ("name", names)):
        if given:
            condition &= Q(**{f"{field}__in": list(given)})
    if start:
        condition &= Q(started_at__gte=start)
    if end:
        condition &= Q(started_at__lt=end)
    return DatasetRun.objects.filter(condition).annotate(
        item_count=Count("items__item_key", distinct=True)
    )


def run_get(project_id: int, key: str) -> DatasetRun:
    """A run by its key; raises NotFoundError."""
    found = runs(project_id, keys=[key]).first()
    if found is None:
        raise NotFoundError(f"There is no run {key!r}")
    return found


def run_named(project_id: int, dataset_key: str, name: str) -> DatasetRun:
    """The newest run of that name over a dataset; raises NotFoundError."""
    found = runs(project_id, dataset_keys=[dataset_key], names=[name]).order_by("-id").first()
    if found is None:
        raise NotFoundError(f"There is no run {name!r} of this dataset")
    return found


def run_items(
    project_id: int,
    *,
    run_keys: Collection[str] = (),
    run_names: Collection[str] = (),
    item_keys: Collection[str] = (),
    dataset_keys: Collection[str] = (),
    start: datetime | None = None,
    end: datetime | None = None,
) -> QuerySet[DatasetRunItem, DatasetRunItem]:
    """Executions, with their runs fetched."""
    condition = Q(run__project_id=project_id)
    for field, given in (
        ("run__key", run_keys),
        ("run__name", run_names),
        ("item_key", item_keys),
        ("run__dataset_key", dataset_keys),
    ):
        if given:
            condition &= Q(**{f"{field}__in": list(given)})
    if start:
        condition &= Q(started_at__gte=start)
    if end:
        condition &= Q(started_at__lt=end)
    return DatasetRunItem.objects.filter(condition).select_related("run")


def items_of_runs(project_id: int, run_keys: Collection[str]) -> list[tuple[str, str, str, str]]:
    """(run, item, trace id, observation id) of every execution, in order of start."""
    rows = run_items(project_id, run_keys=run_keys).order_by("started_at", "id")
    return list(rows.values_list("run__key", "item_key", "trace_id", "observation_id"))
