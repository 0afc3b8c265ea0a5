"""From a checkpoint's tensors to packed weights, one at a time and without a second copy."""

import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hone_engine.formats import Checkpoint, Dense, Foreign, Quantized, Segments
from hone_engine.formats.spec import Array
from hone_engine.kernels import FloatArray, PackedWeight, pack_dense, pack_quantized
from hone_engine.quant.lowering import lower, lowered_spec, widening

logger = logging.getLogger(__name__)
OnTensor = Callable[[int], None]


class WeightSource:
    """Hands out a checkpoint's tensors as the kernels want them.

    The pages of a tensor are given back to the system as soon as it is packed; `on_tensor` is
    told its bytes then.
    """

    def __init__(self, checkpoint: Checkpoint, on_tensor: OnTensor | None = None):
        self._checkpoint = checkpoint
        self._on_tensor = on_tensor
        self._widened: dict[str, str] = {}  # name: why it is held in 16 bits

    def packed(
        self, *names: str, rows: Array | None = None, in_order: bool = False
    ) -> PackedWeight:
        """Matrices over the same input, one below the other, packed as one.

        rows: the order of each matrix's outputs. in_order: the input comes in the order in which
        its columns are stored (see `input_order`), so that the product need not bring it there.
        """
        tensors = [self._checkpoint.tensor(name) for name in names]
        if reason := widening([tensor.spec for tensor in tensors]):
            self._widened[names[0]] = reason
        joined, order = lower(tensors)
        if rows is not None:
            starts = np.arange(len(names))[:, None] * len(rows)
            joined = joined.take_rows((starts + rows).reshape(-1))
        weight = self._pack(joined, None if in_order else order)
        self.done(*names)
        return weight

    def _pack(self, joined: Dense | Quantized, order: Array | None) -> PackedWeight:
        """A matrix as the products of this device take it; `order` as in `lower`."""
        weight = pack(joined)
        return weight if order is None else replace(weight, order=order.astype(np.int32))

    def input_order(self, name: str) -> Array | None:
        """Where each stored column of a matrix comes from: k from x[order[k]]; None: x[k].

        Also None for one that is packed in the order of x whatever its columns are stored in.
        """
        tensor = self._checkpoint.tensor(name)
        held = lowered_spec([tensor.spec])
        if not isinstance(tensor, Foreign) or held.storage != "quantized":
            return None
        return tensor.segments().perm if tensor.spec.permuted else None

    def segments(self, *names: str) -> list[Segments]:
        """Matrices in other programs' formats as they lie on disk; call `done` afterwards."""
        found = [self._checkpoint.tensor(name) for name in names]
        return [tensor.segments() for tensor in found if isinstance(tensor, Foreign)]

    def vector(self, *names: str, rows: Array | None = None) -> FloatArray:
        """Vectors one behind the other, float32; `rows`: the order of each one's numbers."""
        found = [self._checkpoint.tensor(name).float32().reshape(-1) for name in names]
        joined = np.concatenate([values if rows is None else values[rows] for values in found])
        self.done(*names)
        return joined

    def done(self, *names: str) -> None:
        """The tensors have been taken: their pages may go, and progress is told."""
        for name in names:
            self._checkpoint.release(name)
            if self._on_tensor is not None:
                self._on_tensor(self._checkpoint.specs[name].num_bytes)

    def report(self) -> None:
        """Log once what is held in more bits than it is stored in."""
        reasons = sorted(set(self._widened.values()))
        if reasons:
            logger.warning(
                "%s: %d quantized matrices (%s, ...) run from 16-bit weights: %s",
                self._checkpoint.path,
                len(self._widened),
                next(iter(self._widened)),
                "; ".join(reasons),
            )


def pack(tensor: Dense | Quantized) -> PackedWeight:
    """Pack a matrix (N, K) as it is stored."""
    if isinstance(tensor, Dense):
        return pack_dense(tensor.values, "bfloat16" if tensor.dtype == "bf16" else None)
    return pack_quantized(
        tensor.codes,
        tensor.scales,
        tensor.mins,
        bits=tensor.bits,
        group=tensor.group,
        high=tensor.high,
    )
