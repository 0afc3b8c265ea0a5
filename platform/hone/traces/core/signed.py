"""Addresses that open one thing for a short time: what is opened, until when, and a signature."""

import base64
import binascii
import hmac
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import orjson

Sign = Callable[[str], str]  # text to a signature that only this installation can make


def token_make(facts: Sequence[str | int], until: datetime, sign: Sign) -> str:
    """A token for `facts` that ends at `until`; it fits into a path."""
    raw = orjson.dumps([*facts, int(until.timestamp())])
    body = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return f"{body}.{sign(body)}"


def token_read(token: str, now: datetime, sign: Sign) -> list[str | int] | None:
    """The facts of a token; None where it is not ours or its time is over."""
    body, _, signature = token.partition(".")
    if not hmac.compare_digest(sign(body).encode(), signature.encode()):
        return None
    try:
        *facts, until = orjson.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, binascii.Error):
        return None
    return facts if datetime.fromtimestamp(until, UTC) > now else None
