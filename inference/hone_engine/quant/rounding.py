"""Round weights to groups of codes, with a search for the scale that errs least.

For each group of inputs several scales are tried: the codes that a scale gives fix the best scale
(and minimum) by least squares, rounded to float16 as it will be stored; the try with the smallest
squared error is kept.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hone_engine.formats import Dense, Quantized
from hone_engine.formats.spec import Array

BLOCK_LEN = 1 << 17  # weights worked on at once: they and their scratch stay in the cache
TRIES = {4: 5, 8: 3}  # 9 for 4 bits err 0.4 % less and take 1.7 times as long
SPREAD = {4: 1.2, 8: 1.0}  # how far, in codes, the tried ranges lie from the full one
TINY = 1e-12


def quantize(tensor: Dense | Quantized, *, bits: int, group: int, minimum: bool) -> Quantized:
    """Quantize a matrix (N, K) to 4 or 8 bits in groups of `group` inputs.

    minimum: a scale and a minimum a group (smaller error), otherwise a scale only.
    Raises ValueError when K is no multiple of the group, or a weight is not finite.
    """
    rows, cols = tensor.spec.shape
    if bits not in TRIES:
        raise ValueError(f"bits: got {bits}, wanted one of {tuple(TRIES)}")
    if cols % group or group % 2:
        raise ValueError(f"group: got {group}, wanted an even divisor of {cols} columns")
    step = max(1, BLOCK_LEN // cols)
    starts = range(0, rows, step)
    search = _with_minimum if minimum else _symmetric

    def one(start: int) -> tuple[Array, Array, Array | None]:
        block = tensor.rows(start, min(start + step, rows)).float32()
        if not np.isfinite(block).all():
            raise ValueError("tensor: holds a weight that is infinite or not a number")
        return search(block.reshape(-1, group), bits)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        parts = list(pool.map(one, starts))
    codes = np.concatenate([part[0] for part in parts]).reshape(rows, cols)
    scales = np.concatenate([part[1] for part in parts]).reshape(rows, -1)
    found = [part[2] for part in parts if part[2] is not None]
    mins = np.concatenate(found).reshape(rows, -1) if found else None
    return Quantized(_pack(codes, bits), scales, mins, bits, group)


def _pack(codes: Array, bits: int) -> Array:
    if bits == 8:
        return codes
    packed: Array = codes[:, 0::2] | (codes[:, 1::2] << 4)
    return packed


def _halves(values: Array) -> Array:
    """Rounded to float16 and back, within its range."""
    clipped = np.clip(values, -65504, 65504)
    rounded: Array = clipped.astype(np.float16).astype(np.float32)
    return rounded


class _Best:
    """The try with the smallest squared error, group by group."""

    def __init__(self, num_groups: int, *parts: Array):
        self.error = np.full(num_groups, np.inf, np.float32)
        self.parts = parts

    def offer(self, error: Array, *parts: Array) -> None:
        better = error < self.error
        self.error[better] = error[better]
        for kept, new in zip(self.parts, parts, strict=True):
            kept[better] = new[better]


def _with_minimum(x: Array, bits: int) -> tuple[Array, Array, Array | None]:
    """x (G, group) -> uint8 codes (G, group), scales and mins (G,) float16."""
    count, top = x.shape[1], (1 << bits) - 1
    low, high = x.min(1), x.max(1)
    sum_x = x.sum(1)
    best = _Best(len(x), np.zeros(x.shape, np.uint8), np.zeros_like(low), np.zeros_like(low))
    for shift in np.linspace(-SPREAD[bits], SPREAD[bits] / 3, TRIES[bits], dtype=np.float32):
        scale = (high - low) / (top - shift)
        start = low + scale * (-shift / 2)
        codes = _codes(x, scale, start, top)
        sum_q, sum_qx = codes.sum(1), np.einsum("gk,gk->g", codes, x)
        spread = count * np.einsum("gk,gk->g", codes, codes) - sum_q * sum_q
        slope = (count * sum_qx - sum_q * sum_x) / np.maximum(spread, TINY)
        scale = _halves(np.where(spread > 0, slope, scale))
        start = _halves((sum_x - scale * sum_q) / count)
        codes = _codes(x, scale, start, top)
        off = codes * scale[:, None] + start[:, None] - x
        best.offer(np.einsum("gk,gk->g", off, off), codes.astype(np.uint8), scale, start)
    codes, scale, start = best.parts
    return codes, scale.astype(np.float16), start.astype(np.float16)


def _codes(x: Array, scale: Array, start: Array, top: int) -> Array:
    inverse = 1 / np.where(np.abs(scale) < TINY, np.inf, scale)
    codes = (x - start[:, None]) * inverse[:, None]
    np.rint(codes, out=codes)
    np.clip(codes, 0, top, out=codes)
    return codes


def _symmetric(x: Array, bits: int) -> tuple[Array, Array, Array | None]:
    """x (G, group) -> codes around 0 (int8) or 8 (uint8, 4 bits), scales (G,) float16.

    At 4 bits the weight farthest from 0 takes the code -8, which has no counterpart above; at 8
    bits -128 is left out, as Q8_0 does.
    """
    zero = {4: 8, 8: 127}[bits]
    far = np.take_along_axis(x, np.abs(x).argmax(1)[:, None], 1)[:, 0]
    best = _Best(len(x), np.zeros(x.shape, np.int8), np.zeros_like(far))
    for shift in np.linspace(-SPREAD[bits], SPREAD[bits], TRIES[bits], dtype=np.float32):
        scale = far / -(zero + shift)
        codes = _centered(x, scale, zero, bits)
        norm = np.einsum("gk,gk->g", codes, codes)
        slope = np.einsum("gk,gk->g", codes, x) / np.maximum(norm, TINY)
        scale = _halves(np.where(norm > 0, slope, scale))
        codes = _centered(x, scale, zero, bits)
        off = codes * scale[:, None] - x
        best.offer(np.einsum("gk,gk->g", off, off), codes.astype(np.int8), scale)
    codes, scale = best.parts
    if bits == 4:
        codes = (codes + zero).astype(np.uint8)
    return codes, scale.astype(np.float16), None


def _centered(x: Array, scale: Array, zero: int, bits: int) -> Array:
    inverse = 1 / np.where(np.abs(scale) < TINY, np.inf, scale)
    codes = x * inverse[:, None]
    np.rint(codes, out=codes)
    np.clip(codes, -zero, (1 << (bits - 1)) - 1, out=codes)
    return codes
