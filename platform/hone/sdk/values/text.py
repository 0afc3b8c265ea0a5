"""Any Python value as text of bounded length; never raises."""

import json
from typing import Final

from hone.sdk.values.objects import said
from hone.sdk.values.plain import Budget, plain

# What is spent at most on one value, in the thread of the host application.
MAX_NODES: Final = 20_000
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def value_text(value: object, limit: int) -> str:
    """A text as it is, anything else as JSON; at most `limit` characters and a note of the cut."""
    if type(value) is str:
        return cut(value, limit)
    try:
        # An eighth is for quotes, escapes and notes of cuts, so that what comes is whole JSON.
        budget = Budget(MAX_NODES, limit - limit // 8)
        return cut(_encode(plain(value, budget)), limit)
    except Exception as error:
        return f"<unreadable: {type(error).__name__}>"


def cut(text: str, limit: int) -> str:
    """`text`, or its beginning with a note of how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [{len(text) - limit} characters cut]"


def error_text(error: BaseException, limit: int = 10_000) -> str:
    """`ValueError: what it says`."""
    try:
        return cut(said(error), limit)
    except Exception:
        return type(error).__name__
