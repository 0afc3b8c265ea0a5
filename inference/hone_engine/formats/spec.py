"""How tensors lie on disk, known before any of them is read."""

import math
import zlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Storage = Literal["fp32", "fp16", "bf16", "quantized", "exl2", "gptq", "awq"]

ITEM_LEN = {"fp32": 4, "fp16": 2, "bf16": 2, "uint8": 1, "int8": 1, "int16": 2, "int32": 4}
NUMPY: dict[str, np.dtype[Any]] = {
    "fp32": np.dtype("<f4"),
    "fp16": np.dtype("<f2"),
    "bf16": np.dtype("<u2"),  # numpy has no bfloat16: the bits
    "uint8": np.dtype("u1"),
    "int8": np.dtype("i1"),
    "int16": np.dtype("<i2"),
    "int32": np.dtype("<i4"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One array of a stored tensor: what follows the tensor's name, dtype, shape."""

    suffix: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        return math.prod(self.shape) * ITEM_LEN[self.dtype]


def order_number(order: Array) -> int:
    """A number for an order of inputs: equal for equal ones, never 0."""
    return zlib.crc32(np.ascontiguousarray(order, np.int64).tobytes()) + 1


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """How a tensor is stored, known before any of it is read.

    `shape` is the logical one, (N, K) for a linear layer. For storage "quantized": `bits` 4, 5 or
    8, `group` inputs share a scale, and a minimum where `minimum` is set.

    For another program's format: `foreign` are its parts, whose suffixes take the place of
    ".weight"; `bits` is the greatest width, `widths` are all; `group` divides every group;
    `order` tells orders of the stored inputs apart, 0 is that of x; the outputs N are filled up to
    a multiple of `padding`.
    """

    shape: tuple[int, ...]
    storage: Storage
    bits: int = 0
    group: int = 0
    minimum: bool = False
    foreign: tuple[Part, ...] = ()
    widths: tuple[int, ...] = ()
    order: int = 0
    padding: int = 1

    @property
    def parts(self) -> tuple[Part, ...]:
        if self.foreign:
            return self.foreign
        if self.storage != "quantized":
            return (Part("", self.storage, self.shape),)
        rows, cols = self.shape
        groups = (rows, cols // self.group)
        code_dtype = "int8" if self.bits == 8 and not self.minimum else "uint8"
        code_shape = (rows, cols if self.bits == 8 else cols // 2)
        parts = [Part(".codes", code_dtype, code_shape)]
        if self.bits == 5:
            parts.append(Part(".high", "uint8", (rows, cols // 8)))
        parts.append(Part(".scales", "fp16", groups))
        if self.minimum:
            parts.append(Part(".mins", "fp16", groups))
        return tuple(parts)

    @property
    def num_bytes(self) -> int:
        return sum(part.num_bytes for part in self.parts)

    @property
    def permuted(self) -> bool:
        """Whether the inputs are stored in another order than that of x."""
        return self.order != 0

    def part_names(self, name: str) -> tuple[str, ...]:
        """What the parts of the tensor `name` are called in a file, in the order of `parts`."""
        stem = name.removesuffix(".weight") if self.foreign else name
        return tuple(stem + part.suffix for part in self.parts)
