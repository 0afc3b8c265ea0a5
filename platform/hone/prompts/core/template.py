"""Templates: `{{name}}` stands for a value. Nothing is evaluated, and values are not read again.

In a chat `{"type": "placeholder", "name": "history"}` stands for a list of messages.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

VARIABLE = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_.-]{0,99})[ \t]*\}\}")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")

# Text, or chat messages: [{"role": ..., "content": text or list of parts, ...}]
Template = str | list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Rendered:
    content: Template
    missing: tuple[str, ...]  # variables without a value, which stay as they stood


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def variables(template: Template) -> list[str]:
    """The names in the template, each once, in the order of their first appearance."""
    return list(dict.fromkeys(name for text in _texts(template) for name in VARIABLE.findall(text)))


def is_placeholder(message: dict[str, Any]) -> bool:
    """Whether this message only keeps a place for others."""
    name = message.get("name")
    is_named = isinstance(name, str) and NAME.fullmatch(name) is not None
    return message.get("type") == "placeholder" and is_named and "content" not in message


def placeholders(template: Template) -> list[str]:
    """The names of places for messages, in order."""
    messages = template if isinstance(template, list) else []
    return list(dict.fromkeys(m["name"] for m in messages if is_placeholder(m)))


def as_text(value: Any) -> str:
    """A value as it appears in the text: strings as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fill(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return VARIABLE.sub(
            lambda m: as_text(values[m[1]]) if m[1] in values else m[0],
            value,
        )
    if isinstance(value, dict):
        return {key: _fill(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, values) for item in value]
    return value


def render(template: Template, values: Mapping[str, Any]) -> Rendered:
    """The template with its values; what is missing stays as it stood and is named."""
    names = [*variables(template), *placeholders(template)]
    missing = tuple(name for name in names if name not in values)
    return Rendered(_placed(_fill(template, values), values), missing)


def _placed(template: Template, values: Mapping[str, Any]) -> Template:
    """The template, filled in, with messages where there were placeholders for them."""
    if isinstance(template, str):
        return template
    placed: list[dict[str, Any]] = []
    for message in template:
        given = values.get(message["name"]) if is_placeholder(message) else None
        if isinstance(given, list) and all(isinstance(item, dict) for item in given):
            placed += given
        else:
            placed.append(message)
    return placed
