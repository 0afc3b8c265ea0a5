"""Writes of shared drafts: the log, compaction, publishing."""

from hone.collab.services.drafts import draft_close, draft_create, draft_main, draft_publish
from hone.collab.services.log import Edit, Refused, draft_compact, edits_append

__all__ = [
    "Edit",
    "Refused",
    "draft_close",
    "draft_compact",
    "draft_create",
    "draft_main",
    "draft_publish",
    "edits_append",
]
