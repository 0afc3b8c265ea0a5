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
HEARD_S: Final = 0.03  # in which a connection may send so much that is no edit:
MOST_HEARD: Final = 64  # frames, or as many times 4 KiB
NOT_AN_EDIT: Final = 1003
TRY_AGAIN: Final = 1013
SIGNED_OUT: Final = 4401
KEY_REVOKED: Final = "The key has been revoked"
DRAFT_CLOSED: Final = 4410
DRAFT_FULL: Final = 4413


class Socket(Protocol):
    """The short way in and out (hone.common.websocket), where the server has one."""

    on_message: Callable[[bytes], bool] | None
    write: Callable[[bytes], None]

    @property
    def is_writable(self) -> bool: ...


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
    num_held: int = 0  # those of them that wait for what they build on
    num_heard: int = 0  # of what is no edit, lately
    is_behind: bool = False  # something it sent takes its time; what it sent after waits
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_ahead(self) -> bool:
        """Whether it has to wait for what it sent, so that a flood delays nobody else."""
        return self.num_unsettled >= MOST_UNSETTLED or self.num_heard >= MOST_HEARD

    def settle(self) -> None:
        """One of its edits is in the log, or refused."""
        self.num_unsettled -= 1
        self.settled.set()

    def unhold(self) -> None:
        """One of its edits need not wait any more for what it builds on."""
        self.num_held -= 1
        self.settle()

    def count_heard(self, num_bytes: int) -> None:
        """Count a message that is no edit."""
        if not self.num_heard:
            asyncio.get_running_loop().call_later(HEARD_S, self._forget_heard)
        self.num_heard += 1 + (num_bytes >> 12)

    def _forget_heard(self) -> None:
        self.num_heard = 0
        self.settled.set()

    async def keep_pace(self) -> None:
        """Wait until it may go on."""
        while self.is_ahead and self.closing is None:
            self.settled.clear()
            await self.settled.wait()

    async def none_held(self) -> None:
        """Wait until none of its edits waits for what it builds on."""
        while self.num_held and self.closing is None:
            self.settled.clear()
            await self.settled.wait()

    def pass_on(self, message: bytes, framed: bytes) -> None:
        """Send one message, made once for many clients; `framed`: as a WebSocket frame."""
        if self.closing is None:
            socket = self.socket
            if socket is not None and not self.queue and socket.is_writable:
                socket.write(framed)
            else:
                self.send_all([message], framed)

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
