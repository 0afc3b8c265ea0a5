"""What each endpoint is asked and answers, as an observation has it. Pure: dicts and objects in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hone.sdk.openai.pieces import ChatPieces, Pieces, ResponsePieces, TextPieces

# Of a request: what is no parameter of the model.
_NOT_PARAMETERS: Final = frozenset(
    {"model", "messages", "input", "prompt", "instructions", "tools", "functions", "text_format"}
    | {"extra_headers", "extra_query", "extra_body", "timeout", "user", "metadata"}
    | {"stream_options", "store"}
)
_USAGE: Final = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
_DETAILS: Final = tuple(f"{name}_details" for name in _USAGE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method that is recorded: `path` of attributes from the client to it."""

    path: tuple[str, ...]
    kind: str
    name: str
    input: Callable[[Mapping[str, Any]], object]
    output: Callable[[Any], object]
    pieces: Callable[[], Pieces] | None  # adds the chunks of a stream up


def field(value: Any, name: str) -> Any:
    """An attribute, or an item of a mapping; None where there is none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def is_given(value: object) -> bool:
    """Whether an argument was said: OpenAI marks the others with objects of its own."""
    return value is not None and type(value).__name__ not in ("NotGiven", "Omit")


def parameters_of(asked: Mapping[str, Any]) -> dict[str, object]:
    """The model's parameters in a request."""
    return {k: v for k, v in asked.items() if k not in _NOT_PARAMETERS and is_given(v)}


def usage_of(answer: Any) -> dict[str, Any] | None:
    """Token counts as OpenAI gives them, without what other servers add of their own."""
    usage = field(answer, "usage")
    if usage is None:
        return None
    found: dict[str, Any] = {}
    for name in (*_USAGE, "total_tokens"):
        count = field(usage, name)
        if isinstance(count, int):
            found[name] = count
    for name in _DETAILS:
        counts = _counts(field(usage, name))
        if counts:
            found[name] = counts
    return found or None


def _counts(details: Any) -> dict[str, int]:
    if details is not None and not isinstance(details, Mapping):
        details = getattr(details, "__dict__", None)
    items = details.items() if isinstance(details, Mapping) else ()
    return {name: count for name, count in items if isinstance(count, int) and count}


def _chat_input(asked: Mapping[str, Any]) -> object:
    messages = asked.get("messages")
    tools = asked.get("tools") or asked.get("functions")
    return {"messages": messages, "tools": tools} if is_given(tools) else messages


def _chat_output(answer: Any) -> object:
    choices = field(answer, "choices") or []
    messages = [field(choice, "message") for choice in choices]
    return messages[0] if len(messages) == 1 else messages


def _text_output(answer: Any) -> object:
    texts = [field(choice, "text") for choice in field(answer, "choices") or []]
    return texts[0] if len(texts) == 1 else texts


def _response_input(asked: Mapping[str, Any]) -> object:
    given = {name: asked.get(name) for name in ("instructions", "input", "prompt", "tools")}
    said = {name: value for name, value in given.items() if is_given(value)}
    return said["input"] if set(said) == {"input"} else said


def _response_output(answer: Any) -> object:
    return field(answer, "output")


def _embedding_output(answer: Any) -> object:
    """How many vectors of which length: the numbers themselves tell nobody anything."""
    vectors = field(answer, "data") or []
    first = field(vectors[0], "embedding") if vectors else None
    length = len(first) if isinstance(first, list) else None
    return {"vectors": len(vectors), "dimensions": length}


ENDPOINTS: Final = (
    Endpoint(
        ("chat", "completions", "create"), "generation", "chat", _chat_input, _chat_output,
        ChatPieces,
    ),
    Endpoint(
        ("chat", "completions", "parse"), "generation", "chat", _chat_input, _chat_output, None
    ),
    Endpoint(
        ("completions", "create"), "generation", "completion", lambda asked: asked.get("prompt"),
        _text_output, TextPieces,
    ),
    Endpoint(
        ("responses", "create"), "generation", "response", _response_input, _response_output,
        ResponsePieces,
    ),
    Endpoint(
        ("responses", "parse"), "generation", "response", _response_input, _response_output, None
    ),
    Endpoint(
        ("embeddings", "create"), "embedding", "embeddings", lambda asked: asked.get("input"),
        _embedding_output, None,
    ),
)  # fmt: skip
