"""The log of a draft: what it has is kept; compacted while nobody notices."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Min, Sum
from django.db.models.functions import Length

from hone.collab.models import Draft, DraftMoment, DraftUpdate, DraftWriter
from hone.collab.selectors import clients_people
from hone.common import clock

KEPT_MOMENTS: Final = 200
# Of what a state stands for already the log keeps this much, for whoever looks at its history.
KEPT_UPDATES: Final = 5000
KEPT_BYTES: Final = 4 * 1024 * 1024
MOST_BYTES: Final = 8 * 1024 * 1024  # of a draft: its state and the log since


@dataclass(eq=False, slots=True)
class Edit:
    """An update that somebody sent to a draft."""

    draft_id: uuid.UUID
    update: bytes
    user_id: int | None

    @property
    def only_deletes(self) -> bool:
        """Whether it adds nothing: its count of clients with new structs is 0."""
        return self.update[:1] == b"\0"


class Refused(Enum):
    """Why an edit is not in the log."""

    CLOSED = "closed"
    FULL = "full"


# One statement, one round trip, one commit for all rooms that wait. Drafts are locked in the order
# of their ids, so writers of two processes never wait for one another in a circle; the numbers of
# a draft are without gaps. A draft that is full takes what only deletes.
# Updates come one behind the other in one value: a list of them costs more to spell than to write.
APPEND: Final = """
WITH spelled AS (
    SELECT n, (%(drafts)s::uuid[])[place] AS id, bytes, user_id, only_deletes,
           sum(bytes) OVER (ORDER BY n) - bytes AS start
      FROM unnest(%(places)s::int[], %(bytes)s::int[], %(users)s::bigint[], %(deletes)s::bool[])
           WITH ORDINALITY AS s(place, bytes, user_id, only_deletes, n)
), e AS (
    SELECT n, id, bytes, user_id, only_deletes,
           substring(%(updates)s::bytea FROM start::int + 1 FOR bytes) AS update,
           row_number() OVER (PARTITION BY id ORDER BY n) AS k
      FROM spelled
), added AS (
    SELECT id, count(*) AS num, sum(bytes) AS bytes, bool_and(only_deletes) AS only_deletes
      FROM e GROUP BY id
), held AS MATERIALIZED (
    SELECT id, num_bytes FROM collab_draft
     WHERE id = ANY(%(drafts)s::uuid[]) AND status = 'open' ORDER BY id FOR NO KEY UPDATE
), moved AS (
    UPDATE collab_draft d
       SET seq = d.seq + a.num, num_bytes = d.num_bytes + a.bytes, updated_at = %(now)s
      FROM held h JOIN added a USING (id)
     WHERE d.id = h.id AND (a.only_deletes OR h.num_bytes + a.bytes <= %(most)s)
    RETURNING d.id, d.seq - a.num AS base
), written AS (
    INSERT INTO collab_draftupdate (draft_id, seq, update, user_id, created_at)
    SELECT e.id, m.base + e.k, e.update, e.user_id, %(now)s FROM e JOIN moved m USING (id)
)
SELECT h.id, m.base FROM held h LEFT JOIN moved m USING (id)
"""


def append_values(edits: Sequence[Edit]) -> dict[str, Any]:
    """What APPEND wants to know; lists as PostgreSQL spells them."""
    places: dict[uuid.UUID, int] = {}
    for edit in edits:
        places.setdefault(edit.draft_id, len(places) + 1)
    return {
        "drafts": _list(places),
        "places": _list(places[edit.draft_id] for edit in edits),
        "bytes": _list(len(edit.update) for edit in edits),
        "users": _list("NULL" if edit.user_id is None else edit.user_id for edit in edits),
        "deletes": _list(edit.only_deletes for edit in edits),
        "updates": b"".join([edit.update for edit in edits]),
        "now": clock.now(),
        "most": MOST_BYTES,
    }


def _list(values: Iterable[object]) -> str:
    return f"{{{','.join(map(str, values))}}}"


def append_numbers(
    edits: Sequence[Edit], bases: Iterable[tuple[uuid.UUID, int | None]]
) -> list[int | Refused]:
    """Each edit's number, from what APPEND answered."""
    latest = dict(bases)
    numbers: list[int | Refused] = []
    for edit in edits:
        base = latest.get(edit.draft_id)
        if base is None:
            numbers.append(Refused.FULL if edit.draft_id in latest else Refused.CLOSED)
        else:
            latest[edit.draft_id] = base + 1
            numbers.append(base + 1)
    return numbers


