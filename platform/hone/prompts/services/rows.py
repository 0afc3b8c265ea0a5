"""What all writes of prompts share: rows locked, limits of texts, and telling of it."""

from functools import partial
from typing import Any

from django.db import transaction

from hone.common import clock, events
from hone.common.errors import ConflictError, InvalidError, NotFoundError
from hone.prompts.core.names import LATEST
from hone.prompts.models import Label, LabelArm, Prompt, PromptVersion
from hone.prompts.selectors.reviews import review_check
from hone.prompts.services.serving import changed_here, changed_tell


def lock(prompt: Prompt, *, writes: bool = True) -> Prompt:
    """The prompt's row, locked: numbers and labels are given one writer after the other.

    Raises NotFoundError, and ConflictError where it is archived and something is to be written.
    """
    found = Prompt.objects.select_for_update().filter(pk=prompt.pk).first()
    if found is None:
        raise NotFoundError(f"There is no prompt {prompt.name!r}")
    if writes and found.archived_at is not None:
        raise ConflictError(f"{prompt.name!r} is archived; take it out of the archive first")
    return found


def version_of(prompt: Prompt, number: int) -> PromptVersion:
    found = PromptVersion.objects.filter(prompt=prompt, number=number).first()
    if found is None:
        raise NotFoundError(f"prompt: {prompt.name!r} has no version {number}", field="version")
    return found


def latest_of(prompt: Prompt) -> PromptVersion:
    """The newest version; that of the highest number may have been deleted."""
    return PromptVersion.objects.get(prompt=prompt, labels__name=LATEST)


def point(prompt: Prompt, label: str, version: PromptVersion) -> None:
    """Put the label on one version; a split of it ends.

    Raises ForbiddenError where the label needs approvals that the version lacks.
    """
    review_check(prompt, label, [version])
    row, _ = Label.objects.update_or_create(
        prompt=prompt,
        name=label,
        defaults={"version": version, "salt": "", "updated_at": clock.now()},
    )
    LabelArm.objects.filter(label=row).delete()


def short(text: str, field: str, max_len: int) -> str:
    """The text; raises InvalidError where it is longer."""
    if len(text) > max_len:
        raise InvalidError(f"{field}: {len(text)} characters, at most {max_len}", field=field)
    return text


def tell(prompt: Prompt, kind: str, **facts: Any) -> None:
    """Tell pages and the servers' caches, after commit."""
    events.publish(prompt.project_id, kind, {"name": prompt.name, **facts})
    tell_caches(prompt.project_id, prompt.name)


def tell_caches(project_id: int, name: str) -> None:
    """Tell the servers' caches that what the prompt gives changed, after commit."""
    changed_here(project_id, name)
    transaction.on_commit(partial(changed_tell, project_id, name))
