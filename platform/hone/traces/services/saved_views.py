"""Saved views are made, changed and deleted; each belongs to who made it."""

from typing import Any, Final

from django.db import IntegrityError, transaction

from hone.accounts.models import User
from hone.common.errors import ConflictError, InvalidError
from hone.traces.models.views import SavedView

MAX_VIEWS: Final = 200  # of one person in a project


def saved_view_create(*, project_id: int, owner: User, **fields: Any) -> SavedView:
    """Save a view; raises ConflictError where the owner has one of this name."""
    if SavedView.objects.filter(project_id=project_id, owner=owner).count() >= MAX_VIEWS:
        raise InvalidError(f"There are {MAX_VIEWS} views already; delete one first")
    return _saved(SavedView(project_id=project_id, owner=owner, **fields))


def saved_view_update(view: SavedView, **fields: Any) -> SavedView:
    for name, value in fields.items():
        setattr(view, name, value)
    return _saved(view)


def saved_view_delete(view: SavedView) -> None:
    view.delete()


def _saved(view: SavedView) -> SavedView:
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError:
        raise ConflictError(f"There is a view named {view.name!r} already") from None
    return view
