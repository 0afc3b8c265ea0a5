"""What a document must have so that it takes an update whole, and what it has then.

An update names what it builds on: the letters beside which it puts its own, those that it deletes,
and its client's clock. A document that lacks one of them keeps the update apart, where no state
vector and no stored state tells of it; so a room asks before. Plain typing and plain deleting are
read by a pattern, everything else struct by struct.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from hone.collab.core.frames import FrameError
from hone.collab.core.nesting import Walk, content_skip, struct_head

Clocks = Mapping[int, int]
SKIP: Final = 10

_N: Final = rb"([\x80-\xff]{0,7}[\x00-\x7f])"  # a number
# One struct that holds letters, beside one that is there: at its right, its left, or between two.
_TYPED: Final = re.compile(
    rb"\x01\x01%b%b(?:\x84%b%b|\x44%b%b|\xc4%b%b%b%b)%b" % ((_N,) * 11), re.DOTALL
)
_DELETED: Final = re.compile(rb"\x00\x01%b\x01%b%b" % ((_N,) * 3), re.DOTALL)


@dataclass(slots=True)
class Needs:
    """Clocks by client: `before` must have been reached, `after` is then, `named` by either.

    is_plain: it types letters or deletes a range, and nothing else; any document that has what it
    needs takes it.
    """

    before: dict[int, int] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)
    named: dict[int, int] = field(default_factory=dict)
    is_plain: bool = False

    def is_met(self, known: Clocks) -> bool:
        """Whether a document that has `known` takes the update whole."""
        for client, clock in self.before.items():
            if known.get(client, 0) < clock:
                return False
        for client, clock in self.named.items():
            if known.get(client, 0) < clock and self.after.get(client, 0) < clock:
                return False
        return True

    def name(self, client: int, clock: int) -> None:
        self.named[client] = max(self.named.get(client, 0), clock)


def needs_of(update: bytes) -> Needs:
    """Raises FrameError where the update is none, or nests values too deep."""
    return _plain(update) or _read(update)


def _plain(update: bytes) -> Needs | None:
    """What plain typing or deleting needs; None: it is something else."""
    if typed := _TYPED.match(update):
        return _typed(typed, update)
    if deleted := _DELETED.fullmatch(update):
        client, clock, size = deleted.groups()
        return Needs({}, {}, {_known_number(client): _number(clock) + _number(size)}, True)
    return None


def _typed(found: re.Match[bytes], update: bytes) -> Needs | None:
    own, clock, *beside, size = found.groups()
    begin, end = found.end(), found.end() + _number(size)
    if end == begin or end + 1 != len(update) or update[end]:
        return None
    client, at = _known_number(own), _number(clock)
    before = {client: at}
    for place in (0, 2, 4, 6):
        if beside[place] is not None:
            other = _known_number(beside[place])
            before[other] = max(before.get(other, 0), _number(beside[place + 1]) + 1)
    return Needs(before, {client: at + _units(update[begin:end])}, {}, True)


def _number(digits: bytes) -> int:
    if len(digits) == 1:
        return digits[0]
    value = 0
    for digit in reversed(digits):
        value = value << 7 | digit & 0x7F
    return value


_known_number = lru_cache(maxsize=4096)(_number)  # of a client, which is seen again and again


def _units(text: bytes) -> int:
    """How many clocks letters take: their UTF-16 units."""
    if text.isascii():
        return len(text)
    try:
        return len(text.decode().encode("utf-16-le")) // 2
    except UnicodeDecodeError:
        raise FrameError("Cannot decode update: a text of it is not UTF-8") from None


def _read(update: bytes) -> Needs:
    reader, needs = Walk(update), Needs()
    for _ in range(reader.number()):
        num_structs, client, clock = reader.count(), reader.number(), reader.number()
        needs.before[client] = max(needs.before.get(client, 0), clock)
        for _ in range(num_structs):
            clock = _struct(reader, needs, client, clock)
        needs.after[client] = max(needs.after.get(client, 0), clock)
    for _ in range(reader.number()):
        client = reader.number()
        for _ in range(reader.count()):
            needs.name(client, reader.number() + reader.number())
    return needs


def _struct(reader: Walk, needs: Needs, client: int, clock: int) -> int:
    """Read a struct; the clock after it."""
    kind, named = struct_head(reader)
    for other, at in named:
        needs.name(other, at + 1)
    clock += _length(reader, kind)
    if kind == SKIP:
        needs.before[client] = max(needs.before[client], clock)
    return clock


def _length(reader: Walk, kind: int) -> int:
    """Read what a struct holds; how many clocks that takes."""
    if kind == 4:
        return _units(reader.bytes())
    return content_skip(reader, kind)
