"""The structs of an update one by one, and how deep its plain values are nested.

The Rust side reads a value inside a value by recursion: 200 KB of opening brackets end the process.
An update is walked for that only where it has as many bytes that may open one as would be too deep.
"""

from dataclasses import dataclass
from typing import Final

from hone.collab.core.frames import FrameError, Reader

MOST_DEEP: Final = 500
MOST_PARTS: Final = 50_000  # structs, values and deleted ranges of one update
ARRAY, OBJECT, TEXT, BUFFER = 117, 118, 119, 116
WIDTHS: Final = {120: 0, 121: 0, 122: 8, 123: 8, 124: 4, 126: 0, 127: 0}
INTEGER = 125
HAS_ORIGIN, HAS_RIGHT, HAS_KEY = 0x80, 0x40, 0x20
COLLECTED, LEFT_OUT = 0, 10  # structs that hold nothing

Id = tuple[int, int]  # client and clock


@dataclass(slots=True)
class Walk(Reader):
    """Reads one update and counts its parts: the Rust side takes them all in one go."""

    num_parts: int = 0

    def count(self) -> int:
        """How many parts follow; raises FrameError where they are too many."""
        num = self.number()
        self.num_parts += num
        if self.num_parts > MOST_PARTS:
            raise FrameError(f"an edit has at most {MOST_PARTS} parts; send it in several")
        return num


def nesting_check(update: bytes) -> None:
    """Raise FrameError where a value of the update is nested too deep, or it is no update."""
    if update.count(ARRAY) + update.count(OBJECT) <= MOST_DEEP:
        return
    reader = Walk(update)
    for _ in range(reader.number()):
        num_structs = reader.count()
        _id(reader)
        for _ in range(num_structs):
            kind, _ids = struct_head(reader)
            content_skip(reader, kind)


def _id(reader: Reader) -> Id:
    return reader.number(), reader.number()


def struct_head(reader: Walk) -> tuple[int, list[Id]]:
    """What kind of content a struct holds, and which others it names."""
    info = _byte(reader)
    kind = info & 0x1F
    named: list[Id] = []
    if kind in (COLLECTED, LEFT_OUT):
        return kind, named
    if info & HAS_ORIGIN:
        named.append(_id(reader))
    if info & HAS_RIGHT:
        named.append(_id(reader))
    if not named:
        if reader.number():
            reader.bytes()
        else:
            named.append(_id(reader))
        if info & HAS_KEY:
            reader.bytes()
    return kind, named


def content_skip(reader: Walk, kind: int) -> int:
    """Read over content; how many clocks it takes (of a text: nothing is said)."""
    if kind in (COLLECTED, LEFT_OUT, 1):  # 1: deleted
        return reader.number()
    if kind in (2, 8):  # JSON texts, plain values
        num = reader.count()
        _texts(reader, num) if kind == 2 else _values(reader, num)
        return num
    if kind in (3, 4, 5):  # bytes, text, an embedded JSON text
        reader.bytes()
    elif kind == 6:  # a format: name and JSON text
        _texts(reader, 2)
    elif kind == 7:
        _type(reader)
    elif kind == 9:  # a document: its name and options
        reader.bytes()
        _values(reader, 1)
    else:
        raise FrameError(f"Cannot decode update: content of kind {kind}")
    return 1


def _texts(reader: Reader, num: int) -> None:
    for _ in range(num):
        reader.bytes()


def _type(reader: Reader) -> None:
    kind = reader.number()
    if kind in (3, 5):  # XML elements have a name
        reader.bytes()
    elif kind > 6:
        raise FrameError(f"Cannot decode update: a type of kind {kind}")


def _values(reader: Walk, num: int) -> None:
    """Plain values, without recursion: how many of each open one are still to come."""
    open_values = [(num, False)]
    while open_values:
        left, is_object = open_values.pop()
        if not left:
            continue
        open_values.append((left - 1, is_object))
        if is_object:
            reader.bytes()
        tag = _byte(reader)
        if tag in (ARRAY, OBJECT):
            open_values.append((reader.count(), tag == OBJECT))
            if len(open_values) > MOST_DEEP:
                raise FrameError(f"a value of the update is nested deeper than {MOST_DEEP}")
        elif tag in (TEXT, BUFFER):
            reader.bytes()
        elif tag == INTEGER:
            while _byte(reader) >= 0x80:
                pass
        elif tag in WIDTHS:
            reader.at += WIDTHS[tag]
        else:
            raise FrameError(f"Cannot decode update: a value of kind {tag}")


def _byte(reader: Reader) -> int:
    if reader.at >= len(reader.data):
        raise FrameError("Cannot decode update: it ends too early")
    reader.at += 1
    return reader.data[reader.at - 1]
