"""One version of a prompt."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_VARIABLE: Final = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_.-]{0,99})[ \t]*\}\}")
Template = str | list[dict[str, Any]]


class PromptError(Exception):
    """A prompt could not be had and no fallback was given."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text, or a list of chat messages, with `{{variables}}`."""

    name: str
    version: int
    prompt: Template
    config: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    is_fallback: bool = False

    @property
    def is_chat(self) -> bool:
        return not isinstance(self.prompt, str)

    def compile(self, **variables: object) -> Any:
        """The prompt with its variables filled in; those without a value stay as they stand."""
        return _filled(self.prompt, variables)


def prompt_of(body: Any) -> Prompt:
    """The prompt in the server's answer; raises PromptError where there is none in it."""
    try:
        if not isinstance(body["prompt"], str | list):
            raise TypeError("prompt is neither text nor messages")
        return Prompt(
            name=str(body["name"]),
            version=int(body["version"]),
            prompt=body["prompt"],
            config=body.get("config") or {},
            labels=tuple(body.get("labels") or ()),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PromptError(f"The server's answer holds no prompt: {error}") from None


def _filled(template: Any, variables: Mapping[str, object]) -> Any:
    if isinstance(template, str):
        return _VARIABLE.sub(
            lambda m: _text(variables[m[1]]) if m[1] in variables else m[0], template
        )
    if isinstance(template, dict):
        return {key: _filled(item, variables) for key, item in template.items()}
    if isinstance(template, list):
        return _messages(template, variables)
    return template


def _messages(template: list[Any], variables: Mapping[str, object]) -> list[Any]:
    """A list, with a message list in the place of each `{"type": "placeholder"}`."""
    filled: list[Any] = []
    for item in template:
        is_placeholder = isinstance(item, dict) and item.get("type") == "placeholder"
        given = variables.get(str(item.get("name"))) if is_placeholder else None
        if isinstance(given, list):
            filled.extend(given)
        else:
            filled.append(_filled(item, variables))
    return filled


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
