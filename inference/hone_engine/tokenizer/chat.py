"""Chat templates: the model's own jinja2, in a sandbox, with the helpers templates count on."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hone_engine.types import RequestError

Message = Mapping[str, Any]


class _Generation(Extension):
    """`{% generation %}` marks the answer for training; here it only encloses it."""

    tags = {"generation"}  # noqa: RUF012 - the base class declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now(UTC).astimezone().strftime(form)


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
    """Plain JSON: jinja2's own filter escapes for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.filters["tojson"] = _tojson
    environment.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
    return environment


def _fail(message: str) -> RequestError:
    return RequestError(message, param="messages")


def plain_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages whose content is one string: text parts are joined.

    Raises RequestError (param "messages") for anything else, with the index of the message.
    """
    if not messages:
        raise _fail("messages is empty; it must hold at least one message")
    return [_plain_message(index, message) for index, message in enumerate(messages)]


def _plain_message(index: int, message: Message) -> dict[str, Any]:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise _fail(f"messages[{index}] must be an object with a role, a string")
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(_part_text(index, part) for part in content)
    elif content is None:
        content = ""
    if not isinstance(content, str):
        raise _fail(f"messages[{index}].content must be a string or a list of text parts")
    return {**message, "content": content}


def _part_text(index: int, part: Any) -> str:
    if not isinstance(part, Mapping) or part.get("type") != "text":
        kind = part.get("type") if isinstance(part, Mapping) else part
        raise _fail(f"messages[{index}].content holds a part of type {kind!r}; wanted text")
    text = part.get("text")
    if not isinstance(text, str):
        raise _fail(f"messages[{index}].content holds a text part without text")
    return text


def render(
    source: str,
    messages: Sequence[Message],
    *,
    add_generation_prompt: bool,
    continue_final: bool,
    variables: Mapping[str, Any],
) -> str:
    """The conversation as the model was trained to read it.

    continue_final: the text ends inside of the latest message, for the model to go on with.
    Raises RequestError (param "messages") with the template's own words.
    """
    plain = plain_messages(messages)
    try:
        text = _template(source).render(
            messages=plain,
            add_generation_prompt=add_generation_prompt and not continue_final,
            **variables,
        )
    except RequestError:
        raise
    except (
        Exception
    ) as error:  # a template is a program: whatever it raises, the request is at fault
        raise _fail(f"the model's chat template refuses these messages: {error}") from error
    return _cut_after(text, plain[-1]["content"]) if continue_final else text


@lru_cache(maxsize=8)
def _template(source: str) -> Any:
    return _environment().from_string(source)


def _cut_after(text: str, content: str) -> str:
    for found in (content, content.strip()):
        at = text.rfind(found)
        if found and at >= 0:
            return text[: at + len(found)]
    raise _fail("the latest message cannot be continued: the chat template does not show its text")