def edits_append(edits: Sequence[Edit]) -> list[int | Refused]:
    """Write edits of any drafts to their logs; each one's number, or why it is not there.

    Those of one draft that wait together are taken together or refused together.
    """
    with connection.cursor() as cursor:
        cursor.execute(APPEND, append_values(edits))
        return append_numbers(edits, cursor.fetchall())


@transaction.atomic
def draft_compact(*, draft_id: uuid.UUID, seq: int, state: bytes) -> bool:
    """Let `state` stand for the log up to number `seq`; False where that is done already.

    The state must hold every update up to `seq`. The moment is kept for the history.
    """
    draft = (
        Draft.objects.select_for_update(no_key=True).filter(pk=draft_id).defer("snapshot").first()
    )
    if draft is None or draft.snapshot_seq >= seq or draft.seq < seq:
        return False
    moment_keep(draft_id=draft_id, seq=seq, state=state, since=draft.snapshot_seq)
    writers_keep(draft_id=draft_id, since=draft.snapshot_seq, seq=seq)
    log = DraftUpdate.objects.filter(draft_id=draft_id)
    rest = log.filter(seq__gt=seq).aggregate(n=Sum(Length("update")))["n"]
    Draft.objects.filter(pk=draft_id).update(
        snapshot=state, snapshot_seq=seq, num_bytes=len(state) + (rest or 0)
    )
    _forget(draft_id, seq)
    _thin(draft_id)
    return True


def writers_keep(*, draft_id: uuid.UUID, since: int, seq: int) -> None:
    """Note whose the Yjs clients are that wrote after number `since`, up to `seq`."""
    rows = DraftUpdate.objects.filter(
        draft_id=draft_id, seq__gt=since, seq__lte=seq, user__isnull=False
    ).order_by("seq")
    DraftWriter.objects.bulk_create(
        (
            DraftWriter(draft_id=draft_id, client=client, user_id=user_id, name=name)
            for client, (user_id, name) in clients_people(rows).items()
        ),
        ignore_conflicts=True,
    )


_FORGET: Final = """
DELETE FROM collab_draftupdate WHERE draft_id = %(id)s AND seq <= (
    SELECT max(seq) FROM (
        SELECT seq, row_number() OVER w AS num, sum(length(update)) OVER w AS bytes
          FROM collab_draftupdate WHERE draft_id = %(id)s AND seq <= %(seq)s
        WINDOW w AS (ORDER BY seq DESC)
    ) kept WHERE num > %(num)s OR bytes > %(bytes)s
)
"""


def _forget(draft_id: uuid.UUID, seq: int) -> None:
    values: dict[str, Any] = {"id": draft_id, "seq": seq}
    values |= {"num": KEPT_UPDATES, "bytes": KEPT_BYTES}
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, values)


def moment_keep(
    *, draft_id: uuid.UUID, seq: int, state: bytes, since: int, version_id: int | None = None
) -> None:
    """Keep the state at a number for the history, with who wrote after number `since`."""
    writers = (
        DraftUpdate.objects.filter(
            draft_id=draft_id, seq__lte=seq, seq__gt=since, user__isnull=False
        )
        .values("user__name", "user__email")
        .annotate(first=Min("seq"))
        .order_by("first")
    )
    people = list(dict.fromkeys(row["user__name"] or row["user__email"] for row in writers))
    values: dict[str, Any] = {"state": state, "people": people, "created_at": clock.now()}
    if version_id is not None:
        values["version_id"] = version_id
    DraftMoment.objects.update_or_create(draft_id=draft_id, seq=seq, defaults=values)


def _thin(draft_id: uuid.UUID) -> None:
    """Of a long history drop every other old moment that no version was published from."""
    rows = list(
        DraftMoment.objects.filter(draft_id=draft_id, version__isnull=True, seq__gt=0)
        .order_by("-seq")
        .values_list("pk", flat=True)
    )
    if len(rows) > KEPT_MOMENTS:
        DraftMoment.objects.filter(pk__in=rows[KEPT_MOMENTS // 2 :: 2]).delete()
