"""What a version holds: a text or chat messages, and the configuration of the call."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from hone.common.errors import InvalidError
from hone.prompts.core.declarations import declarations_clean
from hone.prompts.core.template import Template, is_placeholder, variables

TEXT, CHAT = "text", "chat"
ROLES = ("system", "developer", "user", "assistant", "tool")
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Content:
    """The immutable part of a version."""

    type: str
    prompt: Template
    config: dict[str, Any]
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)  # declared of variables

    @property
    def variables(self) -> list[str]:
        return variables(self.prompt)

    @property
    def hash(self) -> str:
        """SHA-256 of type, prompt, config and what is declared in canonical JSON: 64 hex digits."""
        value = {"type": self.type, "prompt": self.prompt, "config": self.config}
        value |= {"inputs": self.inputs} if self.inputs else {}
        return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def content_of(type: str, prompt: Any, config: Any, inputs: Any = None) -> Content:
    """A checked content; raises InvalidError naming what is wrong."""
    if type not in (TEXT, CHAT):
        raise InvalidError(f"type: got {str(type)[:40]!r}, want text or chat", field="type")
    if not isinstance(config, dict):
        raise InvalidError("config: want an object", field="config")
    if type == TEXT and not isinstance(prompt, str):
        raise InvalidError("prompt: a text prompt is a string", field="prompt")
    if type == CHAT:
        _check_messages(prompt)
    _check_size(prompt, "prompt")
    _check_size(config, "config")
    return Content(
        type, cast(Template, prompt), config, declarations_clean({} if inputs is None else inputs)
    )


def _check_messages(prompt: Any) -> None:
    if not isinstance(prompt, list) or not prompt:
        raise InvalidError("prompt: a chat prompt is a list of messages", field="prompt")
    for position, message in enumerate(prompt):
        field = f"prompt.{position}"
        if not isinstance(message, dict):
            raise InvalidError(f"{field}: want an object with role and content", field=field)
        if is_placeholder(message):
            continue
        if message.get("role") not in ROLES:
            raise InvalidError(f"{field}.role: want one of {', '.join(ROLES)}", field=field)
        _check_content(message, field)


def _check_content(message: dict[str, Any], field: str) -> None:
    content = message.get("content")
    calls_only = content is None and bool(message.get("tool_calls"))
    is_parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
    if not (isinstance(content, str) or is_parts or calls_only):
        raise InvalidError(f"{field}.content: want text or a list of parts", field=field)


def _check_size(value: Any, field: str) -> None:
    if _depth(value) > MAX_DEPTH:
        raise InvalidError(f"{field}: nested more than {MAX_DEPTH} deep", field=field)
    if len(orjson.dumps(value)) > MAX_BYTES:
        raise InvalidError(f"{field}: more than {MAX_BYTES} bytes", field=field)


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _depth(value: Any) -> int:
    """How deep a JSON value is nested; stops counting past MAX_DEPTH."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        level = [item for value in level for item in _items(value)]
        depth += 1
    return depth
