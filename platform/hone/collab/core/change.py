"""Makes a document say something else by as few edits as that takes.

What stays keeps its identity, so that cursors, comments and the edits of people who are offline
stay where they were.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pycrdt import Array, Doc, Map, Text

from hone.collab.core.resolve import Resolved
from hone.collab.core.shape import message_made, plain
from hone.collab.core.threeway import WORDS, matches, rising


def document_change(document: Doc[Any], wanted: Resolved) -> bytes:
    """Change the document; the update that does the same to a copy of it."""
    before = document.get_state()
    shape = wanted.shape
    with document.transaction():
        if isinstance(shape.prompt, str):
            _text(document["text"], shape.prompt)
        else:
            _messages(document["messages"], shape.prompt, wanted.origins)
        _map(document["config"], shape.config)
        _map(document["variables"], shape.variables)
    return document.get_update(before)


def _text(text: Text, wanted: str) -> None:
    """From the end, so that the places before stay; places are counted in bytes of UTF-8."""
    said = str(text)
    if said == wanted:
        return
    old, new = WORDS.findall(said), WORDS.findall(wanted)
    ends = [0]
    for word in old:
        ends.append(ends[-1] + len(word.encode()))
    i, j = len(old), len(new)
    for a, b in [*reversed(matches(old, new)), (-1, -1)]:
        if ends[i] > ends[a + 1]:
            del text[ends[a + 1] : ends[i]]
        if j > b + 1:
            text.insert(ends[a + 1], "".join(new[b + 1 : j]))
        i, j = a, b


def _messages(
    messages: Array[Any], wanted: Sequence[Mapping[str, Any]], origins: Sequence[int | None]
) -> None:
    """Those that keep their order stay; whatever goes elsewhere is taken out and put in."""
    places = [(at, origin) for at, origin in enumerate(origins) if origin is not None]
    stay = dict(rising(places))
    kept = set(stay.values())
    for place in reversed(range(len(messages))):
        if place not in kept:
            del messages[place]
    for at, message in enumerate(wanted):
        if at in stay:
            _message(messages[at], message)
        else:
            messages.insert(at, message_made(message))


def _message(shared: Map[Any], wanted: Mapping[str, Any]) -> None:
    content, held = wanted.get("content"), shared.get("content")
    if not isinstance(content, str):
        _map(shared, wanted)
        return
    if isinstance(held, Text):
        _text(held, content)
    elif held != content:
        shared["content"] = Text(content)
    _map(shared, {key: value for key, value in wanted.items() if key != "content"}, ("content",))


def _map(shared: Map[Any], wanted: Mapping[str, Any], keep: Sequence[str] = ()) -> None:
    said = plain(shared.to_py())
    for key in said.keys() - wanted.keys() - set(keep):
        del shared[key]
    for key, value in wanted.items():
        if key not in said or said[key] != value:
            shared[key] = value
