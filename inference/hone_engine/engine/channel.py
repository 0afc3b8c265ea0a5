"""From the engine's thread to asyncio: one call a step and loop, however many answers run."""

import asyncio
from collections.abc import Callable
from collections.abc import Sequence as Items
from dataclasses import replace
from typing import Protocol

from hone_engine.types import Delta


class Sink(Protocol):
    """Where the pieces of a request go; called on the engine's thread, returns at once."""

    def feed(self, delta: Delta) -> None: ...


class Channel:
    """The answers to some requests, taken by one task of one asyncio loop.

    What the task has not taken waits here, joined to one piece an answer when it is.
    """

    def __init__(self, ids: Items[int], hub: "Hub"):
        self.ids = tuple(ids)
        self._hub = hub
        self._loop = asyncio.get_running_loop()
        self._index = {request_id: index for index, request_id in enumerate(ids)}
        self._backlog: dict[int, list[Delta]] = {}
        self._running = set(ids)
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def done(self) -> bool:
        """Whether every answer has ended and been taken, or the channel has been closed."""
        return not self._running and not self._backlog

    async def take(self, timeout_s: float | None = None) -> list[tuple[int, Delta]]:
        """What came since the last call: (index of the request, piece), at most one piece a
        request; [] when nothing came in `timeout_s` seconds, or the channel has been closed."""
        if not self._backlog and not self.done:
            await self._wait(timeout_s)
        backlog, self._backlog = self._backlog, {}
        return [(self._index[request_id], _whole(deltas)) for request_id, deltas in backlog.items()]

    async def _wait(self, timeout_s: float | None) -> None:
        # A future and a timer: an Event and asyncio.timeout cost several times as much, and this
        # is done for each answer at each step.
        self._waiter = waiter = self._loop.create_future()
        timer = None if timeout_s is None else self._loop.call_later(timeout_s, self._wake)
        try:
            await waiter
        finally:
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Abort what has not ended; who waits in `take` gets []."""
        for request_id in self._running:
            self._hub.abort(request_id)
        self._running.clear()
        self._backlog.clear()
        self._closed = True
        self._wake()

    def feed(self, delta: Delta) -> None:
        """Take the next piece; called by the engine's thread."""
        self._hub.post(self._loop, self, delta)

    def arrive(self, delta: Delta) -> None:
        """The same on the asyncio side."""
        if self._closed:
            return
        self._backlog.setdefault(delta.request_id, []).append(delta)
        if delta.finish_reason is not None:
            self._running.discard(delta.request_id)
        self._wake()


def _whole(deltas: list[Delta]) -> Delta:
    if len(deltas) == 1:
        return deltas[0]
    return replace(
        deltas[-1],
        text="".join([d.text for d in deltas]),
        token_ids=tuple([token_id for d in deltas for token_id in d.token_ids]),
        logprobs=tuple([logprob for d in deltas for logprob in d.logprobs]),
    )


class Hub:
    """Gathers a step's pieces by asyncio loop and hands each loop its own in one call."""

    def __init__(self, abort: Callable[[int], None]):
        self.abort = abort
        self._posts: dict[asyncio.AbstractEventLoop, list[tuple[Channel, Delta]]] = {}

    def open(self, ids: Items[int]) -> Channel:
        """A channel for the running asyncio loop."""
        return Channel(ids, self)

    def post(self, loop: asyncio.AbstractEventLoop, channel: Channel, delta: Delta) -> None:
        """Keep a piece until `flush`; engine's thread only."""
        self._posts.setdefault(loop, []).append((channel, delta))

    def flush(self) -> None:
        """Hand over what was posted; answers whose loop is closed are aborted."""
        if not self._posts:
            return
        posts, self._posts = self._posts, {}
        for loop, items in posts.items():
            try:
                loop.call_soon_threadsafe(_arrive, items)
            except RuntimeError:
                for _, delta in items:
                    self.abort(delta.request_id)


def _arrive(items: list[tuple[Channel, Delta]]) -> None:
    for channel, delta in items:
        channel.arrive(delta)
