"""Python face of the native kernels, each operation beside its plain reference.

What needs torch (`ReferenceProgram`, `sample_reference`) is imported when it is first asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

from hone_engine.kernels.kv_cache import KVCache
from hone_engine.kernels.native import (
    is_built,
    physical_cores,
    read_bandwidth,
    simd_best,
    simd_levels,
)
from hone_engine.kernels.packed import PackedWeight, pack_dense, pack_quantized, packed_bytes
from hone_engine.kernels.program import Program
from hone_engine.kernels.recorder import Buffer, FloatArray, Recorder
from hone_engine.kernels.sample import SampleBatch, Samples, greedy, sample

if TYPE_CHECKING:
    from hone_engine.kernels.reference_program import ReferenceProgram
    from hone_engine.kernels.reference_sample import sample_reference

__all__ = [
    "Buffer",
    "FloatArray",
    "KVCache",
    "PackedWeight",
    "Program",
    "Recorder",
    "ReferenceProgram",
    "SampleBatch",
    "Samples",
    "greedy",
    "is_built",
    "pack_dense",
    "pack_quantized",
    "packed_bytes",
    "physical_cores",
    "read_bandwidth",
    "sample",
    "sample_reference",
    "simd_best",
    "simd_levels",
]

_LATER = {"ReferenceProgram": "reference_program", "sample_reference": "reference_sample"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
