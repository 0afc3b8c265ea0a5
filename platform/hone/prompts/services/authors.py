"""Who writes, and what a writer may do with protected labels."""

from collections.abc import Iterable
from dataclasses import dataclass

from hone.accounts.models import User
from hone.common.errors import ForbiddenError
from hone.prompts.core.names import LATEST
from hone.prompts.selectors import protected_labels


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes: a person, or by name alone a program. Admins also move protected labels."""

    name: str
    user: User | None = None
    is_admin: bool = False

    def may_move(self, project_id: int, labels: Iterable[str]) -> None:
        """Raise ForbiddenError for a protected label, unless an admin moves it."""
        wanted = set(labels) - {LATEST}
        if self.is_admin or not wanted:
            return
        if held := sorted(wanted & protected_labels(project_id)):
            raise ForbiddenError(
                f"label: {held[0]!r} is protected; only an admin of the project moves it",
                field="label",
            )
