"""Prompts as a whole: named, described, put away, deleted."""

from collections.abc import Iterable

from django.db import IntegrityError, transaction

from hone.common import clock
from hone.common.errors import ConflictError
from hone.prompts.core.names import name_clean, tags_clean
from hone.prompts.models import Label, Prompt
from hone.prompts.services.authors import Author
from hone.prompts.services.included import prompt_may_go
from hone.prompts.services.rows import lock, short, tell, tell_caches

DESCRIPTION_LEN = 10_000


@transaction.atomic
def prompt_update(
    *,
    prompt: Prompt,
    name: str | None = None,
    description: str | None = None,
    tags: Iterable[str] | None = None,
) -> Prompt:
    """Change what is given; references by the old name lead nowhere after a renaming.

    Raises IncludedError where it is to be renamed and other prompts include it.
    """
    locked = lock(prompt)
    if name is not None and name != locked.name:
        prompt_may_go(locked, "rename")
        tell_caches(locked.project_id, locked.name)
        locked.name = name_clean(name)
    if description is not None:
        locked.description = short(description, "description", DESCRIPTION_LEN)
    if tags is not None:
        locked.tags = tags_clean(list(tags))
    locked.updated_at = clock.now()
    try:
        with transaction.atomic():
            locked.save()
    except IntegrityError:
        raise ConflictError(f"name: there is a prompt {name!r} already", field="name") from None
    tell(locked, "prompt.updated")
    return locked


@transaction.atomic
def prompt_archive(*, prompt: Prompt, archived: bool) -> Prompt:
    """Put the prompt out of the lists, or back. Archived it is still served, and not written to."""
    locked = lock(prompt, writes=False)
    if archived != (locked.archived_at is not None):
        locked.archived_at = clock.now() if archived else None
        locked.save(update_fields=["archived_at"])
        tell(locked, "prompt.updated")
    return locked


@transaction.atomic
def prompt_delete(*, prompt: Prompt, author: Author) -> None:
    """Delete the prompt with all versions; traces keep its name and number as text.

    Raises IncludedError where other prompts include it.
    """
    locked = lock(prompt, writes=False)
    names = Label.objects.filter(prompt=locked).values_list("name", flat=True)
    author.may_move(prompt.project_id, names)
    prompt_may_go(locked, "delete")
    tell(locked, "prompt.deleted")
    locked.delete()
