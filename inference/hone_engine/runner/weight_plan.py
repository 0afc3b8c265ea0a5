"""What the weights of a directory will take on the CPU, reckoned from its headers."""

import math
from collections.abc import Sequence

from hone_engine.formats import Checkpoint, TensorSpec
from hone_engine.kernels import packed_bytes
from hone_engine.models import registry
from hone_engine.models.config import ModelConfig
from hone_engine.quant.lowering import lowered_spec

BLOCK_BYTES = 16 << 20
DENSE_BITS = {"fp32": 32, "fp16": 16, "bf16": 16}


def weight_plan(checkpoint: Checkpoint, parsed: ModelConfig) -> tuple[int, int]:
    """Bytes of all packed weights; bytes beside them while the largest one is packed."""
    specs = checkpoint.specs
    matrices = [[specs[name] for name in names] for names in registry.packed_names(parsed)]
    wanted = [specs[name] for name in registry.tensor_names(parsed)]
    vectors = sum(4 * math.prod(spec.shape) for spec in wanted if len(spec.shape) == 1)
    return vectors + sum(map(_held_bytes, matrices)), max(map(_passing_bytes, matrices))


def _held_bytes(parts: Sequence[TensorSpec]) -> int:
    spec = lowered_spec(parts)
    bits = spec.bits if spec.storage == "quantized" else DENSE_BITS[spec.storage]
    rows, cols = spec.shape
    return packed_bytes(rows, cols, bits, minimum=spec.minimum)


def _passing_bytes(parts: Sequence[TensorSpec]) -> int:
    """The file's pages, and what stands between them and the packed matrix."""
    stored = sum(spec.num_bytes for spec in parts)
    copies = 1 if len(parts) > 1 else 0  # joined
    if any(spec.foreign for spec in parts):
        copies += 1  # in an order that can be packed
        stored += BLOCK_BYTES
    held = lowered_spec(parts)
    each = 1 if held.storage == "quantized" else DENSE_BITS[held.storage] // 8
    return stored + copies * each * math.prod(held.shape)
