"""Frames of text/event-stream."""

from typing import Final

import orjson

PING: Final = b": ping\n\n"
CONTENT_TYPE: Final = "text/event-stream"


def frame(event: str, data: object, number: int | None = None) -> bytes:
    """One event; a client that comes back names the `number` of the latest it saw."""
    head = f"id: {number}\n" if number is not None else ""
    text = orjson.dumps(data, option=orjson.OPT_UTC_Z, default=str)
    return f"{head}event: {event}\ndata: ".encode() + text + b"\n\n"
