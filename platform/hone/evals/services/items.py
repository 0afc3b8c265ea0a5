"""Items written as versions: what was stays readable as of its time."""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction

from hone.common import clock
from hone.common.errors import InvalidError, NotFoundError
from hone.evals.core.names import key_clean
from hone.evals.models import Dataset, DatasetItem, DatasetRunItem
from hone.evals.selectors.datasets import item_get
from hone.evals.services.schema import value_check
from hone.traces.core.ids import span_key, trace_key
from hone.traces.core.media import tokens_in
from hone.traces.selectors.media import media_known
from hone.traces.services.media import Place, media_refer, media_release_item

PAYLOADS: Final = {"input": "input", "expected_output": "expectedOutput", "metadata": "metadata"}
_FIELDS: Final = {*PAYLOADS, "status", "source_trace_id", "source_observation_id"}


@transaction.atomic
def item_upsert(*, dataset: Dataset, key: str | None = None, **fields: Any) -> DatasetItem:
    """An item made, or the one of that key with the given fields changed.

    Raises InvalidError: for what the dataset's schemas refuse, for a key of another dataset.
    """
    assert fields.keys() <= _FIELDS, fields.keys()
    now = clock.now()
    identity = key_clean(key) if key else uuid.uuid4().hex
    known = (
        DatasetItem.objects.select_for_update()
        .filter(project_id=dataset.project_id, key=identity, valid_to=None)
        .first()
    )
    if known is not None and known.dataset_id != dataset.pk:
        raise InvalidError(f"id: {identity!r} is an item of another dataset", field="id")
    item = known or DatasetItem(
        project_id=dataset.project_id, dataset=dataset, key=identity, created_at=now
    )
    before = _content(item) if known else None
    _set(item, fields)
    if before == _content(item):
        return item
    value_check(dataset.input_schema, item.input, "input")
    if item.expected_output is not None:
        value_check(dataset.output_schema, item.expected_output, "expectedOutput")
    if known is not None:
        DatasetItem.objects.filter(pk=known.pk).update(valid_to=now)
        item.pk = None
        item._state.adding = True
    item.dataset, item.valid_from, item.valid_to = dataset, now, None
    item.save()
    _refer(item)
    return item


def _content(item: DatasetItem) -> tuple[Any, ...]:
    return tuple(getattr(item, field) for field in sorted(_FIELDS))


def _set(item: DatasetItem, fields: Mapping[str, Any]) -> None:
    for field, value in fields.items():
        setattr(item, field, value)
    item.status = item.status or DatasetItem.Status.ACTIVE
    if item.status not in DatasetItem.Status.values:
        raise InvalidError(
            f"status: got {item.status!r}, want {' or '.join(DatasetItem.Status.values)}",
            field="status",
        )
    item.source_trace_id = trace_key(item.source_trace_id) if item.source_trace_id else ""
    item.source_observation_id = (
        span_key(item.source_observation_id) if item.source_observation_id else ""
    )


def _refer(item: DatasetItem) -> None:
    """Keep the files that the item's payloads name."""
    tokens = [
        (said, token)
        for field, said in PAYLOADS.items()
        for token in tokens_in(getattr(item, field))
    ]
    if not tokens:
        return
    known = media_known(item.project_id, {token.key for _, token in tokens})
    for said, token in tokens:
        if media := known.get(token.key):
            place = Place(field=said, dataset_id=item.dataset.key, dataset_item_id=item.key)
            media_refer(media=media, place=place)


@transaction.atomic
def item_delete(*, project_id: int, key: str, dataset: Dataset | None = None) -> None:
    """Delete an item with all that it was and its executions; archiving keeps them."""
    item = item_get(project_id, key)
    if dataset is not None and item.dataset_id != dataset.pk:
        raise NotFoundError(f"There is no dataset item {key!r}")
    executions = DatasetRunItem.objects.filter(
        run__project_id=project_id, run__dataset_key=item.dataset.key, item_key=key
    )
    executions.delete()
    DatasetItem.objects.filter(project_id=project_id, key=key).delete()
    media_release_item(project_id=project_id, item_key=key)
