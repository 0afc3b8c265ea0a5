"""What a shared document holds, and how a prompt version's content goes in and comes out.

Root types (docs/collab.md):

    text      Text              the text of a text prompt
    messages  Array of Map      those of a chat prompt: `content` is a Text where it is a text,
                                every other key a plain value
    config    Map               model, parameters, tools, response format
    variables Map               name -> {type, example}
    meta      Map               `type`: "text" | "chat"
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pycrdt import Array, Doc, Map, Text

from hone.collab.core.needs import Needs, needs_of
from hone.collab.core.nesting import nesting_check

ROOTS: Final = ("text", "messages", "config", "variables", "meta")


class ShapeError(ValueError):
    """A document that is no prompt; the message says why."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The content of a document as plain values."""

    type: str
    prompt: str | list[dict[str, Any]]
    config: dict[str, Any]
    variables: dict[str, Any]


def document_open(update: bytes | None = None) -> Doc[Any]:
    """A document with its root types, and what `update` says in it."""
    document: Doc[Any] = Doc()
    document.get("text", type=Text)
    document.get("messages", type=Array)
    for name in ("config", "variables", "meta"):
        document.get(name, type=Map)
    if update:
        document.apply_update(update)
    return document


def document_made(shape: Shape) -> bytes:
    """The state of a new document with this content: its first update, made once and never again.

    A second document from the same text would be another one to Yjs: whoever still holds the first
    would see everything twice.
    """
    document = document_open()
    with document.transaction():
        document["meta"]["type"] = shape.type
        if isinstance(shape.prompt, str):
            document["text"] += shape.prompt
        else:
            document["messages"].extend([message_made(message) for message in shape.prompt])
        for name, values in (("config", shape.config), ("variables", shape.variables)):
            for key, value in values.items():
                document[name][key] = value
    return document.get_update()


def message_made(message: Mapping[str, Any]) -> Map[Any]:
    """A message as it stands in a document."""
    values = dict(message)
    if isinstance(message.get("content"), str):
        values["content"] = Text(message["content"])
    return Map(values)


def document_read(document: Doc[Any]) -> Shape:
    """The content of a document; raises ShapeError where clients made something else of it."""
    try:
        _check_readable(document)
        found = {name: document[name].to_py() for name in ROOTS if name != "text"}
        text = str(document["text"])
    except ShapeError:
        raise
    except BaseException as error:  # the Rust side panics on roots of another type
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise ShapeError(f"a root of the document is of another type: {error}") from None
    kind = found["meta"].get("type", "text")
    if kind not in ("text", "chat"):
        raise ShapeError(f"meta.type is {kind!r}, wanted text or chat")
    try:
        found = plain(found)
    except RecursionError:
        raise ShapeError("a value of the document is nested too deep") from None
    prompt = text if kind == "text" else found["messages"]
    return Shape(kind, prompt, found["config"], found["variables"])


def _check_readable(document: Doc[Any]) -> None:
    """Raise ShapeError where a shared list may hold letters: reading one past an emoji never ends.

    Of the list of messages that can be asked; any other list of a prompt is a plain value.
    """
    if str(document.get("messages", type=Text)):
        raise ShapeError("messages holds letters, wanted messages")
    for message in document["messages"]:
        _check_no_list("messages", message)
    for name in ("config", "variables", "meta"):
        _check_no_list(name, document[name])


def _check_no_list(name: str, value: Any) -> None:
    if isinstance(value, Array):
        raise ShapeError(f"{name} holds a shared list, wanted plain values")
    if isinstance(value, Map):
        for key in list(value.keys()):
            _check_no_list(name, value[key])


def plain(value: Any) -> Any:
    """The value with whole numbers as int again: Yjs keeps every number as a float."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def update_check(update: bytes) -> None:
    """Raise ValueError unless the bytes are an update that a document takes."""
    nesting_check(update)
    _try(update)


def update_read(update: bytes) -> Needs:
    """As `update_check`; what the update needs of a document."""
    needs = needs_of(update)  # the values are walked here, too
    if not needs.is_plain:
        _try(update)
    return needs


def _try(update: bytes) -> None:
    """Give it to a document that nobody needs: one that fails half-way is lost."""
    try:
        Doc[Any]().apply_update(update)
    except ValueError:
        raise
    except BaseException as error:  # a panic of the Rust side is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise ValueError(f"Cannot decode update: {error}") from None


def update_apply(document: Doc[Any], update: bytes) -> bool:
    """Apply an update that passed the check; False where this document does not take it."""
    try:
        document.apply_update(update)
    except BaseException as error:  # a panic of the Rust side is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return False
    return True
