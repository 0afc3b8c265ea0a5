"""Conditions read from JSON; raises InvalidError naming the place."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import orjson

from hone.common.errors import InvalidError
from hone.common.public.params import moment_read

MAX_CONDITIONS: Final = 50
MAX_TEXT_LEN: Final = 1000
MAX_VALUES: Final = 500
_STRING: Final = ("=", "<>", "contains", "does not contain", "starts with", "ends with", "matches")
_ORDER: Final = (">", "<", ">=", "<=")
_NUMBER: Final = ("=", "<>", *_ORDER)
_ANY: Final = ("any of", "none of")
_SET: Final = ("is set", "is not set")
OPERATORS: Final[Mapping[str, tuple[str, ...]]] = {
    "datetime": _ORDER,
    "string": _STRING,
    "number": _NUMBER,
    "stringOptions": _ANY,
    "categoryOptions": _ANY,
    "arrayOptions": (*_ANY, "all of"),
    "stringObject": (*_STRING, *_SET),
    "numberObject": (*_NUMBER, *_SET),
    "boolean": ("=", "<>"),
    "null": ("is null", "is not null"),
}
_SPELLED: Final = {"!=": "<>"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition, its type and operator known to fit.

    `value` is a text, a Decimal, a bool, a moment, texts, or None, as `type` and `operator` say;
    `key` names the member of a JSON object that is compared.
    """

    type: str
    column: str
    operator: str
    value: Any = None
    key: str | None = None


def conditions_of(text: str | None) -> tuple[Condition, ...]:
    """The conditions that a JSON array spells, none for none; raises InvalidError."""
    if not text:
        return ()
    try:
        entries = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _bad("filter", f"got {text[:40]!r}, want a JSON array") from None
    if not isinstance(entries, list) or len(entries) > MAX_CONDITIONS:
        raise _bad("filter", f"want an array of at most {MAX_CONDITIONS} conditions")
    return tuple(_condition(entry, f"filter[{at}]") for at, entry in enumerate(entries))


def _bad(at: str, message: str) -> InvalidError:
    return InvalidError(f"{at}: {message}", field="filter")


def _condition(entry: Any, at: str) -> Condition:
    if not isinstance(entry, dict):
        raise _bad(at, "want an object with type, column, operator and value")
    kind, column = entry.get("type"), entry.get("column")
    operator, key = entry.get("operator"), entry.get("key")
    if not isinstance(kind, str) or kind not in OPERATORS:
        raise _bad(f"{at}.type", f"got {str(kind)[:40]!r}, want one of {', '.join(OPERATORS)}")
    if not isinstance(column, str):
        raise _bad(f"{at}.column", "want a column's name")
    operator = _SPELLED.get(str(operator), operator)
    if operator not in OPERATORS[kind]:
        wanted = ", ".join(OPERATORS[kind])
        raise _bad(f"{at}.operator", f"got {str(operator)[:40]!r} for {kind}, want one of {wanted}")
    if kind.endswith("Object") and not _is_text(key):
        raise _bad(f"{at}.key", f"want the key that is compared, at most {MAX_TEXT_LEN} characters")
    return Condition(kind, column, operator, _value(kind, operator, entry.get("value"), at), key)


def _value(kind: str, operator: str, value: Any, at: str) -> Any:
    if operator in _SET or kind == "null":
        return None
    if kind == "datetime" and isinstance(value, str):
        return moment_read(value, "filter")
    if kind in ("string", "stringObject") and _is_text(value):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind in ("number", "numberObject") and is_number:
        return Decimal(str(value))
    if kind.endswith("Options") and isinstance(value, list) and len(value) <= MAX_VALUES:
        if all(map(_is_text, value)):
            return tuple(value)
    elif kind == "boolean" and isinstance(value, bool):
        return value
    raise _bad(f"{at}.value", f"{str(value)[:40]!r} does not fit {kind} (texts have at most"
               f" {MAX_TEXT_LEN} characters and no NUL, arrays {MAX_VALUES} of them)")  # fmt: skip


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT_LEN and "\x00" not in value
