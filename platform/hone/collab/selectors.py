import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from hone.accounts.selectors import Access
from hone.collab.core.clients import clients_of
from hone.collab.core.people import Person, key_identity, user_identity
from hone.collab.core.shape import Shape, document_open, document_read, update_apply
from hone.collab.models import Draft, DraftComment, DraftMoment, DraftUpdate, Proposal, Verdict
from hone.common.errors import NotFoundError
from hone.prompts.models import Prompt


def draft_list(prompt: Prompt, *, include_closed: bool = False) -> QuerySet[Draft, Draft]:
    """The prompt's drafts, the latest written first."""
    rows = Draft.objects.filter(prompt=prompt).select_related("base").defer("snapshot")
    if not include_closed:
        rows = rows.filter(status=Draft.Status.OPEN)
    return rows.order_by("-updated_at")


def drafts_named(project_id: int, ids: list[uuid.UUID]) -> list[tuple[uuid.UUID, str, str]]:
    """Id, name and the prompt's name of those of the drafts that are the project's."""
    rows = Draft.objects.filter(project_id=project_id, pk__in=ids).order_by("prompt__name", "name")
    return list(rows.values_list("pk", "name", "prompt__name"))


def draft_get(draft_id: str | uuid.UUID) -> Draft:
    """The draft with prompt and project; raises NotFoundError, also for what is no id."""
    try:
        key = uuid.UUID(str(draft_id))
    except ValueError:
        raise NotFoundError(f"There is no draft {str(draft_id)[:60]!r}") from None
    rows = Draft.objects.select_related("prompt", "project", "base").defer("snapshot")
    found = rows.filter(pk=key).first()
    if found is None:
        raise NotFoundError(f"There is no draft {str(key)!r}")
    return found


def project_draft_get(project_id: int, draft_id: str) -> Draft:
    """As `draft_get`; a draft of another project is not there."""
    found = draft_get(draft_id)
    if found.project_id != project_id:
        raise NotFoundError(f"There is no draft {draft_id!r}")
    return found


@dataclass(frozen=True, slots=True)
class Since:
    """What makes a document that has everything up to a number whole again.

    updates: in order; may begin with a whole state where the log was compacted meanwhile.
    """

    seq: int
    updates: tuple[bytes, ...]
    is_open: bool


# One statement sees one moment of the database: a compaction cannot fall in between.
_SINCE = """
WITH d AS (SELECT id, seq, snapshot_seq, snapshot, status FROM collab_draft WHERE id = %(id)s)
SELECT d.seq, d.status, d.snapshot_seq AS at, d.snapshot AS data
  FROM d WHERE d.snapshot_seq > %(after)s
UNION ALL
SELECT d.seq, d.status, u.seq, u.update FROM d
  JOIN collab_draftupdate u ON u.draft_id = d.id AND u.seq > greatest(d.snapshot_seq, %(after)s)
UNION ALL
SELECT d.seq, d.status, NULL, NULL FROM d
ORDER BY at NULLS LAST
"""


def draft_since(draft_id: uuid.UUID, after: int = -1) -> Since:
    """The updates after number `after`, or state and updates from the start (-1)."""
    with connection.cursor() as cursor:
        cursor.execute(_SINCE, {"id": draft_id, "after": after})
        rows = cursor.fetchall()
    if not rows:
        raise NotFoundError(f"There is no draft {str(draft_id)!r}")
    updates = tuple(bytes(data) for *_, at, data in rows if at is not None)
    return Since(rows[0][0], updates, rows[0][1] == Draft.Status.OPEN)


def seqs_of(draft_ids: list[uuid.UUID]) -> dict[uuid.UUID, int]:
    """The latest number of each draft that is there and open."""
    rows = Draft.objects.filter(pk__in=draft_ids, status=Draft.Status.OPEN)
    return dict(rows.values_list("pk", "seq"))


def document_of(since: Since) -> Any:
    """The document of a log that was read from its start."""
    document = document_open()
    for update in since.updates:
        update_apply(document, update)
    return document


def draft_content(draft_id: uuid.UUID) -> tuple[int, Shape]:
    """Number and content of the draft as the log has it; raises ShapeError, NotFoundError."""
    since = draft_since(draft_id)
    return since.seq, document_read(document_of(since))


