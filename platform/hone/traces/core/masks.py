"""Secrets taken out of spans before anything is stored.

Patterns are RE2's: they run in time linear in the text, whatever somebody writes or sends.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
import re2

from hone.traces.core.span import Event, Span
from hone.traces.core.text import json_text, text_clean

MAX_PATTERN_LEN: Final = 1000
MAX_REPLACEMENT_LEN: Final = 200
FAILED: Final = "[masking failed]"
_MAX_MEM: Final = 4 << 20  # of one compiled pattern
_TEXTS: Final = (
    *("name", "status_message", "trace_name", "model", "user_id", "session_id"),
    *("release", "version", "prompt_name"),
)

Hook = Callable[[int, str], str]


class PatternError(ValueError):
    """A pattern that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is looked for, and what takes its place (`\\1` stands for a group)."""

    pattern: Any  # a compiled pattern of re2
    replacement: str


@dataclass(frozen=True, slots=True)
class Masks:
    """A project's rules in their order, then the hook of the installation if it has one."""

    project_id: int
    rules: Sequence[Rule] = ()
    hook: Hook | None = None

    def __bool__(self) -> bool:
        return bool(self.rules) or self.hook is not None

    def text(self, text: str) -> str:
        """A text without what the rules find. A hook that fails costs the text, never the mask."""
        text = text_clean(text)
        for rule in self.rules:
            text = rule.pattern.sub(rule.replacement, text)
        if self.hook is None:
            return text
        try:
            return text_clean(str(self.hook(self.project_id, text)))
        except Exception:
            return FAILED

    def payload(self, payload: str | None) -> str | None:
        """A payload: JSON by its texts, keys and numbers, anything else as one text."""
        if payload is None:
            return None
        if payload.lstrip()[:1] in ("{", "["):
            try:
                value = orjson.loads(payload)
            except orjson.JSONDecodeError:
                return self.text(payload)
            hidden = self.value(value)
            return payload if hidden == value else json_text(hidden)
        return self.text(payload)

    def value(self, value: object) -> Any:
        """The same structure with every text, key and number masked."""
        if isinstance(value, str):
            return self._nested(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = str(value)
            hidden = self.text(written)
            return value if hidden == written else hidden
        return value

    def _nested(self, text: str) -> str:
        """A text that may hold JSON of its own, as attributes do."""
        return self.payload(text) or ""


def rule_of(pattern: str, replacement: str) -> Rule:
    """A rule; raises PatternError, naming the argument."""
    if not 0 < len(pattern) <= MAX_PATTERN_LEN:
        raise PatternError(f"pattern: got {len(pattern)} characters, want 1 to {MAX_PATTERN_LEN}")
    options = re2.Options()
    options.max_mem = _MAX_MEM
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
        compiled.sub(replacement, "")
    except re2.error as error:
        [reason] = error.args or ("unknown",)
        told = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise PatternError(f"pattern: {told}; want the syntax of RE2") from None
    if compiled.search("") is not None:
        raise PatternError("pattern: it matches the empty text, and so everything")
    if any(int(n) > compiled.groups for n in re2.findall(r"\\(\d)", replacement)):
        raise PatternError(f"replacement: the pattern has only {compiled.groups} groups")
    return Rule(compiled, replacement)


def masked(span: Span, masks: Masks) -> Span:
    """The span without what the masks find, in payloads, names, attributes and events alike."""
    changed: dict[str, Any] = {}
    for name in _TEXTS:
        given = getattr(span, name)
        if given:
            changed[name] = masks.text(given)
    return replace(
        span,
        **changed,
        input=masks.payload(span.input),
        output=masks.payload(span.output),
        metadata=masks.value(span.metadata),
        attributes=masks.value(span.attributes),
        model_parameters=masks.value(span.model_parameters),
        events=[_event(event, masks) for event in span.events],
        tags=tuple(masks.text(tag) for tag in span.tags),
    )


def _event(event: Event, masks: Masks) -> Event:
    return Event(masks.text(event.name), event.time_ns, masks.value(event.attributes))


def rules_of(given: Iterable[tuple[str, str]]) -> tuple[Rule, ...]:
    """Rules of stored patterns and replacements."""
    return tuple(rule_of(pattern, replacement) for pattern, replacement in given)
