"""Versions: made, published by programs, deleted."""

from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, transaction

from hone.accounts.models import Project
from hone.common import clock
from hone.common.errors import ConflictError, InvalidError
from hone.prompts.core.content import Content, content_of
from hone.prompts.core.names import LATEST, label_clean, name_clean, tags_clean
from hone.prompts.models import Label, LabelArm, Prompt, PromptVersion
from hone.prompts.selectors import template_composed
from hone.prompts.services.authors import Author
from hone.prompts.services.included import versions_may_go
from hone.prompts.services.prompts import DESCRIPTION_LEN, prompt_delete, prompt_update
from hone.prompts.services.rows import latest_of, lock, point, short, tell, version_of

MESSAGE_LEN = 2000


@transaction.atomic
def prompt_create(
    *,
    project: Project,
    author: Author,
    name: str,
    type: str,
    prompt: Any,
    config: Any = None,
    inputs: Any = None,
    labels: Iterable[str] = (),
    tags: Iterable[str] = (),
    message: str = "",
    description: str = "",
) -> PromptVersion:
    """A new prompt with its version 1; raises ConflictError where the name is taken."""
    content = content_of(type, prompt, {} if config is None else config, inputs)
    now = clock.now()
    try:
        with transaction.atomic():
            row = Prompt.objects.create(
                project=project,
                name=name_clean(name),
                description=short(description, "description", DESCRIPTION_LEN),
                tags=tags_clean(list(tags)),
                updated_at=now,
            )
    except IntegrityError:
        raise ConflictError(f"name: there is a prompt {name!r} already", field="name") from None
    return _append(row, content, author, labels, message, parent=None)


@transaction.atomic
def version_create(
    *,
    prompt: Prompt,
    author: Author,
    content: Any,
    type: str | None = None,
    config: Any = None,
    inputs: Any = None,
    labels: Iterable[str] = (),
    message: str = "",
    parent: int | None = None,
) -> PromptVersion:
    """The next version; its type and its parent are those of the latest unless given.

    What is declared of variables (`inputs`) stays as the parent has it unless given.
    """
    locked = lock(prompt)
    origin = version_of(locked, parent) if parent else latest_of(locked)
    declared = origin.inputs if inputs is None else inputs
    checked = content_of(type or origin.type, content, {} if config is None else config, declared)
    return _append(locked, checked, author, labels, message, origin)


def _append(
    prompt: Prompt,
    content: Content,
    author: Author,
    labels: Iterable[str],
    message: str,
    parent: PromptVersion | None,
) -> PromptVersion:
    wanted = [label_clean(label) for label in dict.fromkeys(labels) if label != LATEST]
    author.may_move(prompt.project_id, wanted)
    template_composed(prompt.project_id, prompt.name, content.prompt)
    now = clock.now()
    version = PromptVersion.objects.create(
        prompt=prompt,
        number=prompt.latest_number + 1,
        type=content.type,
        content=content.prompt,
        config=content.config,
        variables=content.variables,
        inputs=content.inputs,
        content_hash=content.hash,
        message=short(message, "message", MESSAGE_LEN),
        parent=parent,
        author=author.user,
        author_name=author.name,
        created_at=now,
    )
    prompt.latest_number, prompt.updated_at = version.number, now
    prompt.save(update_fields=["latest_number", "updated_at"])
    for label in [LATEST, *wanted]:
        point(prompt, label, version)
    tell(prompt, "prompt.version_created", version=version.number)
    return version


@transaction.atomic
def version_publish(
    *,
    project: Project,
    author: Author,
    name: str,
    type: str,
    prompt: Any,
    config: Any = None,
    inputs: Any = None,
    labels: Iterable[str] = (),
    tags: Iterable[str] | None = None,
    message: str = "",
) -> PromptVersion:
    """The next version of a prompt, which comes into being with its first; tags stay unless given.

    Raises ConflictError where somebody else makes the prompt at this moment.
    """
    row = Prompt.objects.filter(project=project, name=name).first()
    fields = {"author": author, "type": type, "config": config, "labels": labels, "inputs": inputs}
    if row is None:
        fields |= {"project": project, "name": name, "prompt": prompt, "tags": tags or ()}
        return prompt_create(message=message, **fields)
    if (known := latest_of(row).type) != type:
        raise InvalidError(f"type: {name!r} is of type {known}, got {type!r}", field="type")
    if tags is not None:
        prompt_update(prompt=row, tags=tags)
    return version_create(prompt=row, content=prompt, message=message, **fields)


@transaction.atomic
def version_copy(
    *, prompt: Prompt, version: int, author: Author, name: str, project: Project
) -> PromptVersion:
    """A new prompt whose version 1 says what a version of another one says."""
    origin = version_of(prompt, version)
    return prompt_create(
        project=project,
        author=author,
        name=name,
        type=origin.type,
        prompt=origin.content,
        config=origin.config,
        inputs=origin.inputs,
        tags=prompt.tags,
        description=prompt.description,
        message=f"Copy of {prompt.name} version {version}",
    )


@transaction.atomic
def versions_delete(*, prompt: Prompt, author: Author, numbers: Iterable[int]) -> None:
    """Delete versions with their labels, and the prompt with its last one.

    The label latest goes to the newest that stays; a split goes on with the versions that stay.
    Raises IncludedError where other prompts include what goes.
    """
    locked = lock(prompt)
    rows = PromptVersion.objects.filter(prompt=locked)
    going = rows.filter(number__in=set(numbers))
    labels = Label.objects.filter(prompt=locked)
    held = labels.filter(version__in=going) | labels.filter(arms__version__in=going)
    author.may_move(prompt.project_id, held.values_list("name", flat=True))
    rest = rows.exclude(pk__in=going)
    if rest.exists():  # else the prompt goes, which says so of itself
        splits = labels.filter(arms__version__in=rest)
        gone = labels.filter(version__in=going).exclude(name=LATEST).exclude(pk__in=splits)
        names = list(gone.values_list("name", flat=True))
        versions_may_go(locked, list(going.values_list("number", flat=True)), names)
    for label in labels.filter(arms__version__in=going).distinct():
        _split_shrink(label, [version.pk for version in going])
    going.delete()
    newest = rows.order_by("-number").first()
    if newest is None:
        prompt_delete(prompt=locked, author=author)
        return
    point(locked, LATEST, newest)
    locked.updated_at = clock.now()
    locked.save(update_fields=["updated_at"])
    tell(locked, "prompt.updated")


def _split_shrink(label: Label, going: list[int]) -> None:
    """Take versions out of a split; of one that is left the label is simply its label."""
    LabelArm.objects.filter(label=label, version_id__in=going).delete()
    left = list(LabelArm.objects.filter(label=label).order_by("-weight", "pk"))
    if left and label.version_id in going:
        label.version_id = left[0].version_id
        label.save(update_fields=["version"])
    if len(left) == 1:
        left[0].delete()
        Label.objects.filter(pk=label.pk).update(salt="")
