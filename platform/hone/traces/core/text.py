"""Values as text that PostgreSQL can hold.

PostgreSQL text has no NUL and no lone surrogate. Both are kept as the six characters of their
JSON escape (`\\u0000`, `\\ud800`), in plain text and in JSON alike.
"""

import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

import orjson

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_OPTIONS: Final = orjson.OPT_NON_STR_KEYS


def text_clean(value: str) -> str:
    """`value` with what PostgreSQL text cannot hold replaced by its JSON escape."""
    if "\x00" in value:
        value = value.replace("\x00", "\\u0000")
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    return value


def json_text(value: object) -> str:
    """`value` as compact JSON.

    Bytes become hex, decimals and unknown objects their text. A number that JSON cannot say
    must have been named before (`number_named`); it would become null here.
    """
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS).decode()
    except TypeError:  # a lone surrogate, an integer over 64 bits, or nested over 254 deep
        return json.dumps(value, default=_plain, separators=(",", ":"))


def payload_text(value: object) -> str | None:
    """A payload as stored: a string as it is, None as None, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json_text(value)


def json_spelled(text: str, *, ascii_only: bool = False) -> str:
    """`text` as it stands inside of a JSON string."""
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def number_named(value: float) -> float | str:
    """`value`, or its name ("NaN", "Infinity", "-Infinity") where JSON has no number for it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def json_value(text: str | None) -> object:
    """What `text` says where it is a JSON object or array, else `text` itself."""
    if text is None or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json_stored(text)
    except ValueError:
        return text


def json_stored(text: str) -> Any:
    """The value of JSON text as it is stored; lone surrogates as the text of their escape.

    Raises ValueError for what is no JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if "\\u" not in text:
            raise
        try:
            return _without_surrogates(json.loads(text))
        except RecursionError:
            raise ValueError("nested too deep") from None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Iterable):
        return list(value)
    return str(value)
