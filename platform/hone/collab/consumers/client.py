"""One socket: what it may do, and what waits to be sent to it."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from hone.collab.core.people import Person
from hone.common.asgi import Send
from hone.common.websocket import binary_frame

MOST_QUEUED_BYTES: Final = 16 * 1024 * 1024
MOST_UNSETTLED: Final = 64
NOT_AN_EDIT: Final = 1003
TRY_AGAIN: Final = 1013
DRAFT_CLOSED: Final = 4410
DRAFT_FULL: Final = 4413


class Socket(Protocol):
    """The short way in and out (hone.common.websocket), where the server has one."""

    on_message: Callable[[bytes], bool] | None

    @property
    def is_writable(self) -> bool: ...
    def write(self, frames: bytes) -> None: ...


@dataclass(eq=False, slots=True)
class Client:
    """A socket in a room. `may_write` follows the person's role."""

    person: Person
    may_write: bool
    recheck: Callable[["Client"], Awaitable[None]]
    socket: Socket | None = None
    number: int | None = None  # of its Yjs client, once it has told its state
    queue: deque[bytes] = field(default_factory=deque)
    num_queued_bytes: int = 0
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    closing: tuple[int, str] | None = None
    is_refused: bool = False  # an edit was; what it sent after is dropped
    num_unsettled: int = 0  # edits that are not in the log yet
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_ahead(self) -> bool:
        """Whether it has to wait for its own edits, so that a flood delays nobody else's."""
        return self.num_unsettled >= MOST_UNSETTLED

    def settle(self) -> None:
        """One of its edits is in the log, or refused."""
        self.num_unsettled -= 1
        self.settled.set()

    async def keep_pace(self) -> None:
        while self.is_ahead and self.closing is None:
            self.settled.clear()
            await self.settled.wait()

    def send(self, message: bytes) -> None:
        """Send a message, at once where the line is free."""
        self.send_all([message], None)

    def send_all(self, messages: Sequence[bytes], framed: bytes | None) -> None:
        """Send messages; `framed`: the same as WebSocket frames, made once for many clients.

        A client that does not keep up is sent away: it comes again and asks.
        """
        if self.closing is not None:
            return
        if self.socket is not None and not self.queue and self.socket.is_writable:
            self.socket.write(framed or b"".join(map(binary_frame, messages)))
            return
        self.queue += messages
        self.num_queued_bytes += sum(map(len, messages))
        if self.num_queued_bytes > MOST_QUEUED_BYTES:
            self.queue.clear()
            self.close(TRY_AGAIN, "This connection is too slow; come again")
        self.waiting.set()

    def close(self, code: int, reason: str) -> None:
        """End the connection after what is queued."""
        if self.closing is None:
            self.closing = (code, reason)
            self.waiting.set()
            self.settled.set()

    async def check(self) -> None:
        """Ask again what the person may do."""
        await self.recheck(self)

    async def pump(self, send: Send) -> None:
        """Send what is queued, until the connection is to end."""
        while True:
            await self.waiting.wait()
            self.waiting.clear()
            while self.queue:
                message = self.queue[0]  # it stays until it is sent: nothing may overtake it
                await send({"type": "websocket.send", "bytes": message})
                if self.queue:
                    self.queue.popleft()
                    self.num_queued_bytes -= len(message)
            if self.closing is not None:
                code, reason = self.closing
                await send({"type": "websocket.close", "code": code, "reason": reason[:120]})
                return
