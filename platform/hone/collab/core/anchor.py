"""Relative positions as Yjs encodes them (`Y.encodeRelativePosition`).

0 client clock   an item           1 name   a root type         2 client clock   a shared type
and then which side it clings to: a signed number
"""

from typing import Final

from hone.collab.core.frames import FrameError, Reader

ITEM, ROOT, TYPE = 0, 1, 2
MOST_BYTES: Final = 300


class AnchorError(ValueError):
    """Bytes that are no relative position; the message says why."""


def anchor_check(data: bytes) -> None:
    """Raise AnchorError unless the bytes are a relative position, or none at all."""
    if not data:
        return
    if len(data) > MOST_BYTES:
        raise AnchorError(f"got {len(data)} bytes, want a relative position of Yjs")
    reader = Reader(data)
    try:
        kind = reader.number()
        if kind == ROOT:
            reader.text()
        elif kind in (ITEM, TYPE):
            reader.number()
            reader.number()
        else:
            raise AnchorError(f"got kind {kind}, want a relative position of Yjs")
        if not reader.is_done():
            reader.number()
    except FrameError as error:
        raise AnchorError(f"want a relative position of Yjs; {error}") from None
    if not reader.is_done():
        raise AnchorError("want a relative position of Yjs, and nothing after it")
