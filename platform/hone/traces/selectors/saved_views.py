"""Saved views that a person sees: their own and the shared ones."""

from django.db.models import Q

from hone.accounts.models import User
from hone.common.errors import NotFoundError
from hone.traces.models.views import SavedView


def saved_views(project_id: int, user: User, page: str | None = None) -> list[SavedView]:
    """By name; of one page, or of all."""
    found = SavedView.objects.filter(Q(owner=user) | Q(shared=True), project_id=project_id)
    if page is not None:
        found = found.filter(page=page)
    return list(found.select_related("owner").order_by("name", "id"))


def saved_view(project_id: int, user: User, view_id: int) -> SavedView:
    """One of them; raises NotFoundError."""
    found = SavedView.objects.filter(
        Q(owner=user) | Q(shared=True), project_id=project_id, id=view_id
    )
    one = found.select_related("owner").first()
    if one is None:
        raise NotFoundError("There is no such view")
    return one
