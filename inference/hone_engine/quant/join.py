"""Bring matrices to one format, so that they can be stacked and multiplied in one go."""

from collections.abc import Sequence

import numpy as np

from hone_engine.formats import Dense, Quantized, TensorSpec
from hone_engine.formats.spec import Array


def join_rows(tensors: Sequence[Dense | Quantized]) -> Dense | Quantized:
    """Matrices of the same width, one below the other.

    Quantized ones of different bits are widened to 8-bit codes, which loses nothing; where plain
    and quantized ones meet, or groups differ, all become float16.
    """
    if len(tensors) == 1:
        return tensors[0]
    quantized = [tensor for tensor in tensors if isinstance(tensor, Quantized)]
    if len(quantized) < len(tensors) or len({tensor.group for tensor in quantized}) > 1:
        return _join_dense(tensors)
    if len({(tensor.bits, tensor.mins is None) for tensor in quantized}) > 1:
        with_mins = any(tensor.mins is not None for tensor in quantized)
        quantized = [widen(tensor, with_mins=with_mins) for tensor in quantized]
    return _join_quantized(quantized)


def joined_spec(specs: Sequence[TensorSpec]) -> TensorSpec:
    """What `join_rows` makes of tensors, known before they are read."""
    first = specs[0]
    if len(specs) == 1:
        return first
    shape = (sum(spec.shape[0] for spec in specs), *first.shape[1:])
    if len({spec.storage for spec in specs}) > 1 or len({spec.group for spec in specs}) > 1:
        return TensorSpec(shape, "fp16")
    minimum = any(spec.minimum for spec in specs)
    same = len({(spec.bits, spec.minimum) for spec in specs}) == 1
    return TensorSpec(shape, first.storage, first.bits if same else 8, first.group, minimum)


def widen(tensor: Quantized, *, with_mins: bool) -> Quantized:
    """The same values with a code a byte: int8, or uint8 and minimums."""
    codes = tensor.unpacked()
    zero = 0 if tensor.mins is not None or tensor.bits == 8 else 1 << (tensor.bits - 1)
    if not with_mins:
        centered = (codes.astype(np.int16) - zero).astype(np.int8)
        return Quantized(centered, tensor.scales, None, 8, tensor.group)
    if tensor.mins is not None:
        return Quantized(codes, tensor.scales, tensor.mins, 8, tensor.group)
    if tensor.bits == 8:
        codes, zero = (codes.astype(np.int16) + 128).astype(np.uint8), 128
    # zero is a power of two: the product is exact (but for a scale beyond 511, which none has)
    mins = (tensor.scales.astype(np.float32) * -zero).astype(np.float16)
    return Quantized(codes, tensor.scales, mins, 8, tensor.group)


def _join_dense(tensors: Sequence[Dense | Quantized]) -> Dense:
    kinds = {tensor.dtype for tensor in tensors if isinstance(tensor, Dense)}
    if len(kinds) == 1 and all(isinstance(tensor, Dense) for tensor in tensors):
        values = [tensor.values for tensor in tensors if isinstance(tensor, Dense)]
        return Dense(np.concatenate(values), kinds.pop())
    halves = [tensor.float32().astype(np.float16) for tensor in tensors]
    return Dense(np.concatenate(halves), "fp16")


def _join_quantized(tensors: Sequence[Quantized]) -> Quantized:
    first = tensors[0]
    return Quantized(
        np.concatenate([tensor.codes for tensor in tensors]),
        np.concatenate([tensor.scales for tensor in tensors]),
        _stack([tensor.mins for tensor in tensors]),
        first.bits,
        first.group,
        _stack([tensor.high for tensor in tensors]),
    )


def _stack(arrays: Sequence[Array | None]) -> Array | None:
    found = [array for array in arrays if array is not None]
    return np.concatenate(found) if found else None
