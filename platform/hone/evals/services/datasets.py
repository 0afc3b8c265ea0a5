"""Datasets made, changed and deleted."""

import uuid
from typing import Any, Final

from django.db import IntegrityError, transaction

from hone.accounts.models import Project
from hone.common import clock
from hone.common.errors import ConflictError, InvalidError
from hone.evals.core.names import name_clean
from hone.evals.models import Dataset, DatasetRun
from hone.evals.selectors.datasets import dataset_get, dataset_named
from hone.evals.services.schema import schema_check
from hone.traces.services.media import media_release_dataset

DESCRIPTION_LEN: Final = 10_000
_SCHEMAS: Final = {"input_schema": "inputSchema", "output_schema": "expectedOutputSchema"}


@transaction.atomic
def dataset_create(*, project: Project, name: str, **fields: Any) -> Dataset:
    """A new dataset; raises ConflictError where the name is taken, InvalidError."""
    now = clock.now()
    dataset = Dataset(project=project, key=uuid.uuid4().hex, created_at=now)
    return _save(dataset, {**fields, "name": name})


@transaction.atomic
def dataset_upsert(*, project: Project, name: str, **fields: Any) -> Dataset:
    """The dataset of that name, made or with the given fields changed."""
    known = dataset_named(project.pk, name)
    if known is None:
        return dataset_create(project=project, name=name, **fields)
    return _save(known, fields)


@transaction.atomic
def dataset_update(*, project_id: int, key: str, **fields: Any) -> Dataset:
    """Change what is given; raises NotFoundError, ConflictError, InvalidError."""
    return _save(dataset_get(project_id, key), fields)


@transaction.atomic
def dataset_delete(*, project_id: int, key: str) -> None:
    """Delete the dataset with its items and runs; traces stay."""
    dataset = dataset_get(project_id, key)
    DatasetRun.objects.filter(project_id=project_id, dataset_key=dataset.key).delete()
    media_release_dataset(project_id=project_id, dataset_key=dataset.key)
    dataset.delete()


def _save(dataset: Dataset, fields: dict[str, Any]) -> Dataset:
    for field, value in fields.items():
        setattr(dataset, field, value)
    dataset.name = name_clean(dataset.name)
    dataset.description = dataset.description or ""
    if len(dataset.description) > DESCRIPTION_LEN:
        raise InvalidError(
            f"description: at most {DESCRIPTION_LEN} characters", field="description"
        )
    for field, said in _SCHEMAS.items():
        schema_check(getattr(dataset, field), said)
    dataset.updated_at = clock.now()
    try:
        with transaction.atomic():
            dataset.save()
    except IntegrityError:
        raise ConflictError(
            f"name: there is a dataset {dataset.name!r} already", field="name"
        ) from None
    return dataset
