"""Ids of any text as the hex ids under which traces and observations are kept.

OpenTelemetry's ids stay as they are. Older SDKs send UUIDs, and applications send what they like:
a UUID keeps its digits as a trace id, everything else is hashed. The same text gives the same id
in every process, so parents and scores may come before what they name.
"""

import hashlib
import re
from typing import Final

MAX_LEN: Final = 800
TRACE_SCOPE: Final = "langfuse.trace"  # of the observation that stands for a trace (core.legacy)
_TRACE: Final = re.compile("[0-9a-f]{32}")
_SPAN: Final = re.compile("[0-9a-f]{16}")
_UUID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16


def trace_key(text: str) -> str:
    """The trace id, 32 hex digits, that `text` names."""
    if _TRACE.fullmatch(text) and text != _NO_TRACE:
        return text
    if _UUID.fullmatch(text) and text.replace("-", "") != _NO_TRACE:
        return text.replace("-", "")
    return _hashed(text)[:32]


def span_key(text: str) -> str:
    """The observation id, 16 hex digits, that `text` names."""
    if _SPAN.fullmatch(text) and text != _NO_SPAN:
        return text
    return _hashed(text)[:16]


def root_key(trace_id: str) -> str:
    """The id of the observation that stands for a trace sent by itself (core.legacy)."""
    return _hashed(f"trace {trace_id}")[:16]


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
