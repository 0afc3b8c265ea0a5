"""Write EXL2, GPTQ and AWQ directories by rounding to nearest: for tests and benchmarks only.

Written apart from the readers in hone_engine.formats, so that each checks the other. Every writer
takes weights W (N, K) float32 by name and gives, beside the stored tensors, the values that the
format's reference dequantization yields: float16 (N, K).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Stored = dict[str, Array]


def stream(codes: Array, bits: int) -> Array:
    """int32 (K * bits / 32, N): codes (K, N) as bit streams down the columns, lowest bit first."""
    planes = (codes[:, None, :] >> np.arange(bits, dtype=np.uint8)[None, :, None]) & 1
    octets = np.packbits(planes.reshape(-1, codes.shape[1]).astype(np.uint8), 0, "little")
    four = octets.reshape(-1, 4, octets.shape[1]).astype(np.uint32)
    words = four[:, 0] | four[:, 1] << 8 | four[:, 2] << 16 | four[:, 3] << 24
    return words.view(np.int32)


def halves(values: Array) -> Array:
    """Rounded to float16, kept as float32."""
    return values.astype(np.float16).astype(np.float32)


def energy_order(weight: Array) -> Array:
    """Inputs by falling energy of their columns: a stand-in for the Hessian's diagonal."""
    return np.argsort(-np.square(weight).sum(0), kind="stable")


@dataclass(frozen=True, slots=True)
class Groups:
    """Codes (K, N) with scales and zero points (G, N)."""

    codes: Array
    scales: Array
    zeros: Array
    values: Array  # float16 (K, N)


def affine(columns: Array, bits: int, group: int, *, symmetric: bool, least: int = 0) -> Groups:
    """Round (K, N) to groups of `group` rows; zero points lie in least .. 2**bits - 1."""
    cols, rows = columns.shape
    top, num_groups = (1 << bits) - 1, -(-cols // group)
    edge = np.pad(columns, ((0, num_groups * group - cols), (0, 0)), "edge")
    grouped = edge.reshape(num_groups, group, rows)
    low, high = np.minimum(grouped.min(1), 0), np.maximum(grouped.max(1), 0)
    if symmetric:
        scales = 2 * np.maximum(-low, high) / top
        zeros = np.full_like(scales, 1 << (bits - 1))
    else:
        scales = (high - low) / (top - least)
        zeros = np.clip(np.rint(-low / np.maximum(scales, 1e-8)), least, top)
    scales = halves(np.maximum(scales, 1e-6))
    codes = np.clip(np.rint(grouped / scales[:, None] + zeros[:, None]), 0, top)
    values = ((codes - zeros[:, None]) * scales[:, None]).astype(np.float16)
    return Groups(
        codes.reshape(-1, rows)[:cols].astype(np.uint8),
        scales.astype(np.float16),
        zeros.astype(np.int64),
        values.reshape(-1, rows)[:cols],
    )


def gptq(
    weight: Array, order: Array | None, *, bits: int, group: int, symmetric: bool, v2: bool
) -> tuple[Stored, Array]:
    """GPTQ tensors of W (N, K); `order`: the inputs that make the groups, one by one."""
    cols = weight.shape[1]
    order = np.arange(cols) if order is None else order
    # version 1 stores zero - 1, so that it has none for 0
    found = affine(
        weight.T[order], bits, group, symmetric=symmetric, least=0 if v2 or symmetric else 1
    )
    index = np.empty(cols, np.int32)
    index[order] = np.arange(cols) // group
    codes, values = np.empty_like(found.codes), np.empty_like(found.values)
    codes[order], values[order] = found.codes, found.values
    stored = {
        "qweight": stream(codes, bits),
        "qzeros": stream((found.zeros - (not v2)).astype(np.uint8).T, bits).T.copy(),
        "scales": found.scales,
        "g_idx": index,
    }
    return stored, values.T


def awq(weight: Array, *, group: int) -> tuple[Stored, Array]:
    """AWQ tensors ("gemm") of W (N, K)."""
    found = affine(weight.T, 4, group, symmetric=False)
    stored = {
        "qweight": _interleaved(found.codes),
        "qzeros": _interleaved(found.zeros),
        "scales": found.scales,
    }
    return stored, found.values.T


def _interleaved(codes: Array) -> Array:
    """Eight neighboring columns in a word, the even ones in its low half."""
    eight = codes.reshape(len(codes), -1, 8).astype(np.uint32)
    words = np.zeros(eight.shape[:2], np.uint32)
    for nibble, column in enumerate((0, 2, 4, 6, 1, 3, 5, 7)):
        words |= eight[:, :, column] << np.uint32(4 * nibble)
    return words.view(np.int32)


Mixture = list[tuple[int, int, float]]  # (bits, group, share of the inputs), widths falling


def exl2(weight: Array, order: Array | None, mixture: Mixture) -> tuple[Stored, Array]:
    """EXL2 tensors of W (N, K); `order`: the inputs, those with the most bits first.

    Outputs are padded to a multiple of 32.
    """
    rows, cols = weight.shape
    order = np.arange(cols) if order is None else order
    padded = np.pad(weight, ((0, -rows % 32), (0, 0)))
    stored = padded.T[order]
    words, facts, codes4, tops, values = [], [], [], [], np.empty(stored.shape, np.float16)
    at, first = 0, 0
    for bits, start, stop in _groups(mixture, cols):
        block = stored[start:stop]
        scales, codes, top = _square_scales(block, bits)
        middle = 1 << (bits - 1)
        found = np.clip(np.rint(block / scales) + middle, 0, 2 * middle - 1)
        values[start:stop] = ((found - middle) * scales).astype(np.float16)
        words.append(stream(found.astype(np.uint8), bits))
        facts += [bits, first]
        first += len(words[-1])
        codes4.append(codes)
        tops.append(top)
        at = stop
    assert at == cols
    inverse = np.argsort(order)
    tensors = {
        "q_weight": np.concatenate(words),
        "q_invperm": inverse.astype(np.int32),
        "q_scale": stream(np.array(codes4, np.uint8).T, 4).T.copy(),
        "q_scale_max": np.array(tops, np.float16),
        "q_groups": np.array(facts, np.uint16).view(np.int16),
    }
    return tensors, values[inverse].T[:rows]


def _groups(mixture: Mixture, cols: int) -> list[tuple[int, int, int]]:
    """(bits, start, stop) of each group; the last width takes what is left."""
    found, at = [], 0
    for number, (bits, group, share) in enumerate(mixture):
        left = cols - at
        wanted = left if number == len(mixture) - 1 else min(cols * share, left)
        for _ in range(-(-int(wanted) // group)):
            if at < cols:
                found.append((bits, at, min(at + group, cols)))
                at = found[-1][2]
    return found


def _square_scales(block: Array, bits: int) -> tuple[Array, Array, Any]:
    """Scales (N,), their 4-bit codes, and the greatest scale: code c means (c+1)^2 / 256 of it."""
    wanted = np.maximum(np.abs(block).max(0) / max((1 << (bits - 1)) - 0.5, 1), 1e-5)
    top = np.float16(wanted.max())
    unit = halves(np.float32(top) / np.float32(256))
    codes = np.clip(np.ceil(np.sqrt(wanted / unit)) - 1, 0, 15)
    return halves(np.square(codes + 1) * unit), codes, top
