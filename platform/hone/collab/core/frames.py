"""The messages of a room: those of y-protocols, as every Yjs client sends them.

A frame is a number and what belongs to it. Numbers are unsigned LEB128, texts and bytes carry their
length in front (lib0's encoding).

    0 sync        0 state vector: "what do you have that I lack?"
                  1 update: the answer · 2 update: an edit
    1 awareness   bytes: an awareness update (see core.awareness)
    2 auth        0 text: permission denied, with the reason
    3 query       "tell me everybody's awareness"
"""

from dataclasses import dataclass
from typing import Final

SYNC, AWARENESS, AUTH, QUERY = 0, 1, 2, 3
STATE, ANSWER, EDIT = 0, 1, 2
DENIED = 0
EMPTY_UPDATE: Final = (
    b"\x00\x00"  # no structs, no deletions: what a client sends that is up to date
)


class FrameError(ValueError):
    """A frame that is none; the message says what is wrong with it."""


@dataclass(slots=True)
class Reader:
    """Reads one frame from the front; raises FrameError where it ends too early."""

    data: bytes
    at: int = 0

    def number(self) -> int:
        value = shift = 0
        while True:
            if self.at >= len(self.data):
                raise FrameError("the frame ends inside a number")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 56:
                raise FrameError("a number of the frame is too large")

    def bytes(self) -> bytes:
        length = self.number()
        if length > len(self.data) - self.at:
            raise FrameError(f"the frame ends {length - len(self.data) + self.at} bytes early")
        found = self.data[self.at : self.at + length]
        self.at += length
        return found

    def text(self) -> str:
        try:
            return self.bytes().decode()
        except UnicodeDecodeError:
            raise FrameError("a text of the frame is not UTF-8") from None

    def is_done(self) -> bool:
        return self.at >= len(self.data)


def number(value: int) -> bytes:
    """An unsigned number."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sized(data: bytes) -> bytes:
    """Bytes with their length in front."""
    return number(len(data)) + data


def state_frame(state: bytes) -> bytes:
    return bytes((SYNC, STATE)) + sized(state)


def answer_frame(update: bytes) -> bytes:
    return bytes((SYNC, ANSWER)) + sized(update)


def edit_frame(update: bytes) -> bytes:
    return bytes((SYNC, EDIT)) + sized(update)


def awareness_frame(update: bytes) -> bytes:
    return bytes((AWARENESS,)) + sized(update)


def denied_frame(reason: str) -> bytes:
    return bytes((AUTH, DENIED)) + sized(reason.encode())
