"""Conversations and documents rebuilt from attributes that number their parts."""

from collections.abc import Iterable, Sequence
from typing import Final

from hone.traces.core.dialects.values import Attributes, decoded
from hone.traces.core.span import Event
from hone.traces.core.text import json_text

MAX_INDEX: Final = 10_000
# Wrappers that OpenInference puts between an index and the field it means.
_WRAPPERS: Final = frozenset({"message", "tool_call", "message_content", "document"})
_MESSAGE_EVENTS: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
# Events whose attributes become input and output.
SPECIAL_EVENTS: Final = frozenset(
    {
        *_MESSAGE_EVENTS,
        "gen_ai.choice",
        "gen_ai.content.prompt",
        "gen_ai.content.completion",
        "gen_ai.client.inference.operation.details",
    }
)

# The shape of a value: a leaf names the attribute that stands there.
Tree = str | list["Tree"] | dict[str, "Tree"]


def tree_of(prefix: str, rests: Sequence[str]) -> Tree | None:
    """The list that keys such as `0.message.role` (after `prefix`) spell.

    None where an index is missing, over MAX_INDEX, or a key stands where another needs a
    container: then the flat attributes stay as they are, nothing is lost.
    """
    root: dict[str, Tree] = {}
    for rest in rests:
        path = [part for part in rest.split(".") if part not in _WRAPPERS]
        if not _plant(root, path, prefix + rest):
            return None
    items = _listed(root)
    return items if isinstance(items, list) else None


def grown(tree: Tree, attributes: Attributes) -> object:
    """The value of that shape with the attributes in their places."""
    if isinstance(tree, str):
        return attributes[tree]
    if isinstance(tree, list):
        return [grown(branch, attributes) for branch in tree]
    return {key: grown(branch, attributes) for key, branch in tree.items()}


def _plant(node: dict[str, Tree], path: list[str], leaf: str) -> bool:
    if not path or any(_is_hostile(part) for part in path):
        return False
    for part in path[:-1]:
        below = node.setdefault(part, {})
        if not isinstance(below, dict):
            return False
        node = below
    if path[-1] in node:
        return False
    node[path[-1]] = leaf
    return True


def _is_hostile(part: str) -> bool:
    if part.isdecimal():
        return len(part) > 5 or int(part) > MAX_INDEX
    return part.startswith("__")


def _listed(node: Tree) -> Tree:
    """Turns mappings whose keys are all numbers into lists, in order."""
    if not isinstance(node, dict):
        return node
    if node and all(key.isdecimal() for key in node):
        return [_listed(node[key]) for key in sorted(node, key=int)]
    return {key: _listed(value) for key, value in node.items()}


def from_events(events: Iterable[Event]) -> tuple[str | None, str | None]:
    """Input and output that older GenAI instrumentations sent as span events."""
    asked: list[object] = []
    answered: list[object] = []
    for event in events:
        if event.name in _MESSAGE_EVENTS:
            asked.append({"role": _MESSAGE_EVENTS[event.name], **_opened(event.attributes)})
        elif event.name == "gen_ai.choice":
            answered.append(_opened(event.attributes))
        elif event.name == "gen_ai.content.prompt":
            asked.append(decoded(event.attributes.get("gen_ai.prompt")))
        elif event.name == "gen_ai.content.completion":
            answered.append(decoded(event.attributes.get("gen_ai.completion")))
        elif event.name == "gen_ai.client.inference.operation.details":
            asked.append(decoded(event.attributes.get("gen_ai.input.messages")))
            answered.append(decoded(event.attributes.get("gen_ai.output.messages")))
    return _joined(asked), _joined(answered)


def events_listed(value: object) -> list[Event]:
    """Events that stand as JSON in one attribute, each with its name among its fields."""
    listed = decoded(value)
    fields = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [Event(str(item.get("event.name")), 0, _without_mark(item)) for item in fields]


def _without_mark(fields: Attributes) -> dict[str, object]:
    marks = ("event.name", "role", "gen_ai.message.index")
    return {key: value for key, value in fields.items() if key not in marks}


def _opened(attributes: Attributes) -> dict[str, object]:
    return {key: decoded(value) for key, value in attributes.items() if key != "gen_ai.system"}


def _joined(items: list[object]) -> str | None:
    said = [item for item in items if item is not None]
    if not said:
        return None
    return json_text(said[0] if len(said) == 1 and isinstance(said[0], list) else said)


def with_instructions(messages: str, instructions: object) -> str:
    """GenAI messages with the system instructions in front, unless they have some."""
    conversation, parts = decoded(messages), decoded(instructions)
    if not isinstance(conversation, list) or any(_is_system(item) for item in conversation):
        return messages
    said = parts if isinstance(parts, list) else [{"type": "text", "content": parts}]
    return json_text([{"role": "system", "parts": said}, *conversation])


def _is_system(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") == "system"
