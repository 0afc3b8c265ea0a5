"""Tensors as they lie on disk: plain, in groups along the input, or as other programs do it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hone_engine.formats.segments import Segments
from hone_engine.formats.spec import Array, TensorSpec


@dataclass(frozen=True, slots=True)
class Dense:
    """An unquantized tensor; `values` is float32, float16, or uint16 that holds bfloat16 bits."""

    values: Array
    dtype: Literal["fp32", "fp16", "bf16"]

    @property
    def spec(self) -> TensorSpec:
        return TensorSpec(tuple(self.values.shape), self.dtype)

    def arrays(self) -> tuple[Array, ...]:
        return (self.values,)

    def rows(self, start: int, stop: int) -> "Dense":
        """Some of the rows, as a view."""
        return self.take_rows(slice(start, stop))

    def take_rows(self, order: Array | slice) -> "Dense":
        """The same weight with its rows in `order`."""
        return Dense(self.values[order], self.dtype)

    def float32(self) -> Array:
        """The values as float32 (a copy unless they are)."""
        if self.dtype == "bf16":
            return (self.values.astype(np.uint32) << 16).view(np.float32)
        return self.values.astype(np.float32, copy=False)


@dataclass(frozen=True, slots=True)
class Quantized:
    """A linear layer's weight in groups of `group` inputs.

    codes: 4 bit (N, K/2) uint8, low nibble the even k; 5 bit the same low four bits, with `high`
    (N, K/8) uint8, bit j of byte b for k = 8b+j; 8 bit (N, K) int8, or uint8 where there are
    `mins`. scales, mins: (N, K/group) float16.
    Value: scale * (code - zero), zero 8, 16, 0 for 4, 5, 8 bits; with mins scale * code + min.
    """

    codes: Array
    scales: Array
    mins: Array | None
    bits: int
    group: int
    high: Array | None = None

    @property
    def spec(self) -> TensorSpec:
        rows, groups = self.scales.shape
        shape = (int(rows), int(groups) * self.group)
        return TensorSpec(shape, "quantized", self.bits, self.group, self.mins is not None)

    def arrays(self) -> tuple[Array, ...]:
        """In the order of `spec.parts`."""
        found = (self.codes, self.high, self.scales, self.mins)
        return tuple(array for array in found if array is not None)

    def rows(self, start: int, stop: int) -> "Quantized":
        """Some of the rows, as views."""
        return self.take_rows(slice(start, stop))

    def take_rows(self, order: Array | slice) -> "Quantized":
        """The same weight with its rows in `order`: lossless, since no group crosses a row."""
        high, mins = self.high, self.mins
        return Quantized(
            self.codes[order],
            self.scales[order],
            None if mins is None else mins[order],
            self.bits,
            self.group,
            None if high is None else high[order],
        )

    def unpacked(self) -> Array:
        """The codes one a weight, (N, K); uint8, or int8 for 8 bits without a minimum."""
        if self.bits == 8:
            return self.codes
        rows, half = self.codes.shape
        codes = np.empty((rows, half, 2), np.uint8)
        np.bitwise_and(self.codes, 15, out=codes[:, :, 0])
        np.right_shift(self.codes, 4, out=codes[:, :, 1])
        flat: Array = codes.reshape(rows, half * 2)
        if self.high is not None:
            flat |= np.unpackbits(self.high, axis=1, bitorder="little") << 4
        return flat

    def float32(self) -> Array:
        """The values, (N, K) float32."""
        rows, groups = self.scales.shape
        codes = self.unpacked().reshape(rows, groups, self.group).astype(np.float32)
        if self.mins is None:
            codes -= 0 if self.bits == 8 else 1 << (self.bits - 1)
        codes *= self.scales.astype(np.float32)[:, :, None]
        if self.mins is not None:
            codes += self.mins.astype(np.float32)[:, :, None]
        return codes.reshape(rows, groups * self.group)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A matrix in another program's format: the arrays as they lie on disk, and their reader."""

    spec: TensorSpec
    stored: tuple[Array, ...]
    read: Callable[[], Segments]

    def arrays(self) -> tuple[Array, ...]:
        """In the order of `spec.parts`."""
        return self.stored

    def segments(self) -> Segments:
        """What the arrays mean; FormatError where they do not hold together."""
        return self.read()

    def dense(self) -> Dense:
        """The values as the format's reference yields them."""
        return Dense(self.read().dequantize(), "fp16")

    def float32(self) -> Array:
        """The values, (N, K) float32."""
        return self.dense().float32()


Tensor = Dense | Quantized | Foreign
