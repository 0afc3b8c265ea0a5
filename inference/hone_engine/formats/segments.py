"""A quantized matrix as every format of others is seen inside: segments of inputs.

The inputs (columns of the weight (N, K)) come in stored order; consecutive inputs with one width
and one group size are a segment. Arrays have the outputs N last, as EXL2 and GPTQ store them.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from hone_engine.formats import bitstream
from hone_engine.formats.spec import Array

WIDTHS = (2, 3, 4, 5, 6, 8)
BLOCK_LEN = 1 << 18  # weights turned into numbers at once: 4 MB stand beside the result, a thread
MAX_THREADS = 4


@dataclass(frozen=True, slots=True)
class SquareScales:
    """Scales in 4 bits: scale = fp16((code + 1)^2 * top), one `top` a group.

    words: uint32 (groups, padded N / 8), output n in bits 4 * (n mod 8) of word n div 8; top:
    float16 (groups,).
    """

    words: Array
    top: Array

    def expand(self, rows: int) -> Array:
        """float16 (groups, rows)."""
        codes = bitstream.unpack(self.words.T, 4, rows).T.astype(np.float32) + 1
        return (codes * codes * self.top.astype(np.float32)[:, None]).astype(np.float16)


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive inputs of one width.

    words: uint32 (W, N), a stream of codes an output, see `bitstream`. order: int64 (cols,) where
    input j's code is number order[j] of its stream; None: number j. scales: float16 (groups, N);
    `group` inputs share one, the last group may be shorter. zeros: int16 (groups, N), 0 to
    2**bits; None: 2**(bits - 1) everywhere. square: the scales in 4 bits, where they came so.

    Value: fp16((code - zero) * scale), one rounding.
    """

    bits: int
    group: int
    cols: int
    words: Array
    scales: Array
    zeros: Array | None = None
    order: Array | None = None
    square: SquareScales | None = None

    def codes(self) -> Array:
        """uint8 (cols, N), in stored order."""
        if self.order is None:
            return bitstream.unpack(self.words, self.bits, self.cols)
        return bitstream.unpack(self.words, self.bits, len(self.order))[self.order]

    def outputs(self, start: int, stop: int) -> "Segment":
        """The same inputs for some of the outputs, as views (without `square`)."""
        zeros = self.zeros
        return Segment(
            self.bits,
            self.group,
            self.cols,
            self.words[:, start:stop],
            self.scales[:, start:stop],
            None if zeros is None else zeros[:, start:stop],
            self.order,
        )

    def halves(self) -> Array:
        """The values, float16 (cols, N)."""
        groups, rows = self.scales.shape
        values = np.zeros((groups * self.group, rows), np.float32)
        values[: self.cols] = self.codes()
        values = values.reshape(groups, self.group, rows)
        zeros = 1 << (self.bits - 1) if self.zeros is None else self.zeros[:, None, :]
        values -= zeros
        values *= self.scales.astype(np.float32)[:, None, :]
        return values.astype(np.float16).reshape(groups * self.group, rows)[: self.cols]


@dataclass(frozen=True, slots=True)
class Segments:
    """A weight (N, K): its segments in stored order, N outputs each.

    perm: int64 (K,), stored input j multiplies x[perm[j]]; None: x[j].
    """

    rows: int
    segments: tuple[Segment, ...]
    perm: Array | None = None

    @property
    def cols(self) -> int:
        return sum(segment.cols for segment in self.segments)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    def outputs(self, start: int, stop: int) -> "Segments":
        """The same inputs for some of the outputs, as views."""
        parts = tuple(segment.outputs(start, stop) for segment in self.segments)
        return Segments(min(stop, self.rows) - start, parts, self.perm)

    def dequantize(self) -> Array:
        """The reference: float16 (N, K) in the order of x, rounded as the formats define it."""
        values = np.empty(self.shape, np.float16)
        inverse = None if self.perm is None else np.argsort(self.perm)

        def fill(start: int, stop: int) -> None:
            block = self.outputs(start, stop).segments
            stored = np.concatenate([segment.halves() for segment in block])
            values[start:stop] = (stored if inverse is None else stored[inverse]).T

        in_blocks(fill, *self.shape)
        return values


def in_blocks(fill: Callable[[int, int], None], rows: int, cols: int) -> None:
    """Call `fill` with the first and last of some outputs at a time, on a few threads."""
    step = max(1, BLOCK_LEN // max(cols, 1))
    with ThreadPoolExecutor(min(MAX_THREADS, len(os.sched_getaffinity(0)))) as pool:
        starts = range(0, rows, step)
        for done in [pool.submit(fill, start, min(start + step, rows)) for start in starts]:
            done.result()


def runs(groups: list[tuple[int, int]]) -> Iterator[tuple[int, int, int, int]]:
    """(bits, group, first group, groups) of the segments that (bits, inputs) of groups make.

    The groups of a segment are equally long, but for its last.
    """
    start = 0
    while start < len(groups):
        bits, length = groups[start]
        stop = start + 1
        while stop < len(groups) and groups[stop] == (bits, length):
            stop += 1
        if stop < len(groups) and groups[stop][0] == bits and groups[stop][1] < length:
            stop += 1
        yield bits, length, start, stop - start
        start = stop
