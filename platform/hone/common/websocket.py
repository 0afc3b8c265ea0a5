"""uvicorn's WebSocket protocol with a short way in and out for binary messages.

    uvicorn --ws hone.common.websocket:WebSocketProtocol

ASGI costs two tasks, two queues and a dictionary a message; a room that sends each edit to five
people pays it six times. An application that finds `EXTENSION` among its scope's extensions gets
the socket: what it writes is on its way when `write` returns, and a complete binary message is
handed to `on_message` before anybody else sees it. Everything else (handshake, fragments, pings,
closing, compression) is uvicorn's, over websockets.
"""

from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

try:
    from websockets.speedups import apply_mask
except ImportError:  # it was installed without a compiler
    from websockets.utils import apply_mask

EXTENSION: Final = "hone.socket"
BINARY: Final = 0x82  # the last frame of a message, binary, not compressed
MASKED: Final = 0x80
SHORT_HEAD: Final = 6  # of a frame below 126 bytes: opcode, length, mask


def binary_frame(payload: bytes) -> bytes:
    """A whole binary message as a server sends it."""
    size = len(payload)
    if size < 126:
        return bytes((BINARY, size)) + payload
    if size < 1 << 16:
        return b"\x82\x7e" + size.to_bytes(2, "big") + payload
    return b"\x82\x7f" + size.to_bytes(8, "big") + payload


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """One connection."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn.available_extensions = None  # compressing an edit of 40 bytes makes it longer
        # Takes a message and says so; False: it goes the way of ASGI.
        self.on_message: Callable[[bytes], bool] | None = None
        self.rest = b""  # of a frame that is not complete
        self.flows = True  # what was written before is not stuck

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # Sends whole frames, made by `binary_frame`: no layer between a room and its sockets.
        self.write: Callable[[bytes], None] = transport.write

    def pause_writing(self) -> None:
        super().pause_writing()
        self.flows = False

    def resume_writing(self) -> None:
        super().resume_writing()
        self.flows = True

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if self.handshake_initiated and hasattr(self, "scope"):
            extensions: Any = self.scope["extensions"]
            extensions[EXTENSION] = self

    @property
    def is_writable(self) -> bool:
        """Whether `write` may be called: open, and what was written before is not stuck."""
        return (
            self.flows and self.handshake_complete and not self.close_sent and not self.disconnected
        )

    @property
    def is_ending(self) -> bool:
        return self.close_sent or self.disconnected or self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        if not self.handshake_complete:
            super().data_received(data)
            return
        data = self.rest + data if self.rest else data
        at, size = 0, len(data)
        while at < size:
            if size - at > SHORT_HEAD and MASKED <= data[at + 1] < MASKED + 126:
                head = SHORT_HEAD  # as nearly every frame is
                end = at + head + data[at + 1] - MASKED
            else:
                head, end = self._frame_bounds(data, at)
            if end > size:
                break
            if head and data[at] == BINARY and not self.frames and not self.is_ending:
                self._take(apply_mask(data[at + head : end], data[at + head - 4 : at + head]))
            else:
                super().data_received(data[at:end])
            at = end
        self.rest = data[at:]

    def _frame_bounds(self, data: bytes, at: int) -> tuple[int, int]:
        """Length of the header of the frame at `at`, and where the frame ends (at least).

        Header 0: it is too long or not masked; the library gets what is there, and refuses it.
        """
        if len(data) - at < 2:
            return 2, at + 2
        head, size = 2, data[at + 1] & 0x7F
        if not data[at + 1] & MASKED:
            return 0, len(data)
        if size >= 126:
            wide = 2 if size == 126 else 8
            size, head = int.from_bytes(data[at + 2 : at + 2 + wide], "big"), head + wide
            if len(data) - at < head:
                return head, at + head
        if size > self.config.ws_max_size:
            return 0, len(data)
        return head + 4, at + head + 4 + size

    def _take(self, message: bytes) -> None:
        taken = self.on_message is not None and self.queue.empty() and self.on_message(message)
        if not taken:
            self.frames, self.curr_msg_data_type = [message], "bytes"
            self.send_receive_event_to_app()
