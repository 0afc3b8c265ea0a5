"""One call from its queued requests to the last byte: whole, or as server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send

from hone_engine.engine import Channel
from hone_engine.server.body import DisconnectedError, disconnected
from hone_engine.server.errors import ApiError, engine_failure
from hone_engine.server.shapes import Choice, Shape, timings_of, usage_of
from hone_engine.types import Delta, Timings

PING_S = 15.0
PING = b": ping\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class Reply:
    """The answers to one call: choice i belongs to prompt i // n. Closes its channel."""

    def __init__(self, channel: Channel, shape: Shape, n: int):
        self.channel = channel
        self.shape = shape
        self.n = n
        self.choices = [Choice(index) for index in range(len(channel.ids))]

    async def whole(self, receive: Receive) -> dict[str, Any]:
        """The response object; raises ApiError, or DisconnectedError when the client leaves."""
        watch = asyncio.create_task(self._watch(receive))
        try:
            while not self.channel.done:
                for index, delta in await self.channel.take():
                    _raise_failure(delta)
                    self.choices[index].add(delta)
        finally:
            watch.cancel()
            self.channel.close()
        if any(choice.end is None for choice in self.choices):
            raise DisconnectedError
        return self.shape.whole(self.choices, self._usage()) | {"timings": self._timings()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The call as server-sent events; an ASGI response."""
        watch = asyncio.create_task(self._watch(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            async for data in self._events():
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watch.cancel()
            self.channel.close()

    async def _watch(self, receive: Receive) -> None:
        await disconnected(receive)
        self.channel.close()

    async def _events(self) -> AsyncIterator[bytes]:
        yield b"".join(_event(chunk) for chunk in self.shape.opening(len(self.choices)))
        try:
            while not self.channel.done:
                pieces = await self.channel.take(PING_S)
                yield b"".join(self._piece(*piece) for piece in pieces) or PING
        except ApiError as error:
            yield _event(error.body)
            return
        if self.shape.include_usage and all(choice.end for choice in self.choices):
            usage = self.shape.chunk([])
            yield _event(usage | {"usage": self._usage(), "timings": self._timings()})
        yield b"data: [DONE]\n\n"

    def _piece(self, index: int, delta: Delta) -> bytes:
        _raise_failure(delta)
        choice = self.choices[index]
        chunks = [
            self.shape.chunk([piece]) for piece in self.shape.pieces(index, delta, choice.text_len)
        ]
        choice.text_len += len(delta.text)
        choice.end = delta if delta.finish_reason is not None else None
        if choice.end is not None and all(choice.end for choice in self.choices):
            chunks[-1]["timings"] = self._timings()
        return b"".join([_event(chunk) for chunk in chunks])

    def _ends(self) -> list[list[Timings]]:
        """The timings of all choices, by prompt."""
        ends = [c.end.timings for c in self.choices if c.end is not None and c.end.timings]
        return [ends[at : at + self.n] for at in range(0, len(ends), self.n)]

    def _timings(self) -> dict[str, Any]:
        return timings_of(self._ends())

    def _usage(self) -> dict[str, Any]:
        return usage_of(self._ends())


def _raise_failure(delta: Delta) -> None:
    if delta.finish_reason == "error":
        raise engine_failure(delta.error or "the engine failed")
    if delta.finish_reason == "abort":
        raise engine_failure("the request was aborted")


# JSON leaves these as they are, and the line readers of some clients end a line at them.
_LINE_ENDS = [(end.encode(), f"\\u{ord(end):04x}".encode()) for end in "\x85\u2028\u2029"]


def _event(value: dict[str, Any]) -> bytes:
    data = orjson.dumps(value)
    if not data.isascii():
        for found, escaped in _LINE_ENDS:
            data = data.replace(found, escaped)
    return b"data: " + data + b"\n\n"
