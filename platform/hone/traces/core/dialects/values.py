"""Attribute values read leniently: what cannot be read is None, never an exception."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

import orjson

from hone.traces.core.text import json_text

Attributes = Mapping[str, object]
MAX_COUNT: Final = 2**40  # tokens; sums over a trace must stay within 64 bits


def first(attributes: Attributes, keys: Iterable[str]) -> object:
    """The first value among `keys` that says anything."""
    for key in keys:
        value = attributes.get(key)
        if value is not None and value != "":
            return value
    return None


def first_text(attributes: Attributes, keys: Iterable[str]) -> str | None:
    value = first(attributes, keys)
    if value is None or isinstance(value, str):
        return value
    return json_text(value)


def whole(value: object) -> int | None:
    """A count: an integer that is not negative, also written as text or as 3.0."""
    if type(value) is int:
        return value if 0 <= value < MAX_COUNT else None
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = int(value) if value.isdecimal() and len(value) < 19 else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < MAX_COUNT else None


def seconds(value: object) -> float | None:
    """A duration that is finite and not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e9 else None


def money(value: object) -> Decimal | None:
    """An amount in USD that is finite and not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount < 10**9 else None


def json_mapping(value: object) -> dict[str, object] | None:
    """A mapping, also one written as JSON text."""
    if value is None:
        return None
    value = decoded(value)
    return value if isinstance(value, dict) else None


def decoded(value: object) -> object:
    """What JSON text says; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value


def texts(value: object) -> tuple[str, ...]:
    """A list of strings, also one written as a JSON array, by commas, or as a single string."""
    if isinstance(value, str):
        value = decoded(value) if value.lstrip().startswith("[") else value.split(",")
    if not isinstance(value, list):
        return ()
    named = (item.strip() if isinstance(item, str) else json_text(item) for item in value)
    return tuple(sorted({name for name in named if name}))


def instant_ns(value: object) -> int | None:
    """Unix nanoseconds of an ISO 8601 text, which may be JSON-encoded once more."""
    value = None if value is None else decoded(value)
    if not isinstance(value, str):
        return None
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return None
    since = (instant if instant.tzinfo else instant.replace(tzinfo=UTC)) - _EPOCH
    nanoseconds = ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000
    return nanoseconds if nanoseconds >= 0 else None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
