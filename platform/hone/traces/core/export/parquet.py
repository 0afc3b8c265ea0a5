"""Parquet files, written by us: pyarrow would more than double the server's install (130 MB).

One row group a portion, one page a column, optional columns, plain values, compressed by gzip's
deflate. The footer is the compact protocol of Thrift, of which three types of field suffice.
"""

import gzip
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

MAGIC: Final = b"PAR1"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
# kind of a column -> physical type, converted type (or none)
_TYPES: Final[Mapping[str, tuple[int, int | None]]] = {
    "text": (6, 0),  # BYTE_ARRAY, UTF8
    "json": (6, 19),  # BYTE_ARRAY, JSON
    "int": (2, None),  # INT64
    "float": (5, None),  # DOUBLE
    "time": (2, 10),  # INT64, TIMESTAMP_MICROS
}
_GZIP, _PLAIN, _RLE, _OPTIONAL, _DATA_PAGE = 2, 0, 3, 1, 0
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column of a row group as it lies in the file."""

    name: str
    physical: int
    num_values: int
    offset: int
    packed: int
    plain: int


class Parquet:
    """An exporter (core.export.formats): the footer comes with `end`."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.columns = columns
        self.offset = 0
        self.groups: list[tuple[int, list[_Chunk]]] = []

    def begin(self) -> bytes:
        return self._took(MAGIC)

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        if not rows:
            return b""
        chunks, parts = [], []
        for name, kind in self.columns.items():
            start = self.offset
            page, plain = _page([row[name] for row in rows], kind)
            parts.append(self._took(page))
            chunks.append(
                _Chunk(name, _TYPES[kind][0], len(rows), start, len(page), len(page) + plain)
            )
        self.groups.append((len(rows), chunks))
        return b"".join(parts)

    def end(self) -> bytes:
        footer = _footer(self.columns, self.groups)
        return footer + len(footer).to_bytes(4, "little") + MAGIC

    def _took(self, data: bytes) -> bytes:
        self.offset += len(data)
        return data


def _page(values: Sequence[Any], kind: str) -> tuple[bytes, int]:
    """A page of one column, and by how much it is smaller than unpacked."""
    present = [value is not None for value in values]
    levels = _levels(present)
    body = len(levels).to_bytes(4, "little") + levels
    body += b"".join(_value(value, kind) for value in values if value is not None)
    packed = gzip.compress(body, compresslevel=3, mtime=0)
    header = _struct(
        (1, _I32, _DATA_PAGE),
        (2, _I32, len(body)),
        (3, _I32, len(packed)),
        (5, _STRUCT, _struct((1, _I32, len(values)), (2, _I32, _PLAIN), (3, _I32, _RLE),
                             (4, _I32, _RLE))),
    )  # fmt: skip
    return header + packed, len(body) - len(packed)


def _levels(present: Sequence[bool]) -> bytes:
    """Which values are there: runs of bits in groups of eight, as the hybrid encoding has them."""
    groups = (len(present) + 7) // 8
    bits = bytearray(groups)
    for at, is_there in enumerate(present):
        bits[at >> 3] |= is_there << (at & 7)
    return _varint(groups << 1 | 1) + bytes(bits)


def _value(value: Any, kind: str) -> bytes:
    if kind == "int":
        return struct.pack("<q", value)
    if kind == "float":
        return struct.pack("<d", value)
    if kind == "time":
        return struct.pack("<q", (value - _EPOCH) // _MICROSECOND)
    data = orjson.dumps(value) if kind == "json" else str(value).encode()
    return len(data).to_bytes(4, "little") + data


def _footer(columns: Mapping[str, str], groups: Sequence[tuple[int, list[_Chunk]]]) -> bytes:
    schema = [_struct((4, _BINARY, b"row"), (5, _I32, len(columns)))]
    for name, kind in columns.items():
        physical, converted = _TYPES[kind]
        extra = [] if converted is None else [(6, _I32, converted)]
        schema.append(
            _struct((1, _I32, physical), (3, _I32, _OPTIONAL), (4, _BINARY, name.encode()), *extra)
        )
    return _struct(
        (1, _I32, 1),
        (2, _LIST, (_STRUCT, schema)),
        (3, _I64, sum(number for number, _ in groups)),
        (4, _LIST, (_STRUCT, [_group(number, chunks) for number, chunks in groups])),
        (6, _BINARY, b"hone"),
    )


def _group(num_rows: int, chunks: Sequence[_Chunk]) -> bytes:
    columns = [_struct((2, _I64, c.offset), (3, _STRUCT, _chunk(c))) for c in chunks]
    size = sum(chunk.plain for chunk in chunks)
    return _struct((1, _LIST, (_STRUCT, columns)), (2, _I64, size), (3, _I64, num_rows))


def _chunk(chunk: _Chunk) -> bytes:
    encodings = [_zigzag(_PLAIN), _zigzag(_RLE)]
    return _struct(
        (1, _I32, chunk.physical),
        (2, _LIST, (_I32, encodings)),
        (3, _LIST, (_BINARY, [_binary(chunk.name.encode())])),
        (4, _I32, _GZIP),
        (5, _I64, chunk.num_values),
        (6, _I64, chunk.plain),
        (7, _I64, chunk.packed),
        (9, _I64, chunk.offset),
    )


def _struct(*fields: tuple[int, int, Any]) -> bytes:
    """A Thrift struct of (number, type, value), numbers ascending by less than 16."""
    parts, latest = [], 0
    for number, kind, value in fields:
        parts.append(bytes([(number - latest) << 4 | kind]))
        latest = number
        if kind in (_I32, _I64):
            parts.append(_zigzag(value))
        elif kind == _BINARY:
            parts.append(_binary(value))
        elif kind == _LIST:
            parts.append(_list(*value))
        else:
            parts.append(value)
    return b"".join(parts) + b"\0"


def _list(kind: int, items: Sequence[bytes]) -> bytes:
    size = len(items)
    head = bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + _varint(size)
    return head + b"".join(items)


def _binary(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else ~(value << 1))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
