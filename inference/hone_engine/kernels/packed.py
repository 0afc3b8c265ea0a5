"""Weights in the layout that the products stream: packed once at load, read once a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hone_engine.kernels.lazy_torch import torch
from hone_engine.kernels.native import native

Array = NDArray[Any]

BITS = (4, 5, 8)
GROUPS = (32, 64)
DENSE_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}


@dataclass(frozen=True, slots=True)
class PackedWeight:
    """A weight matrix (rows, cols) ready for `linear` and `embed`.

    bits: 4, 8 (5-bit codes are widened), 16 (fp16 or bf16) or 32. nbytes: size when packed.
    order: int32 (cols,), column k multiplies x[order[k]]; None: x[k].
    """

    rows: int
    cols: int
    bits: int
    nbytes: int
    handle: Any  # of the extension
    order: NDArray[np.int32] | None = None

    def dequantize(self, rows: list[int] | None = None) -> torch.Tensor:
        """The matrix, or the given rows of it, as fp32, its columns as they are stored."""
        return torch.from_numpy(self.handle.unpack(rows))


def packed_bytes(rows: int, cols: int, bits: int, *, minimum: bool = False) -> int:
    """Bytes that a matrix takes when packed: units of 32 rows, codes with a scale a 32 columns."""
    units = -(-rows // 32)
    if bits >= 16:
        return units * cols * 4 * bits
    step = (512 if bits == 4 else 1024) + (128 if minimum else 64)
    return units * (cols // 32) * step


def _unpack_codes(codes: torch.Tensor, high: torch.Tensor | None, bits: int) -> torch.Tensor:
    """Codes of the on-disk layout as int16 (rows, cols)."""
    if bits == 8:
        return codes.to(torch.int16)
    low = torch.stack((codes & 15, codes >> 4), dim=-1).flatten(-2).to(torch.int16)
    if high is None:
        return low
    planes = (high.unsqueeze(-1) >> torch.arange(8, dtype=torch.uint8)) & 1
    return low | (planes.flatten(-2).to(torch.int16) << 4)


def dequantize_reference(
    codes: torch.Tensor,
    scales: torch.Tensor,
    mins: torch.Tensor | None = None,
    *,
    bits: int,
    group: int,
    high: torch.Tensor | None = None,
) -> torch.Tensor:
    """fp32 (rows, cols) of weights in the on-disk layout; see `pack_quantized`."""
    values = _unpack_codes(codes, high, bits)
    rows, cols = values.shape
    grouped = values.view(rows, cols // group, group).float()
    if mins is None:
        zero = {4: 8, 5: 16, 8: 0}[bits]
        grouped = (grouped - zero) * scales.float().unsqueeze(-1)
    else:
        grouped = grouped * scales.float().unsqueeze(-1) + mins.float().unsqueeze(-1)
    return grouped.reshape(rows, cols)


def check_quantized(
    codes: Array,
    scales: Array,
    mins: Array | None,
    bits: int,
    group: int,
    high: Array | None,
) -> None:
    """Raise ValueError, naming the argument, unless the parts fit together."""
    if bits not in BITS:
        raise ValueError(f"bits: got {bits}, wanted one of {BITS}")
    if group not in GROUPS:
        raise ValueError(f"group: got {group}, wanted one of {GROUPS}")
    rows = codes.shape[0]
    cols = codes.shape[1] * (1 if bits == 8 else 2)
    if cols % group:
        raise ValueError(f"codes: got {cols} columns, wanted a multiple of group {group}")
    wanted = {"scales": (scales, (rows, cols // group))}
    if mins is not None:
        wanted["mins"] = (mins, (rows, cols // group))
    if bits == 5:
        if high is None:
            raise ValueError("high: got None, wanted the fifth bits, uint8 (rows, cols / 8)")
        wanted["high"] = (high, (rows, cols // 8))
    for name, (tensor, shape) in wanted.items():
        if tuple(tensor.shape) != shape:
            raise ValueError(f"{name}: got shape {tuple(tensor.shape)}, wanted {shape}")


def pack_quantized(
    codes: Array,
    scales: Array,
    mins: Array | None = None,
    *,
    bits: int,
    group: int,
    high: Array | None = None,
) -> PackedWeight:
    """Pack codes of the on-disk layout (see formats) for the products.

    codes: 4 and 5 bits: uint8 (rows, cols / 2), low nibble = even column; 8 bits: int8
    (rows, cols), or uint8 with mins. high (5 bits): uint8 (rows, cols / 8), bit j of byte b is
    column 8b + j.
    scales, mins: fp16 (rows, cols / group). Value = scale * (code - zero), zero = 8, 16, 0 for
    4, 5, 8 bits, or scale * code + min where mins are given.
    Matrices that share an input (q, k, v; gate, up) are concatenated along rows by the caller.
    """
    check_quantized(codes, scales, mins, bits, group, high)
    fifth = high if bits == 5 else None
    half = [None if part is None else np.asarray(part, np.float16) for part in (scales, mins)]
    kept = [None if part is None else np.ascontiguousarray(part) for part in (codes, fifth, *half)]
    rows, cols = codes.shape[0], codes.shape[1] * (1 if bits == 8 else 2)
    addresses = [0 if part is None else part.ctypes.data for part in kept]
    handle = native().pack_quantized(*addresses, rows, cols, bits, group)
    return PackedWeight(rows, cols, 4 if bits == 4 else 8, handle.nbytes, handle)


def pack_dense(weight: Array, kind: str | None = None) -> PackedWeight:
    """Pack a fp16, bf16 or fp32 matrix (rows, cols), kept at its own width.

    kind: what the numbers are, default the array's dtype; "bfloat16" of 16-bit words, which numpy
    has no type for.
    """
    kept = np.ascontiguousarray(weight)
    kind = kind or kept.dtype.name
    if DENSE_BYTES.get(kind) != kept.dtype.itemsize:
        raise ValueError(f"weight: got {kind}, wanted one of {', '.join(DENSE_BYTES)}")
    if kept.ndim != 2:
        raise ValueError(f"weight: got {kept.ndim} dimensions, wanted 2")
    handle = native().pack_dense(kept.ctypes.data, kind, *kept.shape)
    rows, cols = kept.shape
    return PackedWeight(rows, cols, 8 * kept.dtype.itemsize, handle.nbytes, handle)
