"""One line of what was really said, out of whatever shape a payload has."""

from collections.abc import Iterable, Iterator
from typing import Final

import orjson

from hone.traces.core.text import json_text, text_clean

PREVIEW_LEN: Final = 200
_PARSED_LEN: Final = 1 << 20  # a longer payload is not parsed for the sake of one line
_DEPTH: Final = 6
# Where the text, or what leads to it, is found in an object, first match wins.
_PATHS: Final = (
    "messages",
    "choices",
    "message",
    "content",
    "parts",
    "contents",
    "text",
    "input",
    "output",
    "question",
    "query",
    "prompt",
    "answer",
    "response",
    "result",
    "generations",
    "function",
    "tool_calls",
)
_SAID_BY_US: Final = ("user", "human")


def preview(payload: str | None, *, of_input: bool) -> str | None:
    """At most PREVIEW_LEN characters of the last user message (input) or the answer (output).

    None where there is nothing to show.
    """
    if not payload:
        return None
    head = payload.lstrip()[:1]
    if head in ("{", "[", '"') and len(payload) <= _PARSED_LEN:
        try:
            return _line(_text(orjson.loads(payload), of_input, _DEPTH))
        except orjson.JSONDecodeError:
            pass
    return _line(payload)


def _line(text: str | None) -> str | None:
    if text is None:
        return None
    # What JSON spells as an escape may be a character that PostgreSQL text cannot hold.
    line = text_clean(" ".join(text[: 2 * PREVIEW_LEN].split()))
    return line if len(line) <= PREVIEW_LEN else line[: PREVIEW_LEN - 1] + "…"


def _text(value: object, of_input: bool, depth: int) -> str | None:
    """The telling text inside `value`."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, bool | int | float):
        return str(value)
    if depth and isinstance(value, list):
        return _first_text(_telling(value, of_input), of_input, depth - 1)
    if depth and isinstance(value, dict):
        return _of_object(value, of_input, depth - 1)
    return None


def _of_object(value: dict[str, object], of_input: bool, depth: int) -> str | None:
    if isinstance(value.get("name"), str) and "arguments" in value:
        arguments = value["arguments"]
        told = arguments if isinstance(arguments, str) else json_text(arguments)
        return f"{value['name']}({told})"
    known = (value[key] for key in _PATHS if key in value)
    other = (item for key, item in value.items() if key not in ("role", "type", "id"))
    return _first_text(known, of_input, depth) or _first_text(other, of_input, depth)


def _first_text(values: Iterable[object], of_input: bool, depth: int) -> str | None:
    for value in values:
        text = _text(value, of_input, depth)
        if text is not None:
            return text
    return None


def _telling(items: list[object], of_input: bool) -> Iterator[object]:
    """The items in the order in which they deserve to be shown."""
    messages = [item for item in items if isinstance(item, dict) and "role" in item]
    if not messages:
        yield from items
    elif of_input:
        yield from (item for item in reversed(messages) if item["role"] in _SAID_BY_US)
        yield from reversed(messages)
    else:
        yield from reversed(messages)
