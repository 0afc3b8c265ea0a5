"""What goes out: OpenAI's response objects, chat and text, whole and in chunks."""

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence as Items
from dataclasses import dataclass, field
from typing import Any

from hone_engine.types import Delta, Timings, TokenLogprob

LEAST_LOGPROB = -9999.0  # JSON has no minus infinity


def usage_of(prompts: Items[Items[Timings]]) -> dict[str, Any]:
    """The usage of a call from the timings of its choices, by prompt: a prompt counts once."""
    prompt_tokens = sum(choices[0].prompt_tokens for choices in prompts)
    completion_tokens = sum(t.completion_tokens for choices in prompts for t in choices)
    cached_tokens = sum(min(t.cached_tokens for t in choices) for choices in prompts)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    }


def timings_of(prompts: Items[Items[Timings]]) -> dict[str, Any]:
    """The `timings` extension: from the first choice's start to the last one's end.

    `prompt_tokens_per_second` is over the tokens that were computed, from started_at to
    first_token_at; `tokens_per_second` over those after the first, of all choices.
    """
    choices = [t for choices in prompts for t in choices]
    started = [t.started_at for t in choices if t.started_at is not None]
    first = [t.first_token_at for t in choices if t.first_token_at is not None]
    started_at, first_at = min(started, default=None), min(first, default=None)
    finished_at = max(t.finished_at for t in choices)
    prompt_tokens = sum(choices[0].prompt_tokens for choices in prompts)
    cached = sum(min(t.cached_tokens for t in choices) for choices in prompts)
    return {
        "queued_at": min(t.queued_at for t in choices),
        "started_at": started_at,
        "first_token_at": first_at,
        "finished_at": finished_at,
        "cached_tokens": cached,
        "prompt_tokens_per_second": _rate(prompt_tokens - cached, started_at, first_at),
        "tokens_per_second": _rate(
            sum(t.completion_tokens for t in choices) - 1, first_at, finished_at
        ),
    }


def _rate(count: int, begin: float | None, end: float | None) -> float | None:
    if begin is None or end is None or end <= begin or count <= 0:
        return None
    return round(count / (end - begin), 2)


def _text(token: bytes) -> str:
    return token.decode("utf-8", "replace")


def _logprob(value: float) -> float:
    return max(value, LEAST_LOGPROB)


def chat_logprobs(items: Items[TokenLogprob]) -> dict[str, Any]:
    """The `logprobs` of a chat choice."""
    return {"content": [_chat_logprob(item) for item in items], "refusal": None}


def _chat_logprob(item: TokenLogprob) -> dict[str, Any]:
    return {
        **_chat_token(item.token, item.logprob),
        "top_logprobs": [_chat_token(token, logprob) for _, token, logprob in item.top],
    }


def _chat_token(token: bytes, logprob: float) -> dict[str, Any]:
    return {"token": _text(token), "logprob": _logprob(logprob), "bytes": list(token)}


def _legacy_name(token: bytes) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:  # part of a character, written as OpenAI does
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in token)


def legacy_logprobs(items: Items[TokenLogprob], offset: int) -> dict[str, Any]:
    """The `logprobs` of a text choice; `offset`: characters of the answer before these tokens."""
    offsets = []
    for item in items:
        offsets.append(offset)
        offset += len(item.token.decode("utf-8", "ignore"))
    return {
        "tokens": [_legacy_name(item.token) for item in items],
        "token_logprobs": [_logprob(item.logprob) for item in items],
        "top_logprobs": [
            {_legacy_name(token): _logprob(logprob) for _, token, logprob in item.top}
            for item in items
        ],
        "text_offset": offsets,
    }


@dataclass(slots=True)
class Choice:
    """One answer of a call as it grows."""

    index: int
    text: list[str] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    text_len: int = 0
    end: Delta | None = None

    def add(self, delta: Delta) -> None:
        """Take the next piece."""
        self.text.append(delta.text)
        self.text_len += len(delta.text)
        self.logprobs += delta.logprobs
        if delta.finish_reason is not None:
            self.end = delta


class Shape(ABC):
    """The objects of one call, in one of the two dialects."""

    prefix: str
    whole_object: str
    chunk_object: str

    def __init__(self, model: str, fingerprint: str, *, logprobs: bool, include_usage: bool):
        self.logprobs = logprobs
        self.include_usage = include_usage
        self._head = {
            "id": self.prefix + secrets.token_hex(12),
            "created": int(time.time()),
            "model": model,
            "system_fingerprint": fingerprint,
        }

    @abstractmethod
    def choice(self, choice: Choice) -> dict[str, Any]:
        """A finished choice of a whole response."""

    @abstractmethod
    def pieces(self, index: int, delta: Delta, offset: int) -> list[dict[str, Any]]:
        """The choices of one or two chunks; `offset`: characters of the answer before them."""

    def whole(self, choices: Items[Choice], usage: dict[str, Any]) -> dict[str, Any]:
        """The response of a call that is not streamed."""
        return {
            **self._head,
            "object": self.whole_object,
            "choices": [self.choice(choice) for choice in choices],
            "usage": usage,
        }

    def chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """A chunk of a stream."""
        chunk = {**self._head, "object": self.chunk_object, "choices": choices}
        if self.include_usage:
            chunk["usage"] = None
        return chunk

    def opening(self, num_choices: int) -> list[dict[str, Any]]:
        """Chunks before the first text."""
        return []


class ChatShape(Shape):
    """/v1/chat/completions."""

    prefix = "chatcmpl-"
    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def choice(self, choice: Choice) -> dict[str, Any]:
        assert choice.end is not None
        return {
            "index": choice.index,
            "message": {
                "role": "assistant",
                "content": "".join(choice.text),
                "refusal": None,
                "annotations": [],
            },
            "logprobs": chat_logprobs(choice.logprobs) if self.logprobs else None,
            "finish_reason": choice.end.finish_reason,
        }

    def opening(self, num_choices: int) -> list[dict[str, Any]]:
        first = {"role": "assistant", "content": "", "refusal": None}
        return [self.chunk([_chat_piece(index, first)]) for index in range(num_choices)]

    def pieces(self, index: int, delta: Delta, offset: int) -> list[dict[str, Any]]:
        pieces = []
        if delta.text or delta.logprobs:
            piece = _chat_piece(index, {"content": delta.text})
            if self.logprobs and delta.logprobs:
                piece["logprobs"] = chat_logprobs(delta.logprobs)
            pieces.append(piece)
        if delta.finish_reason is not None:
            pieces.append(_chat_piece(index, {}) | {"finish_reason": delta.finish_reason})
        return pieces


def _chat_piece(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}


class TextShape(Shape):
    """/v1/completions."""

    prefix = "cmpl-"
    whole_object = "text_completion"
    chunk_object = "text_completion"

    def choice(self, choice: Choice) -> dict[str, Any]:
        assert choice.end is not None
        return {
            "index": choice.index,
            "text": "".join(choice.text),
            "logprobs": legacy_logprobs(choice.logprobs, 0) if self.logprobs else None,
            "finish_reason": choice.end.finish_reason,
        }

    def pieces(self, index: int, delta: Delta, offset: int) -> list[dict[str, Any]]:
        shown = self.logprobs and delta.logprobs
        piece = {
            "index": index,
            "text": delta.text,
            "logprobs": legacy_logprobs(delta.logprobs, offset) if shown else None,
            "finish_reason": delta.finish_reason,
        }
        return [piece]
