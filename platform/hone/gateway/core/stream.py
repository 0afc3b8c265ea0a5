"""Server-sent events of a completion: cut into events, and read for the trace while they pass."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

DONE = b"[DONE]"
LONGEST_EVENT_BYTES = 8 * 1024 * 1024


class EventTooLongError(ValueError):
    """The upstream sent an event that never ends."""


class EventCutter:
    """Bytes in, whole events' `data` out; fields other than data are dropped."""

    def __init__(self) -> None:
        self._rest = b""

    def push(self, data: bytes) -> Iterator[bytes]:
        """The `data` of each event that is complete now; raises EventTooLongError."""
        text = (self._rest + data).replace(b"\r\n", b"\n")
        *events, self._rest = text.split(b"\n\n")
        if len(self._rest) > LONGEST_EVENT_BYTES:
            raise EventTooLongError(f"an event of more than {LONGEST_EVENT_BYTES} bytes")
        for event in events:
            lines = [line[5:].lstrip(b" ") for line in event.split(b"\n") if line[:5] == b"data:"]
            if lines:
                yield b"\n".join(lines)


def event(data: bytes) -> bytes:
    """One event as it goes over the wire."""
    return b"data: " + data + b"\n\n"


@dataclass(slots=True)
class Choice:
    """One answer, put together from its pieces."""

    parts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    tool_calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    role: str = "assistant"
    finish_reason: str | None = None

    def add_tool_call(self, piece: dict[str, Any]) -> None:
        """Join a piece of a tool call to what came before (OpenAI sends arguments in pieces)."""
        found = self.tool_calls.setdefault(
            int(piece.get("index", 0)),
            {"id": None, "type": "function", "function": {"name": "", "arguments": ""}},
        )
        found["id"] = piece.get("id") or found["id"]
        function = piece.get("function") or {}
        for name in ("name", "arguments"):
            found["function"][name] += function.get(name) or ""

    def message(self) -> dict[str, Any]:
        """The answer as an OpenAI message."""
        message: dict[str, Any] = {"role": self.role, "content": "".join(self.parts)}
        if self.reasoning:
            message["reasoning_content"] = "".join(self.reasoning)
        if self.tool_calls:
            message["tool_calls"] = [self.tool_calls[key] for key in sorted(self.tool_calls)]
        return message


@dataclass(slots=True)
class Answer:
    """What came back of one call, whole or in pieces; it may be incomplete."""

    choices: dict[int, Choice] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    timings: dict[str, Any] | None = None
    model: str | None = None
    error: str | None = None
    first_content_ns: int | None = None
    complete: bool = False

    def add(self, body: dict[str, Any], now_ns: int) -> None:
        """Take in a chunk of a stream or a whole answer."""
        self.model = body.get("model") or self.model
        self.usage = body.get("usage") or self.usage
        self.timings = body.get("timings") or self.timings
        if "error" in body:
            self.error = _message(body["error"])
        for row in body.get("choices") or ():
            choice = self.choices.setdefault(int(row.get("index", 0)), Choice())
            if self._add_piece(choice, row) and self.first_content_ns is None:
                self.first_content_ns = now_ns
            choice.finish_reason = row.get("finish_reason") or choice.finish_reason

    @staticmethod
    def _add_piece(choice: Choice, row: dict[str, Any]) -> bool:
        piece = row.get("delta") or row.get("message") or {}
        text = piece.get("content") or row.get("text")
        reasoning = piece.get("reasoning_content") or piece.get("reasoning")
        choice.role = piece.get("role") or choice.role
        if isinstance(text, str) and text:
            choice.parts.append(text)
        if isinstance(reasoning, str) and reasoning:
            choice.reasoning.append(reasoning)
        calls = piece.get("tool_calls") or ()
        for call in calls:
            choice.add_tool_call(call)
        return bool(text or reasoning or calls)

    def output(self, kind: str) -> object:
        """For the trace: the message (chat) or the text; a list of them when there are several."""
        chosen = [self.choices[key] for key in sorted(self.choices)]
        outputs: list[object] = [
            choice.message() if kind == "chat" else "".join(choice.parts) for choice in chosen
        ]
        return None if not outputs else outputs[0] if len(outputs) == 1 else outputs

    @property
    def finish_reason(self) -> str | None:
        return next((c.finish_reason for c in self.choices.values() if c.finish_reason), None)


def chunk_parse(data: bytes) -> dict[str, Any] | None:
    """The JSON object in an event's data, None for anything else."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def is_usage_only(chunk: dict[str, Any]) -> bool:
    """Whether the chunk is the extra one that `stream_options.include_usage` asks for."""
    return chunk.get("usage") is not None and not chunk.get("choices")


def _message(error: object) -> str:
    if isinstance(error, dict):
        return str(error.get("message") or error)
    return str(error)


def error_message(body: bytes) -> str:
    """The sentence in an upstream's error answer, whatever its shape (at most 500 characters)."""
    value = chunk_parse(body)
    if value is None:
        return body[:500].decode("utf-8", "replace")
    return _message(value.get("error") or value.get("detail") or value)[:500]
