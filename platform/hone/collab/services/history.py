"""A draft at any number that is still there: kept moments, and the log between them replayed."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Min

from hone.accounts.models import User
from hone.collab.core.change import document_change
from hone.collab.core.pairing import pair
from hone.collab.core.people import Person, user_identity
from hone.collab.core.resolve import Resolved
from hone.collab.core.shape import Shape, ShapeError, document_open, document_read, update_apply
from hone.collab.core.strokes import Stroke, strokes_of
from hone.collab.models import Draft, DraftMoment, DraftUpdate, DraftWriter
from hone.collab.selectors import clients_people, document_of, draft_since
from hone.collab.services.log import Edit, edits_append
from hone.collab.services.tell import room_edited
from hone.common.errors import ConflictError, InvalidError, NotFoundError
from hone.prompts.services import Author


@dataclass(frozen=True, slots=True)
class Stretch:
    """What one person wrote without a pause; `latest` is a number that can be looked at."""

    first: int
    latest: int
    person: Person | None
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class History:
    """What can be looked at: moments, every number of the strokes, and whose the clients are."""

    seq: int
    moments: list[DraftMoment]
    strokes: list[Stretch]
    writers: dict[int, Person]


def draft_history(draft: Draft) -> History:
    """Moments and strokes oldest first."""
    moments = list(
        DraftMoment.objects.filter(draft=draft)
        .select_related("version")
        .defer("state")
        .order_by("seq")
    )
    log = DraftUpdate.objects.filter(draft=draft)
    first = log.aggregate(first=Min("seq"))["first"]
    start = next((m.seq for m in moments if first is not None and m.seq >= first - 1), None)
    if start is None and first is not None and first > draft.snapshot_seq:
        start = draft.snapshot_seq
    rows = log.filter(seq__gt=start or 0).order_by("seq") if start is not None else log.none()
    strokes = strokes_of(rows.values_list("seq", "user_id", "created_at"))
    return History(draft.seq, moments, _stretches(strokes), _writers(draft))


def _stretches(strokes: Sequence[Stroke]) -> list[Stretch]:
    from_ids = _people({stroke.user_id for stroke in strokes if stroke.user_id is not None})
    return [Stretch(s.first, s.latest, from_ids.get(s.user_id or 0), s.ended_at) for s in strokes]


def _people(ids: set[int]) -> dict[int, Person]:
    rows = User.objects.filter(pk__in=ids).values_list("pk", "name", "email")
    return {pk: Person(user_identity(pk), name or email, pk) for pk, name, email in rows}


def _writers(draft: Draft) -> dict[int, Person]:
    """Yjs client -> person, for everybody who ever wrote."""
    log = DraftUpdate.objects.filter(draft=draft, seq__gt=draft.snapshot_seq).order_by("seq")
    found = {
        client: Person(user_identity(user_id), name, user_id)
        for client, (user_id, name) in clients_people(log).items()
    }
    rows = DraftWriter.objects.filter(draft=draft).values_list("client", "user_id", "name")
    found |= {client: Person(user_identity(user), name, user) for client, user, name in rows}
    return found


def draft_state(draft: Draft, seq: int) -> bytes:
    """The document at a number; raises NotFoundError where that is not kept any more."""
    moments = DraftMoment.objects.filter(draft=draft, seq__lte=seq).order_by("-seq")
    moment = moments.first()
    at, state = (-1, b"") if moment is None else (moment.seq, bytes(moment.state))
    if draft.snapshot_seq <= seq and draft.snapshot_seq > at:
        row = Draft.objects.values_list("snapshot_seq", "snapshot").get(pk=draft.pk)
        at, state = row[0], bytes(row[1])
    log = DraftUpdate.objects.filter(draft=draft, seq__gt=at, seq__lte=seq).order_by("seq")
    updates = [bytes(update) for update in log.values_list("update", flat=True)]
    if at < 0 or len(updates) != seq - at:
        raise NotFoundError(f"The draft does not keep what it said at number {seq}")
    if not updates:
        return state
    document = document_open(state)
    for update in updates:
        update_apply(document, update)
    return document.get_update()


@transaction.atomic
def draft_restore(*, draft: Draft, seq: int, author: Author) -> int:
    """Write what the draft said at a number as an edit of now; the log's number after it.

    Nothing is rewound: what was written since stays in the history, and what others are writing
    is merged. Raises NotFoundError, ConflictError for a closed or full draft.
    """
    locked = Draft.objects.select_for_update(no_key=True).select_related("project").get(pk=draft.pk)
    try:
        wanted = document_read(document_open(draft_state(locked, seq)))
        since = draft_since(locked.pk)
        document = document_of(since)
        present = document_read(document)
    except ShapeError as error:
        raise InvalidError(f"prompt: {error}", field="prompt") from None
    if wanted == present:
        return since.seq
    update = document_change(document, Resolved(wanted, _origins(present, wanted)))
    return _write(locked.pk, update, author)


def _origins(present: Shape, wanted: Shape) -> list[int | None]:
    """For each message wanted the place of the one that becomes it."""
    if isinstance(present.prompt, str) or isinstance(wanted.prompt, str):
        return []
    places = {after: before for before, after in pair(present.prompt, wanted.prompt).items()}
    return [places.get(at) for at in range(len(wanted.prompt))]


def _write(draft_id: uuid.UUID, update: bytes, author: Author) -> int:
    user_id: Any = author.user.pk if author.user else None
    [seq] = edits_append([Edit(draft_id, update, user_id)])
    if not isinstance(seq, int):
        raise ConflictError(f"The draft is {seq.value}: it takes no more edits")
    room_edited(draft_id, seq, update)
    return seq
