"""Datasets and their items, now and as they were."""

from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Q, QuerySet

from hone.common.errors import NotFoundError
from hone.evals.models import Dataset, DatasetItem, DatasetRun


def datasets(project_id: int, *, q: str = "", folder: str = "") -> QuerySet[Dataset, Dataset]:
    """The project's datasets: `q` in the name, in a folder."""
    condition = Q(project_id=project_id)
    if q:
        condition &= Q(name__icontains=q)
    if folder:
        condition &= Q(name__startswith=folder.rstrip("/") + "/")
    return Dataset.objects.filter(condition)


def dataset_get(project_id: int, key: str) -> Dataset:
    """A dataset by its key; raises NotFoundError."""
    found = Dataset.objects.filter(project_id=project_id, key=key).first()
    if found is None:
        raise NotFoundError(f"There is no dataset {key!r}")
    return found


def dataset_named(project_id: int, name: str) -> Dataset | None:
    """A dataset by its name; None where there is none."""
    return Dataset.objects.filter(project_id=project_id, name=name).first()


def dataset_by_name(project_id: int, name: str) -> Dataset:
    """A dataset by its name; raises NotFoundError."""
    found = dataset_named(project_id, name)
    if found is None:
        raise NotFoundError(f"There is no dataset {name!r}")
    return found


def counts(project_id: int, keys: list[str]) -> dict[str, dict[str, Any]]:
    """Of each dataset by key: `items` that are active, `runs`, and when the latest began."""
    found: dict[str, dict[str, Any]] = {
        key: {"items": 0, "runs": 0, "latest_run_at": None} for key in keys
    }
    items = DatasetItem.objects.filter(
        project_id=project_id, dataset__key__in=keys, valid_to=None, status="ACTIVE"
    )
    for key, number in items.values_list("dataset__key").annotate(Count("id")):
        found[key]["items"] = number
    runs = DatasetRun.objects.filter(project_id=project_id, dataset_key__in=keys)
    for key, number, latest in runs.values_list("dataset_key").annotate(
        Count("id"), Max("started_at")
    ):
        found[key] |= {"runs": number, "latest_run_at": latest}
    return found


def items(
    project_id: int,
    *,
    dataset: Dataset | None = None,
    at: datetime | None = None,
    status: str | None = None,
    q: str = "",
    source_trace_id: str = "",
    source_observation_id: str = "",
) -> QuerySet[DatasetItem, DatasetItem]:
    """Items as they are, or as they were `at` a moment, with their datasets fetched."""
    condition = Q(project_id=project_id)
    if at is None:
        condition &= Q(valid_to=None)
    else:
        condition &= Q(valid_from__lte=at) & (Q(valid_to=None) | Q(valid_to__gt=at))
    given = {
        "dataset": dataset,
        "status": status,
        "source_trace_id": source_trace_id,
        "source_observation_id": source_observation_id,
    }
    condition &= Q(**{field: value for field, value in given.items() if value})
    if q:
        text = {"input__icontains": q, "expected_output__icontains": q, "key": q}
        condition &= Q(*text.items(), _connector=Q.OR)
    return DatasetItem.objects.filter(condition).select_related("dataset")


def item_get(project_id: int, key: str) -> DatasetItem:
    """An item as it is; raises NotFoundError."""
    found = items(project_id).filter(key=key).first()
    if found is None:
        raise NotFoundError(f"There is no dataset item {key!r}")
    return found
