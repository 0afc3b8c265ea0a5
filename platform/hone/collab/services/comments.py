"""Comments on ranges of a draft, replies to them, and what was settled."""

from typing import Any

from django.db import transaction

from hone.accounts.models import User
from hone.collab.core.anchor import AnchorError, anchor_check
from hone.collab.models import Draft, DraftComment
from hone.collab.services.tell import draft_changed
from hone.common import clock
from hone.common.errors import ConflictError, ForbiddenError, InvalidError
from hone.prompts.services import Author

BODY_LEN = 10_000
QUOTE_LEN = 2000
MOST_COMMENTS = 2000  # of a draft


@transaction.atomic
def comment_create(
    *,
    draft: Draft,
    author: Author,
    body: str,
    start: bytes | None = None,
    end: bytes | None = None,
    quote: str = "",
    parent: DraftComment | None = None,
) -> DraftComment:
    """A comment on a range (both of its ends, as Yjs encodes relative positions), on the whole
    draft, or in reply; raises InvalidError, ConflictError where there are too many."""
    Draft.objects.select_for_update(no_key=True).defer("snapshot").get(pk=draft.pk)
    if DraftComment.objects.filter(draft=draft).count() >= MOST_COMMENTS:
        raise ConflictError(f"A draft has at most {MOST_COMMENTS} comments")
    if parent is not None and (parent.parent_id is not None or start or end):
        raise InvalidError("parent: a reply is to a comment and has no range", field="parent")
    _check_range(start, end)
    now = clock.now()
    made = DraftComment.objects.create(
        draft=draft,
        parent=parent,
        start=start,
        end=end,
        quote=quote[:QUOTE_LEN],
        body=_body(body),
        author=author.user,
        author_name=author.name,
        created_at=now,
        updated_at=now,
    )
    draft_changed(draft)
    return made


def _check_range(start: bytes | None, end: bytes | None) -> None:
    if (start is None) != (end is None):
        raise InvalidError("start, end: want both or neither", field="start")
    for name, anchor in (("start", start), ("end", end)):
        try:
            anchor_check(anchor or b"")
        except AnchorError as error:
            raise InvalidError(f"{name}: {error}", field=name) from None


def _body(body: str) -> str:
    body = body.strip()
    if not 1 <= len(body) <= BODY_LEN:
        raise InvalidError(f"body: want 1 to {BODY_LEN} characters, got {len(body)}", field="body")
    return body


@transaction.atomic
def comment_update(
    *, comment: DraftComment, author: Author, fields: dict[str, Any], may_settle: bool
) -> DraftComment:
    """Change the own text, settle a thread or take it up again.

    Whoever began a thread may settle it, and whoever may write; raises ForbiddenError.
    """
    if "body" in fields:
        _check_own(comment, author.user)
        comment.body = _body(fields["body"])
    if "is_resolved" in fields:
        if comment.parent_id is not None:
            raise InvalidError("is_resolved: a thread is settled, not a reply", field="is_resolved")
        if not may_settle:
            _check_own(comment, author.user)
        comment.resolved_at = clock.now() if fields["is_resolved"] else None
        comment.resolved_by = author.name if fields["is_resolved"] else ""
    comment.updated_at = clock.now()
    comment.save()
    draft_changed(comment.draft)
    return comment


@transaction.atomic
def comment_delete(*, comment: DraftComment, author: Author) -> None:
    """Delete the own comment, with the replies; raises ForbiddenError."""
    _check_own(comment, author.user)
    draft = comment.draft
    comment.delete()
    draft_changed(draft)


def _check_own(comment: DraftComment, user: User | None) -> None:
    if user is None or comment.author_id != user.pk:
        raise ForbiddenError(f"This comment is {comment.author_name}'s")
