from collections.abc import Iterable

from django.db import IntegrityError, transaction

from hone.collab.core.shape import Shape, ShapeError, document_made, document_read
from hone.collab.models import Draft
from hone.collab.selectors import document_of, draft_since
from hone.collab.services.log import moment_keep
from hone.collab.services.tell import draft_changed, draft_closed
from hone.common import clock
from hone.common.errors import ConflictError, InvalidError
from hone.prompts.core.names import LATEST
from hone.prompts.models import Prompt, PromptVersion
from hone.prompts.services import Author, version_create

MAIN = "main"
NAME_LEN = 80


def draft_create(*, prompt: Prompt, author: Author, base: PromptVersion, name: str) -> Draft:
    """A new draft that starts with what a version says; raises ConflictError for a taken name."""
    name = name_clean(name)
    now = clock.now()
    state = document_made(version_shape(base))
    try:
        with transaction.atomic():
            draft = Draft.objects.create(
                project=prompt.project,
                prompt=prompt,
                name=name,
                base=base,
                author=author.user,
                author_name=author.name,
                snapshot=state,
                num_bytes=len(state),
                created_at=now,
                updated_at=now,
            )
            moment_keep(draft_id=draft.pk, seq=0, state=state, since=0)  # where its history begins
            return draft
    except IntegrityError:
        raise ConflictError(
            f"name: there is an open draft {name!r} already", field="name"
        ) from None


def name_clean(name: str) -> str:
    """The name of a draft; raises InvalidError."""
    name = name.strip()
    if not name or len(name) > NAME_LEN:
        raise InvalidError(f"name: want 1 to {NAME_LEN} characters, got {len(name)}", field="name")
    return name


def version_shape(version: PromptVersion) -> Shape:
    """What a version says, as a draft says it."""
    return Shape(version.type, version.content, version.config, version.inputs)


def draft_main(*, prompt: Prompt, author: Author) -> Draft:
    """The draft that everybody meets in: made from the latest version when it is first opened."""
    found = Draft.objects.filter(prompt=prompt, name=MAIN, status=Draft.Status.OPEN).first()
    if found is not None:
        return found
    latest = PromptVersion.objects.get(prompt=prompt, labels__name=LATEST)
    try:
        return draft_create(prompt=prompt, author=author, base=latest, name=MAIN)
    except ConflictError:  # somebody opened it at the same moment
        return Draft.objects.get(prompt=prompt, name=MAIN, status=Draft.Status.OPEN)


@transaction.atomic
def draft_publish(
    *, draft: Draft, author: Author, message: str = "", labels: Iterable[str] = ()
) -> PromptVersion:
    """A new version of what the draft says now; the draft goes on from it.

    Raises ConflictError where the prompt has a later version than the draft is based on,
    InvalidError where the document is no prompt.
    """
    locked = Draft.objects.select_for_update(no_key=True).defer("snapshot").get(pk=draft.pk)
    if locked.status != Draft.Status.OPEN:
        raise ConflictError("The draft is closed")
    latest = PromptVersion.objects.get(prompt=locked.prompt_id, labels__name=LATEST)
    if locked.base_id != latest.pk:
        raise ConflictError(
            f"base: the draft started from another version than the latest, {latest.number};"
            " bring it up to date first",
            field="base",
        )
    since = draft_since(locked.pk)
    document = document_of(since)
    try:
        shape = document_read(document)
    except ShapeError as error:
        raise InvalidError(f"prompt: {error}", field="prompt") from None
    version = version_create(
        prompt=draft.prompt,
        author=author,
        type=shape.type,
        content=shape.prompt,
        config=shape.config,
        inputs=shape.variables,
        labels=labels,
        message=message,
        parent=latest.number,
    )
    moment_keep(
        draft_id=locked.pk,
        seq=since.seq,
        state=document.get_update(),
        since=locked.snapshot_seq,
        version_id=version.pk,
    )
    Draft.objects.filter(pk=locked.pk).update(base=version, updated_at=clock.now())
    draft_changed(draft)
    return version


def draft_close(*, draft: Draft) -> None:
    """End a draft; its history stays, and whoever is in its room is told."""
    Draft.objects.filter(pk=draft.pk).update(status=Draft.Status.CLOSED, updated_at=clock.now())
    draft_closed(draft)
