"""Bringing another draft, or a later version, into a draft."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q

from hone.collab.core.change import document_change
from hone.collab.core.merge import Merge, MergeError, shapes_merge
from hone.collab.core.resolve import Choice, ChoiceError, merge_resolve
from hone.collab.core.shape import Shape, ShapeError, document_read
from hone.collab.models import Draft, DraftMerge
from hone.collab.selectors import document_of, draft_content, draft_since
from hone.collab.services.drafts import version_shape
from hone.collab.services.log import Edit, edits_append, moment_keep
from hone.collab.services.tell import draft_changed, room_edited
from hone.common import clock
from hone.common.errors import ConflictError, InvalidError
from hone.prompts.models import PromptVersion
from hone.prompts.services import Author

NO_CONTENT = {"text": "", "chat": []}


@dataclass(frozen=True, slots=True)
class Source:
    """What is brought in: a draft or a version, of the same prompt."""

    draft: Draft | None
    version: PromptVersion | None

    @property
    def name(self) -> str:
        if self.draft is not None:
            return f"draft {self.draft.name}"
        assert self.version is not None
        return f"version {self.version.number}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A merge that nothing was done with yet. seq: of the draft; base: the version, if one is."""

    merge: Merge
    seq: int
    mine: Shape
    source_shape: Shape
    base: PromptVersion | None


@dataclass(frozen=True, slots=True)
class Applied:
    """What a merge did: the log's number after it, and the edit as the log has it."""

    seq: int
    update: bytes


def merge_prepare(draft: Draft, source: Source) -> Prepared:
    """The merge as both are now; raises InvalidError where they cannot be merged."""
    try:
        seq, mine = draft_content(draft.pk)
        return _prepared(draft, source, seq, mine)
    except ShapeError as error:
        raise InvalidError(f"prompt: {error}", field="prompt") from None


def _prepared(draft: Draft, source: Source, seq: int, mine: Shape) -> Prepared:
    if source.draft is not None:
        if source.draft.pk == draft.pk:
            raise InvalidError("draft: a draft is not merged with itself", field="draft")
        theirs = draft_content(source.draft.pk)[1]
    else:
        assert source.version is not None
        theirs = version_shape(source.version)
    base, version = _origin(draft, source, mine.type)
    try:
        merge = shapes_merge(base, mine, theirs)
    except MergeError as error:
        raise InvalidError(f"prompt: {error}", field="prompt") from None
    return Prepared(merge, seq, mine, theirs, version)


def _origin(draft: Draft, source: Source, type: str) -> tuple[Shape, PromptVersion | None]:
    """What both grew from: what one took from the other at last, else the nearest version."""
    if (other := source.draft) is not None:
        latest = (
            DraftMerge.objects.filter(Q(draft=draft, source=other) | Q(draft=other, source=draft))
            .order_by("-pk")
            .first()
        )
        if latest is not None:
            return Shape(**latest.content), None
    theirs = other.base if other is not None else source.version
    version = _common_version(draft.base, theirs)
    if version is None:
        return Shape(type, NO_CONTENT[type], {}, {}), None  # type: ignore[arg-type]
    return version_shape(version), version


def _common_version(one: PromptVersion | None, other: PromptVersion | None) -> PromptVersion | None:
    """The nearest version from which both come."""
    if one is None or other is None:
        return None
    parents: dict[int, int | None] = dict(
        PromptVersion.objects.filter(prompt_id=one.prompt_id).values_list("pk", "parent_id")
    )
    above = set(_line(one.pk, parents))
    found = next((pk for pk in _line(other.pk, parents) if pk in above), None)
    return PromptVersion.objects.filter(pk=found).first() if found else None


def _line(pk: int | None, parents: Mapping[int, int | None]) -> list[int]:
    line: list[int] = []
    while pk is not None and pk not in line:
        line.append(pk)
        pk = parents.get(pk)
    return line


@transaction.atomic
def merge_apply(
    *, draft: Draft, source: Source, choices: Mapping[str, Choice], author: Author
) -> Applied:
    """Bring the source in, as edits of the draft's document.

    Raises ConflictError where a conflict has no choice: it is new, or what it is about has changed
    since the choice was made. What else was written meanwhile is merged, too.
    """
    locked = Draft.objects.select_for_update(no_key=True).defer("snapshot").get(pk=draft.pk)
    if locked.status != Draft.Status.OPEN:
        raise ConflictError("The draft is closed")
    since = draft_since(locked.pk)
    document = document_of(since)
    try:
        prepared = _prepared(locked, source, since.seq, document_read(document))
    except ShapeError as error:
        raise InvalidError(f"prompt: {error}", field="prompt") from None
    if open_ones := prepared.merge.conflicts.keys() - choices.keys():
        raise ConflictError(
            f"choices: {len(open_ones)} conflicts are not decided; the draft or {source.name}"
            " may have changed meanwhile",
            field="choices",
        )
    try:
        resolved = merge_resolve(prepared.merge, choices)
    except ChoiceError as error:
        raise InvalidError(f"choices: {error}", field="choices") from None
    state = document.get_update()
    moment_keep(draft_id=locked.pk, seq=since.seq, state=state, since=locked.snapshot_seq)
    update = document_change(document, resolved)
    seq = _append(locked.pk, update, author)
    DraftMerge.objects.create(
        draft=locked,
        source=source.draft,
        version=source.version,
        content=asdict(prepared.source_shape),
        seq=seq,
        author_name=author.name,
        created_at=clock.now(),
    )
    _move_base(locked, source, prepared.base)
    draft_changed(draft)
    return Applied(seq, update)


def _append(draft_id: uuid.UUID, update: bytes, author: Author) -> int:
    user_id = author.user.pk if author.user else None
    [seq] = edits_append([Edit(draft_id, update, user_id)])
    if not isinstance(seq, int):
        raise ConflictError("The draft takes no more edits")
    room_edited(draft_id, seq, update)
    return seq


def _move_base(draft: Draft, source: Source, common: PromptVersion | None) -> None:
    """A draft whose base is above the source's now stands on the source's."""
    base = source.version if source.version is not None else source.draft and source.draft.base
    if base is not None and common is not None and common.pk == draft.base_id:
        Draft.objects.filter(pk=draft.pk).update(base=base)


def choice_of(value: Mapping[str, Any]) -> Choice:
    """A choice as a request spells it; raises InvalidError."""
    take = value.get("take")
    if take not in ("mine", "theirs", "both", "edit"):
        raise InvalidError(
            f"choices: got take {str(take)[:40]!r}, want mine, theirs, both or edit",
            field="choices",
        )
    return Choice(take, value.get("value"))
