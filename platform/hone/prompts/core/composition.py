"""Prompts inside prompts: a tag stands for the text of another one.

`{{> NAME@3}}`, `{{> NAME@LABEL}}` or `{{> NAME}}` (label production, else the latest); or
`@@@langfusePrompt:name=NAME|version=3@@@` and `…|label=LABEL@@@`, as Langfuse's prompts have it.
"""

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hone.common.errors import InvalidError
from hone.prompts.core.names import Reference, reference_parse
from hone.prompts.core.template import Template

MARKS: Final = ("@@@langfusePrompt:", "{{>")
MAX_DEPTH: Final = 5
MAX_PARTS: Final = 100  # texts put in, over all depths
_TAG: Final = re.compile(
    r"@@@langfusePrompt:name=([^|@]+)\|(?:version=(\d{1,9})|label=([^|@]+))@@@"
    r"|\{\{>[ \t]*([^@{}\n]+?(?:@[^@{}\s]+)?)[ \t]*\}\}"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A version that a tag names."""

    name: str
    version: int
    template: Template


@dataclass(slots=True)
class Composed:
    """A template without tags, and the versions of which it was made, from the outside inwards."""

    template: Template
    parts: list[Part]


def composed(template: Template, read: Callable[[Reference], Part]) -> Composed:
    """`template` with the texts of its tags in their place.

    `read` finds a version or raises NotFoundError. Raises InvalidError for a chat inside a text,
    for what contains itself, and for what is too deep or too long.
    """
    parts: list[Part] = []

    def inner(reference: Reference, above: tuple[str, ...]) -> str:
        part = read(reference)
        if part.name in above:
            raise InvalidError(f"prompt: {part.name!r} contains itself", field="prompt")
        if len(above) > MAX_DEPTH or len(parts) >= MAX_PARTS:
            raise InvalidError(f"prompt: prompts lie more than {MAX_DEPTH} deep", field="prompt")
        if not isinstance(part.template, str):
            raise InvalidError(f"prompt: {part.name!r} is a chat, not a text", field="prompt")
        parts.append(part)
        return replaced(part.template, (*above, part.name))

    def replaced(text: str, above: tuple[str, ...]) -> str:
        return _TAG.sub(lambda found: inner(_reference(found), above), text)

    return Composed(_texts_changed(template, lambda text: replaced(text, ("",))), parts)


def references(template: Template) -> list[Reference]:
    """What the tags of a template name, in order; a tag that names nothing valid is left out."""
    found: list[Reference] = []

    def seen(text: str) -> str:
        for tag in _TAG.finditer(text):
            with contextlib.suppress(InvalidError):
                found.append(_reference(tag))
        return text

    _texts_changed(template, seen)
    return found


def has_tags(template: Template) -> bool:
    """Whether there is anything to put in."""
    texts = [template] if isinstance(template, str) else [str(m.get("content")) for m in template]
    return any(mark in text for text in texts for mark in MARKS)


def _reference(found: re.Match[str]) -> Reference:
    if found[4] is not None:
        return reference_parse(found[4])
    number, label = found[2], found[3]
    return Reference(found[1], int(number) if number else None, label)


def _texts_changed(template: Template, change: Callable[[str], str]) -> Template:
    if isinstance(template, str):
        return change(template)
    return [_message_changed(message, change) for message in template]


def _message_changed(message: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": change(content)}
    if isinstance(content, list):
        parts = [
            {**part, "text": change(part["text"])} if isinstance(part.get("text"), str) else part
            for part in content
        ]
        return {**message, "content": parts}
    return dict(message)
