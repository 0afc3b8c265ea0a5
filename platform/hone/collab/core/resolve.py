"""A merge and what was chosen of its conflicts, as one content."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hone.collab.core.merge import Conflict, Entry, Held, Merge, Setting, Settings, Stretch
from hone.collab.core.pairing import Message
from hone.collab.core.shape import Shape

Take = Literal["mine", "theirs", "both", "edit"]


class ChoiceError(ValueError):
    """A choice that cannot be made; the message says why."""


@dataclass(frozen=True, slots=True)
class Choice:
    """mine, theirs, both (texts: mine and then theirs), or `value` in their place (edit)."""

    take: Take
    value: Any = None


Choices = Mapping[str, Choice]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The content, and for each message its place in mine's list, None for a new one."""

    shape: Shape
    origins: list[int | None]


def merge_resolve(merge: Merge, choices: Choices) -> Resolved:
    """The content; a conflict without a choice takes mine. Raises ChoiceError."""
    config, variables = _settings(merge.config, choices), _settings(merge.variables, choices)
    if merge.type == "text":
        prompt: str | list[dict[str, Any]] = _text(merge.text, choices)
        return Resolved(Shape("text", prompt, config, variables), [])
    kept = []
    for place in _order(merge, choices):
        entry = merge.entries[place]
        if (message := _message(entry, choices)) is not None:
            kept.append((message, entry.mine))
    prompt = [message for message, _ in kept]
    return Resolved(Shape("chat", prompt, config, variables), [mine for _, mine in kept])


def _text(stretches: list[Stretch], choices: Choices) -> str:
    return "".join(_stretch(stretch, choices) for stretch in stretches)


def _stretch(stretch: Stretch, choices: Choices) -> str:
    choice = stretch.conflict and choices.get(stretch.conflict.id)
    if not choice:
        return stretch.piece.text
    if choice.take == "edit":
        if not isinstance(choice.value, str):
            raise ChoiceError("an edited text is a text")
        return choice.value
    mine, theirs = stretch.piece.mine, stretch.piece.theirs
    return {"mine": mine, "theirs": theirs, "both": _both(mine, theirs)}[choice.take]


def _both(mine: str, theirs: str) -> str:
    if not mine or not theirs or mine[-1].isspace() or theirs[0].isspace():
        return mine + theirs
    return f"{mine}\n{theirs}" if "\n" in mine + theirs else f"{mine} {theirs}"


def _settings(settings: Settings, choices: Choices) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, setting in settings.items():
        if not isinstance(setting, Setting):
            out[key] = _settings(setting, choices)
        elif held := _setting(setting, choices):
            out[key] = held[0]
    return out


def _setting(setting: Setting, choices: Choices) -> Held:
    choice = setting.conflict and choices.get(setting.conflict.id)
    if not choice:
        return setting.value
    if choice.take == "edit":
        return (choice.value,)
    return _one_side(setting.conflict, choice)


def _one_side(conflict: Conflict | None, choice: Choice) -> Held:
    assert conflict is not None
    if choice.take not in ("mine", "theirs"):
        raise ChoiceError(f"{conflict.where}: want mine or theirs, got {choice.take}")
    return conflict.mine if choice.take == "mine" else conflict.theirs


def _message(entry: Entry, choices: Choices) -> dict[str, Any] | None:
    """The message, None where it goes."""
    choice = entry.conflict and choices.get(entry.conflict.id)
    if choice:
        held: Held = (entry.whole,) if choice.take == "both" else _one_side(entry.conflict, choice)
        return dict(held[0]) if held else None
    if entry.conflict and entry.mine is None:
        return None
    if entry.whole is not None:
        return dict(entry.whole)
    message: Message = _settings(entry.rest, choices)
    if entry.content is None:
        return dict(message)
    return {**message, "content": _text(entry.content, choices)}


def _order(merge: Merge, choices: Choices) -> list[int]:
    choice = merge.order and choices.get(merge.order.id)
    if not choice:
        return list(range(len(merge.entries)))
    order: list[int] = _one_side(merge.order, choice)[0]
    return order
