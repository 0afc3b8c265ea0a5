"""Telling rooms and pages what was written beside them; after commit."""

import os
import uuid
from functools import partial
from typing import Final

import structlog
from django.db import transaction

from hone.collab.core.relayed import pack_edit, room_name
from hone.collab.models import Draft
from hone.common import broker, events

log = structlog.get_logger(__name__)
REVIEW_CHANGED: Final = "review.changed"
DRAFT_CLOSED: Final = "draft.closed"
# No room's own name: the room of this process is told like those of all others.
_SENDER: Final = os.urandom(8)


def room_edited(draft_id: uuid.UUID, seq: int, update: bytes) -> None:
    """Bring an edit that is in the log to the rooms that are open."""
    transaction.on_commit(partial(_post, draft_id, pack_edit(_SENDER, seq, update)))


def _post(draft_id: uuid.UUID, message: bytes) -> None:
    try:
        broker.client().publish(broker.key(*room_name(draft_id)), message)
    except broker.ERRORS as error:
        log.warning("room_not_told", error=type(error).__name__)  # it looks by itself, too


def draft_changed(draft: Draft) -> None:
    """Tell pages that comments, approvals or the place of the draft are others now."""
    facts = {"draft": str(draft.pk), "prompt": draft.prompt.name}
    events.publish(draft.project_id, REVIEW_CHANGED, facts)


def draft_closed(draft: Draft) -> None:
    """Tell the rooms of the draft that it takes nothing any more."""
    events.publish(draft.project_id, DRAFT_CLOSED, {"draft": str(draft.pk)})
