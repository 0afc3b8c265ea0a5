"""Spans cut to what columns and indexes can hold. Attributes keep the whole value."""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from hone.traces.core.span import Span
from hone.traces.core.text import text_clean

_UNLIMITED: Final = 1 << 40
# An index entry has at most 2,704 bytes, a character up to 4.
LIMITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "name": 500,
        "status_message": _UNLIMITED,
        "model": 200,
        "input": _UNLIMITED,
        "output": _UNLIMITED,
        "prompt_name": 500,
        "session_id": 500,
        "user_id": 500,
        "environment": 100,
        "release": 200,
        "version": 200,
        "trace_name": 500,
        "scope": 200,
    }
)
_values: Final = attrgetter(*LIMITS)
PROMPT_VERSION_LEN: Final = 200
MAX_TAGS: Final = 50
MAX_TAG_LEN: Final = 200


def fitted(span: Span) -> Span:
    """`span` with texts that PostgreSQL holds, in their length; itself where nothing is to do."""
    changed: dict[str, object] = {}
    for (field, limit), value in zip(LIMITS.items(), _values(span), strict=True):
        if value is None:
            continue
        cut = text_clean(value if len(value) <= limit else value[:limit])
        if cut is not value:
            changed[field] = cut
        if not cut and field != "name":
            changed[field] = None
    if span.tags:
        changed["tags"] = tuple(text_clean(tag[:MAX_TAG_LEN]) for tag in span.tags[:MAX_TAGS])
    if isinstance(span.prompt_version, str):
        changed["prompt_version"] = text_clean(span.prompt_version[:PROMPT_VERSION_LEN])
    return replace(span, **changed) if changed else span  # type: ignore[arg-type]
