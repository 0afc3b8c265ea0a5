"""What a client asks of /v1, checked as far as the gateway itself reads it.

Everything else in the body is the model server's to accept or refuse, and goes through unchanged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hone.gateway.core.errors import invalid

Kind = Literal["chat", "text"]
PATHS: dict[Kind, str] = {"chat": "/chat/completions", "text": "/completions"}
OWN_FIELDS = ("prompt", "variables")  # of a chat request: the gateway's, never sent on
# Kept in the trace as the model's parameters.
PARAMETERS = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "typical_p",
        "logit_bias",
        "allowed_tokens",
        "max_tokens",
        "max_completion_tokens",
        "n",
        "seed",
        "stop",
        "stop_token_ids",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "logprobs",
        "top_logprobs",
        "ignore_eos",
        "response_format",
        "reasoning_effort",
        "stream",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
    }
)
MAX_TAGS, MAX_TAG_LEN, MAX_LABEL_LEN = 50, 200, 200


@dataclass(frozen=True, slots=True)
class Annotations:
    """What the client says about the call, for its trace."""

    session_id: str | None = None
    user_id: str | None = None
    trace_name: str | None = None
    environment: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One call of /v1/chat/completions ("chat") or /v1/completions ("text")."""

    kind: Kind
    model: str
    body: dict[str, Any]
    stream: bool = False
    include_usage: bool = False
    prompt: str | None = None  # a reference: name@label, name@3 or name
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, object]:
        """The model's parameters as the trace keeps them."""
        return {name: self.body[name] for name in sorted(PARAMETERS & self.body.keys())}

    @property
    def input(self) -> object:
        """What the model reads: the messages, or the prompt of a text request."""
        return self.body.get("messages" if self.kind == "chat" else "prompt")


def request_parse(kind: Kind, body: object) -> CompletionRequest:
    """The request in a decoded JSON body; raises GatewayError (400) naming the field at fault."""
    if not isinstance(body, dict):
        raise invalid(f"The body is {_kind(body)}; a JSON object is wanted")
    stream = _boolean(body, "stream")
    prompt = _prompt(body) if kind == "chat" else None
    own = OWN_FIELDS if kind == "chat" else ()
    rest = {name: value for name, value in body.items() if name not in own}
    if kind == "chat":
        _check_messages(rest, required=prompt is None)
    return CompletionRequest(
        kind=kind,
        model=_model(body, required=prompt is None),
        body=rest,
        stream=stream,
        include_usage=_include_usage(body),
        prompt=prompt,
        variables=_variables(body, prompt) if kind == "chat" else {},
    )


def annotations_parse(headers: Mapping[str, str], body: Mapping[str, Any]) -> Annotations:
    """What headers (`x-hone-*`, lower-case names) and OpenAI's `user` and `metadata` say."""
    tags = [tag.strip()[:MAX_TAG_LEN] for tag in headers.get("x-hone-tags", "").split(",")]
    metadata, user = body.get("metadata"), body.get("user")
    return Annotations(
        session_id=_label(headers.get("x-hone-session")),
        user_id=_label(headers.get("x-hone-user") or (user if isinstance(user, str) else None)),
        trace_name=_label(headers.get("x-hone-trace-name")),
        environment=_label(headers.get("x-hone-environment")),
        tags=tuple(dict.fromkeys(filter(None, tags)))[:MAX_TAGS],
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _label(text: str | None) -> str | None:
    return text.strip()[:MAX_LABEL_LEN] or None if text else None


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "nothing"}.get(
        type(value), type(value).__name__
    )


def _boolean(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise invalid(f"{name}: got {_kind(value)}, want true or false", name)
    return bool(value)


def _model(body: Mapping[str, Any], *, required: bool) -> str:
    value = body.get("model")
    if value is None and not required:
        return ""  # the prompt's own configuration may name one
    if not isinstance(value, str) or not value:
        raise invalid(f"model: got {_kind(value)}, want the name of a model", "model")
    return value


def _prompt(body: Mapping[str, Any]) -> str | None:
    value = body.get("prompt")
    if value is not None and (not isinstance(value, str) or not value):
        raise invalid(f"prompt: got {_kind(value)}, want the text name@label", "prompt")
    return value


def _include_usage(body: Mapping[str, Any]) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _check_messages(body: dict[str, Any], *, required: bool) -> None:
    messages = body.get("messages")
    if messages is None and not required:
        return
    if not isinstance(messages, list) or not (messages or not required):
        raise invalid(f"messages: got {_kind(messages)}, want a list of messages", "messages")
    for position, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            where = f"messages.{position}"
            raise invalid(f"{where}: want an object with role and content", where)


def _variables(body: Mapping[str, Any], prompt: str | None) -> Mapping[str, str]:
    values = body.get("variables")
    if values is None:
        return {}
    if prompt is None:
        raise invalid("variables: they need a prompt, which the request does not name", "variables")
    if not isinstance(values, dict):
        raise invalid(f"variables: got {_kind(values)}, want an object", "variables")
    for name, value in values.items():
        if not isinstance(value, str | int | float):
            raise invalid(f"variables.{name}: got {_kind(value)}, want a text", "variables")
    return {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
