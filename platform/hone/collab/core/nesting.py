"""How deep the plain values of an update are nested.

The Rust side reads a value inside a value by recursion: 200 KB of opening brackets end the process.
An update is walked only where it has as many bytes that may open one as would be too deep.
"""

from typing import Final

from hone.collab.core.frames import FrameError, Reader

MOST_DEEP: Final = 500
ARRAY, OBJECT, TEXT, BUFFER = 117, 118, 119, 116
WIDTHS: Final = {120: 0, 121: 0, 122: 8, 123: 8, 124: 4, 126: 0, 127: 0}
INTEGER = 125
HAS_ORIGIN, HAS_RIGHT, HAS_KEY = 0x80, 0x40, 0x20


def nesting_check(update: bytes) -> None:
    """Raise FrameError where a value of the update is nested too deep, or it is no update."""
    if update.count(ARRAY) + update.count(OBJECT) <= MOST_DEEP:
        return
    reader = Reader(update)
    for _ in range(reader.number()):
        num_structs = reader.number()
        _ids(reader, 1)
        for _ in range(num_structs):
            _struct(reader)


def _ids(reader: Reader, num: int) -> None:
    for _ in range(2 * num):
        reader.number()


def _struct(reader: Reader) -> None:
    info = _byte(reader)
    kind = info & 0x1F
    if kind in (0, 10):  # what was collected, and what is left out
        reader.number()
        return
    _ids(reader, bool(info & HAS_ORIGIN) + bool(info & HAS_RIGHT))
    if not info & (HAS_ORIGIN | HAS_RIGHT):
        if reader.number():
            reader.bytes()
        else:
            _ids(reader, 1)
        if info & HAS_KEY:
            reader.bytes()
    _content(reader, kind)


def _content(reader: Reader, kind: int) -> None:
    if kind == 1:  # deleted
        reader.number()
    elif kind == 2:  # JSON texts
        for _ in range(reader.number()):
            reader.bytes()
    elif kind in (3, 4, 5):  # bytes, text, an embedded JSON text
        reader.bytes()
    elif kind == 6:  # a format: name and JSON text
        reader.bytes()
        reader.bytes()
    elif kind == 7:
        _type(reader)
    elif kind == 8:
        _values(reader, reader.number())
    elif kind == 9:  # a document: its name and options
        reader.bytes()
        _values(reader, 1)
    else:
        raise FrameError(f"Cannot decode update: content of kind {kind}")


def _type(reader: Reader) -> None:
    kind = reader.number()
    if kind in (3, 5):  # XML elements have a name
        reader.bytes()
    elif kind > 6:
        raise FrameError(f"Cannot decode update: a type of kind {kind}")


def _values(reader: Reader, num: int) -> None:
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
            open_values.append((reader.number(), tag == OBJECT))
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
