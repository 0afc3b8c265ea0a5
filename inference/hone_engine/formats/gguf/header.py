"""The head of a GGUF file: key-value pairs and where the tensors lie.

The `gguf` library gives the tensor types, block sizes and (for K-quants) the dequantization. Its
reader is not used: it makes four numpy arrays a vocabulary entry (2.2 s of CPU for 49,152 tokens
and their merges; this takes 0.1 s) and meets a truncated file with an IndexError.
"""

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType

from hone_engine.formats.errors import FormatError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_DIMS = 4
SCALARS = {
    GGUFValueType.UINT8: "<B",
    GGUFValueType.INT8: "<b",
    GGUFValueType.UINT16: "<H",
    GGUFValueType.INT16: "<h",
    GGUFValueType.UINT32: "<I",
    GGUFValueType.INT32: "<i",
    GGUFValueType.FLOAT32: "<f",
    GGUFValueType.BOOL: "<?",
    GGUFValueType.UINT64: "<Q",
    GGUFValueType.INT64: "<q",
    GGUFValueType.FLOAT64: "<d",
}


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor of the file. `shape` is (rows, columns): GGUF's dimensions reversed."""

    name: str
    shape: tuple[int, ...]
    type: GGMLQuantizationType
    begin: int  # offset into the file
    num_bytes: int


class Cursor:
    """Reads the head from front to back and never past the end of the file."""

    def __init__(self, path: Path, data: mmap.mmap, num_bytes: int):
        self.path = path
        self.data = data
        self.at = 0
        self.num_bytes = num_bytes
        self.reading = "the header"  # what is being read, for the message

    def need(self, count: int) -> int:
        """Advance by `count` bytes and return where they begin."""
        begin = self.at
        if count < 0 or begin + count > self.num_bytes:
            raise FormatError(
                f"{self.path}: {self.reading} needs {count} bytes at {begin}, but the file ends at "
                f"{self.num_bytes}: it is cut short or damaged"
            )
        self.at = begin + count
        return begin

    def scalar(self, form: str) -> Any:
        return struct.unpack_from(form, self.data, self.need(struct.calcsize(form)))[0]

    def text(self) -> str:
        count = self.scalar("<Q")
        begin = self.need(count)
        return self.data[begin : begin + count].decode("utf-8", "replace")

    def value_type(self) -> GGUFValueType:
        found = self.scalar("<I")
        try:
            return GGUFValueType(found)
        except ValueError:
            raise FormatError(f"{self.path}: {self.reading} has value type {found}") from None

    def value(self, kind: GGUFValueType, depth: int = 0) -> Any:
        if kind == GGUFValueType.STRING:
            return self.text()
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        if depth > 2:
            raise FormatError(f"{self.path}: {self.reading} has arrays nested too deep")
        item, count = self.value_type(), self.scalar("<Q")
        if item in SCALARS:
            form = SCALARS[item]
            begin = self.need(count * struct.calcsize(form))
            return list(struct.unpack_from(f"<{count}{form[1]}", self.data, begin))
        if item == GGUFValueType.STRING:
            return self.texts(count)
        return [self.value(item, depth + 1) for _ in range(count)]

    def texts(self, count: int) -> list[str]:
        """An array of strings: the long part of a vocabulary, so without a call an entry."""
        data, at, end, read = (
            self.data,
            self.at,
            self.num_bytes - 8,
            struct.Struct("<Q").unpack_from,
        )
        found: list[str] = []
        for _ in range(count):
            if at > end:
                self.at = at
                self.need(8)
            stop = at + 8 + read(data, at)[0]
            if stop > end + 8:
                self.at = at + 8
                self.need(stop - at - 8)
            found.append(data[at + 8 : stop].decode("utf-8", "replace"))
            at = stop
        self.at = at
        return found


class GGUFFile:
    """A GGUF file by memory map; raises FormatError for one that is damaged or cut short."""

    def __init__(self, path: Path):
        self.path = path
        with path.open("rb") as file:
            num_bytes = os.fstat(file.fileno()).st_size
            if file.read(4) != MAGIC:
                raise FormatError(f"{path}: is no GGUF file (does not begin with 'GGUF')")
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        cursor = Cursor(path, self.map, num_bytes)
        cursor.need(4)
        version = cursor.scalar("<I")
        if version not in VERSIONS:
            raise FormatError(f"{path}: is GGUF version {version}; wanted 2 or 3, little-endian")
        num_tensors, num_values = cursor.scalar("<Q"), cursor.scalar("<Q")
        self.values: dict[str, Any] = {}
        for _ in range(num_values):
            self._read_value(cursor)
        found = [_read_info(cursor) for _ in range(num_tensors)]
        alignment = self.values.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment <= 0:
            raise FormatError(f"{path}: general.alignment is {alignment!r}; wanted a power of two")
        base = -(-cursor.at // alignment) * alignment
        self.tensors = {info[0]: self._place(base, *info, num_bytes) for info in found}

    def _read_value(self, cursor: Cursor) -> None:
        cursor.reading = "a key"
        key = cursor.text()
        cursor.reading = f"key {key}"
        self.values[key] = cursor.value(cursor.value_type())

    def _place(
        self,
        base: int,
        name: str,
        shape: tuple[int, ...],
        kind: GGMLQuantizationType,
        offset: int,
        file_len: int,
    ) -> TensorInfo:
        block_len, block_bytes = GGML_QUANT_SIZES[kind]
        count = 1
        for size in shape:
            count *= size
        if shape[-1] % block_len:
            raise FormatError(
                f"{self.path}: tensor {name} {list(shape)} is {kind.name}, whose rows come in "
                f"blocks of {block_len}"
            )
        begin, num_bytes = base + offset, count // block_len * block_bytes
        if begin + num_bytes > file_len:
            raise FormatError(
                f"{self.path}: tensor {name} {list(shape)} {kind.name} needs bytes "
                f"{begin}..{begin + num_bytes}, but the file ends at {file_len}: it is cut short"
            )
        return TensorInfo(name, shape, kind, begin, num_bytes)


def _read_info(cursor: Cursor) -> tuple[str, tuple[int, ...], GGMLQuantizationType, int]:
    cursor.reading = "the list of tensors"
    name = cursor.text()
    cursor.reading = f"tensor {name}"
    num_dims = cursor.scalar("<I")
    if not 1 <= num_dims <= MAX_DIMS:
        raise FormatError(f"{cursor.path}: tensor {name} has {num_dims} dimensions, wanted 1..4")
    dims = [cursor.scalar("<Q") for _ in range(num_dims)]
    kind = cursor.scalar("<I")
    try:
        known = GGMLQuantizationType(kind)
    except ValueError:
        raise FormatError(f"{cursor.path}: tensor {name} has the unknown type {kind}") from None
    return name, tuple(reversed(dims)), known, cursor.scalar("<Q")
