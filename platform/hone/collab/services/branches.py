"""Drafts as branches: renamed, closed, opened again. What was typed stays."""

from django.db import IntegrityError, transaction

from hone.collab.models import Draft
from hone.collab.services.drafts import MAIN, draft_close, name_clean
from hone.collab.services.tell import draft_changed
from hone.common import clock
from hone.common.errors import ConflictError, InvalidError


@transaction.atomic
def draft_update(*, draft: Draft, name: str | None = None, status: str | None = None) -> None:
    """Rename, close or open again; raises ConflictError where the name is that of an open one."""
    if name is not None:
        _save(draft, name=_renamed(draft, name))
    if status == Draft.Status.CLOSED:
        draft_close(draft=draft)
    elif status == Draft.Status.OPEN:
        _save(draft, status=status)
    draft_changed(draft)


def _renamed(draft: Draft, name: str) -> str:
    if draft.name == MAIN and name != MAIN and draft.status == Draft.Status.OPEN:
        raise InvalidError(
            f"name: {MAIN!r} is where everybody meets and keeps its name", field="name"
        )
    return name_clean(name)


def _save(draft: Draft, **fields: str) -> None:
    try:
        with transaction.atomic():
            Draft.objects.filter(pk=draft.pk).update(updated_at=clock.now(), **fields)
    except IntegrityError:
        name = fields.get("name", draft.name)
        raise ConflictError(
            f"name: there is an open draft {name!r} already", field="name"
        ) from None
