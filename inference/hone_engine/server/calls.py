"""What a client asks for: OpenAI's request bodies, checked; nothing in them is ignored.

Accepted beside OpenAI's own: top_k, min_p, typical_p, allowed_tokens,
repetition_penalty, stop_token_ids, ignore_eos.
Taken without effect: `user`, `metadata`, `safety_identifier`, `prompt_cache_key`. Of what is not
supported only the values that ask for nothing are accepted (`NEUTRAL`). max_tokens beyond the
context is served up to the context (finish_reason "length"), as other servers do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hone_engine.sampling import PARAMETERS, params_parse
from hone_engine.sampling.params import Check, flag, integer, refuse
from hone_engine.types import MAX_TOP_LOGPROBS, RequestError, SamplingParams

MAX_CHOICES = 64  # answers to one call: prompts times n
LEGACY_MAX_TOKENS = 16  # OpenAI's default for /v1/completions

SAMPLING = tuple(name for name in PARAMETERS if name != "logprobs")
NO_OPS = ("user", "metadata", "safety_identifier", "prompt_cache_key")
NEUTRAL: dict[str, tuple[object, ...]] = {
    "audio": (),
    "function_call": ("none",),
    "functions": ([],),
    "modalities": (["text"],),
    "parallel_tool_calls": (True, False),  # says how tools would be called
    "prediction": (),
    "reasoning_effort": (),
    "response_format": ({"type": "text"},),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "tool_choice": ("none", "auto"),  # without tools both call none
    "tools": ([],),
    "verbosity": (),
    "web_search_options": (),
}
NEUTRAL_TEXT: dict[str, tuple[object, ...]] = {
    "best_of": (1,),
    "echo": (False,),
    "suffix": ("",),
}
COMMON = ("model", "stream", "stream_options", "n", "logprobs", *SAMPLING, *NO_OPS)
CHAT = ("messages", "top_logprobs", *COMMON)
TEXT = ("prompt", *COMMON)

Prompt = str | list[int]


@dataclass(frozen=True, slots=True)
class Call:
    """A checked body but for its messages or prompts. `n` answers are wanted to each prompt."""

    model: str
    params: SamplingParams
    n: int
    stream: bool
    include_usage: bool


def chat_call(body: Mapping[str, Any]) -> tuple[Call, list[Any]]:
    """Check a body of /v1/chat/completions: the call and its messages (whose shapes the chat
    template checks). Raises RequestError naming the parameter."""
    _check_names(body, CHAT, NEUTRAL)
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise refuse("messages", messages, "a list of messages")
    for index, message in enumerate(messages):
        _check_message(index, message)
    return _call(body, _chat_logprobs(body), None), messages


def text_call(body: Mapping[str, Any]) -> tuple[Call, list[Prompt]]:
    """Check a body of /v1/completions: the call and its prompts. Raises RequestError naming the
    parameter."""
    _check_names(body, TEXT, NEUTRAL_TEXT)
    prompts = _prompts(body.get("prompt"))
    call = _call(body, body.get("logprobs"), LEGACY_MAX_TOKENS)
    if len(prompts) * call.n > MAX_CHOICES:
        raise RequestError(
            f"{len(prompts)} prompts with n {call.n} ask for more than {MAX_CHOICES} answers",
            param="prompt",
        )
    return call, prompts


def _check_message(index: int, message: object) -> None:
    """A role, and a content; only an assistant may have said nothing. The rest is the template's
    to judge."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise RequestError(
            f"messages[{index}] must be an object with a role, a string", param="messages"
        )
    content = message.get("content")
    if content is None and message["role"] != "assistant":
        raise RequestError(
            f"messages[{index}].content is missing; it must be a string or a list of parts",
            param="messages",
        )


def _check_names(
    body: Mapping[str, Any], accepted: tuple[str, ...], neutral: Mapping[str, tuple[object, ...]]
) -> None:
    for name, value in body.items():
        if name in accepted:
            continue
        if name not in neutral:
            raise RequestError(
                f"Unrecognized request argument supplied: {name}",
                param=name,
                code="unknown_parameter",
            )
        if value is not None and value not in neutral[name]:
            raise RequestError(
                f"{name} is not supported by this engine", param=name, code="unsupported_parameter"
            )


def _call(body: Mapping[str, Any], logprobs: object, max_tokens: int | None) -> Call:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise refuse("model", model, "the name of a model (GET /v1/models lists them)")
    stream = _given(body, "stream", flag, False)
    return Call(
        model=model,
        params=_params(body, logprobs, max_tokens),
        n=_given(body, "n", integer(1, MAX_CHOICES), 1),
        stream=stream,
        include_usage=_include_usage(body.get("stream_options"), stream),
    )


def _given(body: Mapping[str, Any], name: str, check: Check, default: Any) -> Any:
    value = body.get(name)
    return default if value is None else check(name, value)


def _params(
    body: Mapping[str, Any], logprobs: object, default_max_tokens: int | None
) -> SamplingParams:
    fields = {name: body[name] for name in SAMPLING if body.get(name) is not None}
    if "max_tokens" in fields and "max_completion_tokens" in fields:
        raise RequestError("give max_tokens or max_completion_tokens, not both", param="max_tokens")
    if "max_tokens" not in fields and "max_completion_tokens" not in fields:
        fields["max_tokens"] = default_max_tokens
    return params_parse({**fields, "logprobs": logprobs})


def _chat_logprobs(body: Mapping[str, Any]) -> int | None:
    wanted = _given(body, "logprobs", flag, False)
    top = _given(body, "top_logprobs", integer(0, MAX_TOP_LOGPROBS), None)
    if top is not None and not wanted:
        raise RequestError("top_logprobs needs logprobs to be true", param="top_logprobs")
    return (top or 0) if wanted else None


def _include_usage(options: object, stream: bool) -> bool:
    if options is None:
        return False
    if not stream:
        raise RequestError(
            "stream_options is only allowed when stream is true", param="stream_options"
        )
    if not isinstance(options, dict):
        raise refuse("stream_options", options, "an object")
    for name in options:
        if name not in ("include_usage", "include_obfuscation"):
            raise RequestError(
                f"Unrecognized request argument supplied: stream_options.{name}",
                param=f"stream_options.{name}",
                code="unknown_parameter",
            )
    if _given(options, "include_obfuscation", flag, False):
        raise RequestError(
            "stream_options.include_obfuscation is not supported by this engine",
            param="stream_options.include_obfuscation",
            code="unsupported_parameter",
        )
    return bool(_given(options, "include_usage", flag, False))


def _prompts(prompt: object) -> list[Prompt]:
    """One or several prompts, each a text or token ids."""
    wanted = "a string, a list of strings, or token ids (a list of integers, or of such lists)"
    if isinstance(prompt, str):
        return [prompt]
    if not isinstance(prompt, list) or not prompt:
        raise refuse("prompt", prompt, wanted)
    if all(isinstance(item, str) for item in prompt):
        return list(prompt)
    if _are_ids(prompt):
        return [prompt]
    if all(isinstance(item, list) and item and _are_ids(item) for item in prompt):
        return list(prompt)
    raise refuse("prompt", prompt, wanted)


def _are_ids(items: list[Any]) -> bool:
    return all(isinstance(item, int) and not isinstance(item, bool) for item in items)
