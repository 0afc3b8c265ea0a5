"""A safetensors file by memory map: every bound is checked, nothing is copied.

The format: 8 bytes little-endian length of the header, the header as JSON (name -> dtype, shape,
data_offsets), the data without gaps.
"""

import json
import math
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hone_engine.formats.errors import FormatError
from hone_engine.formats.spec import ITEM_LEN, NUMPY, Array

MAX_HEADER_LEN = 100_000_000
DTYPES = {"F32": "fp32", "F16": "fp16", "BF16": "bf16", "U8": "uint8", "I8": "int8"}
DTYPES |= {"I16": "int16", "I32": "int32"}
DTYPE_NAMES = {ours: theirs for theirs, ours in DTYPES.items()}


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a tensor lies: `begin` and `end` are offsets into the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class SafetensorsFile:
    """An open file; raises FormatError naming the file and the tensor when it is not sound."""

    def __init__(self, path: Path):
        self.path = path
        with path.open("rb") as file:
            self._len = os.fstat(file.fileno()).st_size
            if self._len < 8:
                raise FormatError(f"{path}: {self._len} bytes is too short for a safetensors file")
            # A private map: torch wants arrays that could be written; nothing reaches the file.
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self.metadata: dict[str, str] = {}
        self.entries: dict[str, Entry] = self._read_header()

    def _read_header(self) -> dict[str, Entry]:
        header_len = int.from_bytes(self._map[:8], "little")
        if header_len > min(MAX_HEADER_LEN, self._len - 8):
            raise FormatError(
                f"{self.path}: the header is said to have {header_len} bytes, the file has "
                f"{self._len}: it is cut short or no safetensors file"
            )
        try:
            header: dict[str, Any] = json.loads(self._map[8 : 8 + header_len])
            self.metadata = {str(k): str(v) for k, v in header.pop("__metadata__", {}).items()}
        except (ValueError, AttributeError, TypeError) as error:
            raise FormatError(f"{self.path}: the header is no JSON object ({error})") from None
        return {name: self._entry(name, info, 8 + header_len) for name, info in header.items()}

    def _entry(self, name: str, info: dict[str, Any], base: int) -> Entry:
        try:
            dtype = DTYPES.get(info["dtype"], str(info["dtype"]))
            shape = tuple(int(n) for n in info["shape"])
            if min(shape, default=0) < 0:
                raise ValueError(f"shape {shape}")
            begin, end = (base + int(n) for n in info["data_offsets"])
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{self.path}: tensor {name}: bad header entry ({error!r})") from None
        if not base <= begin <= end <= self._len:
            raise FormatError(
                f"{self.path}: tensor {name} lies at bytes {begin}..{end} of a file of "
                f"{self._len}: it is cut short"
            )
        item_len = ITEM_LEN.get(dtype)
        if item_len is not None and end - begin != math.prod(shape) * item_len:
            raise FormatError(
                f"{self.path}: tensor {name} has {end - begin} bytes, "
                f"{dtype} {list(shape)} needs {math.prod(shape) * item_len}"
            )
        return Entry(dtype, shape, begin, end)

    def array(self, name: str) -> Array:
        """A view of the tensor (bf16 as uint16); writing to it never reaches the file."""
        entry = self.entries[name]
        if entry.dtype not in NUMPY:
            raise FormatError(
                f"{self.path}: tensor {name} is {entry.dtype}; wanted one of {', '.join(DTYPES)}"
            )
        count = math.prod(entry.shape)
        view: Array = np.frombuffer(self._map, NUMPY[entry.dtype], count, entry.begin)
        return view.reshape(entry.shape)

    def release(self, name: str) -> None:
        """Give the tensor's pages back to the system; a later look reads them again."""
        entry = self.entries[name]
        page = mmap.PAGESIZE
        begin = -(-entry.begin // page) * page
        num_bytes = entry.end // page * page - begin
        if num_bytes > 0:
            self._map.madvise(mmap.MADV_DONTNEED, begin, num_bytes)


def header_bytes(arrays: list[tuple[str, str, tuple[int, ...]]], metadata: dict[str, str]) -> bytes:
    """The head of a file that holds `arrays` (name, dtype, shape) one behind the other."""
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    offset = 0
    for name, dtype, shape in arrays:
        end = offset + math.prod(shape) * ITEM_LEN[dtype]
        header[name] = {
            "dtype": DTYPE_NAMES[dtype],
            "shape": list(shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)  # the data begin at a multiple of 64
    return len(text).to_bytes(8, "little") + text
