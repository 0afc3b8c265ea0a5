"""Matrices of any format as the CPU kernels multiply them.

The kernels take codes of 4 or 8 bits in groups of 32 or 64 inputs, in any one order of the inputs.
Where matrices over the same input can be said so, they keep their codes: narrower and mixed widths
become a code a byte. Else they become 16-bit numbers, as their formats' references yield them.
"""

from collections.abc import Sequence

import numpy as np

from hone_engine.formats import Dense, Foreign, Quantized, Segment, Segments, Tensor, TensorSpec
from hone_engine.formats.segments import in_blocks
from hone_engine.formats.spec import Array
from hone_engine.quant.join import join_rows, joined_spec

GROUPS = (64, 32)


def lowered_spec(specs: Sequence[TensorSpec]) -> TensorSpec:
    """How matrices over the same input are held, one below the other."""
    whole = joined_spec([_own_spec(spec) for spec in specs])
    if whole.storage == "quantized" and len({spec.order for spec in specs}) > 1:
        return TensorSpec(whole.shape, "fp16")
    return whole


def widening(specs: Sequence[TensorSpec]) -> str:
    """Why matrices that have codes are held in 16 bits; "" where they are not."""
    foreign = [spec for spec in specs if spec.foreign]
    if not foreign or lowered_spec(specs).storage == "quantized":
        return ""
    odd = [spec for spec in foreign if _own_spec(spec).storage != "quantized"]
    if odd:
        return f"groups of {odd[0].group} inputs of {odd[0].shape[1]}"
    orders = len({spec.order for spec in specs})
    return f"{orders} orders of the same input" if orders > 1 else "groups that differ"


def lower(tensors: Sequence[Tensor]) -> tuple[Dense | Quantized, Array | None]:
    """Matrices over the same input, one below the other, and the order of their columns.

    Column k multiplies x[order[k]]; None: x[k]. Codes keep their exact values where zero points
    lie in the middle or below 8 bits; at 4 and 8 bits with other zero points the minimum -zero *
    scale is rounded to float16, which errs no more than the format's own rounding of a weight.
    """
    if lowered_spec([tensor.spec for tensor in tensors]).storage != "quantized":
        return join_rows([t.dense() if isinstance(t, Foreign) else t for t in tensors]), None
    parts: list[Dense | Quantized] = []
    order = None
    for tensor in tensors:
        if isinstance(tensor, Foreign):
            matrix, spec = tensor.segments(), _own_spec(tensor.spec)
            parts.append(_codes(matrix, spec.bits, spec.group))
            order = matrix.perm
        else:
            parts.append(tensor)
    return join_rows(parts), order


def _own_spec(spec: TensorSpec) -> TensorSpec:
    """How one matrix would be held alone."""
    if not spec.foreign:
        return spec
    group = next((g for g in GROUPS if spec.group % g == 0 and spec.shape[1] % g == 0), None)
    if group is None:
        return TensorSpec(spec.shape, "fp16")
    minimum = spec.minimum and spec.bits in (4, 8)  # narrower codes less their zero fit a byte
    return TensorSpec(spec.shape, "quantized", 4 if spec.widths == (4,) else 8, group, minimum)


def _codes(matrix: Segments, bits: int, group: int) -> Quantized:
    """Codes (N, K) of stored inputs, their scales repeated to groups of `group`."""
    rows, cols = matrix.shape
    signed = bits == 8 and all(s.zeros is None or s.bits < 8 for s in matrix.segments)
    minimum = not signed and any(s.zeros is not None for s in matrix.segments)
    codes = np.empty((rows, cols * bits // 8), np.int8 if signed else np.uint8)
    scales = np.empty((rows, cols // group), np.float16)
    mins = np.empty_like(scales) if minimum else None

    def fill(start: int, stop: int) -> None:
        segments = matrix.outputs(start, stop).segments
        block = np.concatenate([_signed(s) if signed else s.codes() for s in segments])
        if bits == 4:
            block = block[0::2] | (block[1::2] << 4)
        codes[start:stop] = block.T
        scales[start:stop] = np.concatenate([_repeated(s, s.scales, group) for s in segments]).T
        if mins is not None:
            mins[start:stop] = np.concatenate([_minimums(s, group) for s in segments]).T

    in_blocks(fill, rows, cols)  # so that little stands beside the result
    return Quantized(codes, scales, mins, bits, group)


def _repeated(segment: Segment, numbers: Array, group: int) -> Array:
    """A row for each `group` inputs of the segment, from one a group of its own."""
    return numbers[np.arange(0, segment.cols, group) // segment.group]


def _signed(segment: Segment) -> Array:
    """int8 (cols, N): codes less their zero points."""
    codes = segment.codes()
    if segment.bits == 8:
        return (codes ^ np.uint8(128)).view(np.int8)
    if segment.zeros is None:
        return codes.view(np.int8) - np.int8(1 << (segment.bits - 1))
    zeros = segment.zeros.astype(np.int8)
    return codes.view(np.int8) - zeros[np.arange(segment.cols) // segment.group]


def _minimums(segment: Segment, group: int) -> Array:
    zeros = 1 << (segment.bits - 1) if segment.zeros is None else segment.zeros
    found = -(segment.scales.astype(np.float32) * zeros)
    return _repeated(segment, found.astype(np.float16), group)
