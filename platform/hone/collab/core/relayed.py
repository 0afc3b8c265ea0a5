"""How the rooms of several processes spell what they tell one another."""

import struct
from typing import Final
from uuid import UUID

EDIT, AWARENESS, WHO = 1, 2, 3
INLINE_LEN: Final = 64 * 1024  # longer updates are read from the log
HEAD: Final = struct.Struct(">B8sQ")  # kind, who sends it, the log's number


def pack(kind: int, sender: bytes, seq: int, data: bytes) -> bytes:
    return HEAD.pack(kind, sender, seq) + data


def pack_edit(sender: bytes, seq: int, update: bytes) -> bytes:
    """An edit that is in the log under a number."""
    return pack(EDIT, sender, seq, update if len(update) <= INLINE_LEN else b"")


def room_name(draft_id: UUID) -> tuple[str, str]:
    """The parts of the name of a room's channel."""
    return ("room", draft_id.hex)