def clients_people(rows: QuerySet[DraftUpdate, DraftUpdate]) -> dict[int, tuple[int, str]]:
    """Yjs client -> id and name of the person who first sent something it wrote."""
    found: dict[int, tuple[int, str]] = {}
    for update, user_id, name, email in rows.values_list(
        "update", "user_id", "user__name", "user__email"
    ):
        if user_id is not None:
            for client in clients_of(bytes(update)):
                found.setdefault(client, (user_id, name or email or "Somebody"))
    return found


def moment_list(draft: Draft) -> QuerySet[DraftMoment, DraftMoment]:
    """The kept moments of a draft, latest first, without their states."""
    rows = DraftMoment.objects.filter(draft=draft, seq__gt=0).select_related("version")
    return rows.defer("state").order_by("-seq")


def moment_content(draft: Draft, seq: int) -> Shape:
    """What the draft said at a kept moment; raises NotFoundError."""
    found = DraftMoment.objects.filter(draft=draft, seq=seq).first()
    if found is None:
        raise NotFoundError(f"The draft keeps no moment {seq}")
    return document_read(document_open(bytes(found.state)))


def person_of(access: Access) -> Person:
    """Who the others in a room see."""
    if access.user is not None:
        return Person(user_identity(access.user.pk), access.author_name, access.user.pk)
    assert access.key is not None
    return Person(key_identity(access.key.pk), access.author_name, None)


_WROTE = """
SELECT draft_id, name, max(at) FROM (
    SELECT u.draft_id, coalesce(nullif(p.name, ''), p.email) AS name, max(u.created_at) AS at
      FROM collab_draftupdate u JOIN accounts_user p ON p.id = u.user_id
     WHERE u.draft_id = ANY(%(ids)s) GROUP BY 1, 2
    UNION ALL
    SELECT m.draft_id, jsonb_array_elements_text(m.people), m.created_at
      FROM collab_draftmoment m WHERE m.draft_id = ANY(%(ids)s)
) wrote GROUP BY 1, 2 ORDER BY 3 DESC
"""


def writers_of(draft_ids: list[uuid.UUID]) -> dict[uuid.UUID, list[str]]:
    """The names of those who wrote in each draft, whoever wrote latest first."""
    found: dict[uuid.UUID, list[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_WROTE, {"ids": draft_ids})
        for draft_id, name, _ in cursor.fetchall():
            found.setdefault(draft_id, []).append(name)
    return found


def comment_list(draft: Draft) -> QuerySet[DraftComment, DraftComment]:
    """The draft's comments and replies, oldest first."""
    return DraftComment.objects.filter(draft=draft).order_by("created_at", "pk")


def comment_get(draft: Draft, comment_id: str | uuid.UUID) -> DraftComment:
    """A comment of the draft; raises NotFoundError."""
    found = DraftComment.objects.filter(draft=draft, pk=comment_id).first()
    if found is None:
        raise NotFoundError(f"The draft has no comment {str(comment_id)!r}")
    found.draft = draft
    return found


def proposal_get(draft: Draft) -> Proposal:
    """The open proposal of a draft; raises NotFoundError."""
    found = Proposal.objects.filter(draft=draft, status=Proposal.Status.OPEN).first()
    if found is None:
        raise NotFoundError("The draft is not proposed")
    found.draft = draft
    return found


def proposal_list(draft: Draft) -> QuerySet[Proposal, Proposal]:
    """The draft's proposals, latest first."""
    return Proposal.objects.filter(draft=draft).select_related("version").order_by("-pk")


def verdict_list(proposal: Proposal) -> QuerySet[Verdict, Verdict]:
    """What was said of a proposal, oldest first."""
    return Verdict.objects.filter(proposal=proposal).order_by("pk")


def proposed_of(draft_ids: list[uuid.UUID]) -> set[uuid.UUID]:
    """Those of the drafts that have an open proposal."""
    rows = Proposal.objects.filter(draft_id__in=draft_ids, status=Proposal.Status.OPEN)
    return set(rows.values_list("draft_id", flat=True))
