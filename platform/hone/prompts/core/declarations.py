"""What a version says of its variables: a type, an example and a description each.

Declarations help whoever writes and tries a prompt; `problems` tells where given values do not
fit them. A variable need not be declared, and what is declared need not occur.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from hone.common.errors import InvalidError
from hone.prompts.core.template import NAME

TYPES: Final = ("text", "number", "boolean", "list", "object", "messages")
FIELDS: Final = frozenset({"type", "example", "description"})
MAX_VARIABLES, MAX_BYTES, DESCRIPTION_LEN = 200, 100_000, 1000


def declarations_clean(value: Any) -> dict[str, dict[str, Any]]:
    """Checked declarations by variable; raises InvalidError naming what is wrong."""
    if not isinstance(value, dict):
        raise InvalidError("inputs: want an object of variables", field="inputs")
    if len(value) > MAX_VARIABLES or len(orjson.dumps(value)) > MAX_BYTES:
        raise InvalidError(
            f"inputs: want at most {MAX_VARIABLES} variables and {MAX_BYTES} bytes", field="inputs"
        )
    return {name: _declaration(name, given) for name, given in value.items()}


def _declaration(name: str, given: Any) -> dict[str, Any]:
    field = f"inputs.{name[:100]}"
    if not NAME.fullmatch(name):
        raise InvalidError(f"{field}: this is no name of a variable", field="inputs")
    if not isinstance(given, dict) or not given.keys() <= FIELDS:
        raise InvalidError(f"{field}: want type, example and description", field="inputs")
    kind, description = given.get("type", "text"), given.get("description", "")
    if kind not in TYPES:
        raise InvalidError(f"{field}.type: want one of {', '.join(TYPES)}", field="inputs")
    if not isinstance(description, str) or len(description) > DESCRIPTION_LEN:
        raise InvalidError(
            f"{field}.description: want at most {DESCRIPTION_LEN} characters", field="inputs"
        )
    example = given.get("example")
    if example not in (None, "") and not fits(kind, example):
        raise InvalidError(f"{field}.example: this is no {kind}", field="inputs")
    kept = {"type": kind, "example": example, "description": description}
    return {key: item for key, item in kept.items() if item not in (None, "") or key == "type"}


def fits(kind: str, value: Any) -> bool:
    """Whether a value is of a declared type; numbers and truths may come as text."""
    match kind:
        case "text":
            return isinstance(value, str)
        case "number":
            return _is_number(value)
        case "boolean":
            return isinstance(value, bool) or value in ("true", "false")
        case "list":
            return isinstance(value, list)
        case "messages":
            return isinstance(value, list) and all(isinstance(item, dict) for item in value)
        case _:
            return isinstance(value, dict)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def problems(declared: Mapping[str, Mapping[str, Any]], values: Mapping[str, Any]) -> list[str]:
    """In words, which of `values` do not fit what is declared of them."""
    return [
        f"{name}: wanted {declared[name].get('type', 'text')}, got {type(value).__name__}"
        for name, value in values.items()
        if name in declared and not fits(str(declared[name].get("type", "text")), value)
    ]
