"""Remarks written, changed and taken back."""

import uuid

from django.db import transaction

from hone.accounts.core.roles import Role
from hone.accounts.selectors import Access
from hone.common import clock, events
from hone.common.errors import ForbiddenError, InvalidError
from hone.traces.core.ids import span_key, trace_key
from hone.traces.core.scores import id_check
from hone.traces.models import Comment
from hone.traces.selectors.comments import comment_get
from hone.traces.services.intake import intake_for

MAX_LEN = 10_000
CHANGED = "comments.changed"


@transaction.atomic
def comment_create(
    *, access: Access, object_type: str, object_id: str, content: str, trace_id: str | None = None
) -> Comment:
    """A remark about something, which may not be here yet; raises InvalidError."""
    if object_type not in Comment.Kind.values:
        wanted = ", ".join(Comment.Kind.values)
        raise InvalidError(
            f"objectType: got {object_type!r}, want one of {wanted}", field="object_type"
        )
    if not object_id:
        raise InvalidError("objectId: wanted", field="object_id")
    id_check(object_id)
    now = clock.now()
    comment = Comment.objects.create(
        project=access.project,
        key=uuid.uuid4().hex,
        object_type=object_type,
        object_id=object_key(object_type, object_id),
        trace_id=trace_key(trace_id) if trace_id and object_type == "OBSERVATION" else "",
        content=_content(access, content),
        author=access.user,
        author_name=access.author_name,
        created_at=now,
        updated_at=now,
    )
    _tell(comment)
    return comment


@transaction.atomic
def comment_update(*, access: Access, key: str, content: str) -> Comment:
    """Change one's own remark; raises NotFoundError, ForbiddenError, InvalidError."""
    comment = comment_get(access.project.pk, key)
    if not is_own(access, comment):
        raise ForbiddenError("A comment is changed by who wrote it")
    comment.content, comment.updated_at = _content(access, content), clock.now()
    comment.save(update_fields=["content", "updated_at"])
    _tell(comment)
    return comment


@transaction.atomic
def comment_delete(*, access: Access, key: str) -> None:
    """Take back one's own remark, or as an admin anybody's; raises ForbiddenError."""
    comment = comment_get(access.project.pk, key)
    if not is_own(access, comment) and not access.role.covers(Role.ADMIN):
        raise ForbiddenError("A comment is deleted by who wrote it, or by an admin")
    comment.delete()
    _tell(comment)


def object_key(object_type: str, object_id: str) -> str:
    """The id under which the object's comments are kept."""
    if object_type == Comment.Kind.TRACE:
        return trace_key(object_id)
    return span_key(object_id) if object_type == Comment.Kind.OBSERVATION else object_id


def is_own(access: Access, comment: Comment) -> bool:
    """Whether the comment is the requester's."""
    if access.user is not None:
        return comment.author_id == access.user.pk
    return comment.author_id is None and comment.author_name == access.author_name


def _content(access: Access, text: str) -> str:
    """The text as it may be kept; raises InvalidError."""
    if not text.strip() or len(text) > MAX_LEN:
        raise InvalidError(f"content: want 1 to {MAX_LEN} characters", field="content")
    masks = intake_for(access.project.pk).masks
    return masks.text(text) if masks else text


def _tell(comment: Comment) -> None:
    facts = {"object_type": comment.object_type, "object_id": comment.object_id}
    events.publish(comment.project_id, CHANGED, {**facts, "trace_id": comment.trace_id})
