"""Import a checkpoint into a model directory of Hone's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hone_engine.formats import (
    Checkpoint,
    Dense,
    Foreign,
    FormatError,
    ProgressCallback,
    Quantized,
    Tensor,
    TensorSpec,
    open_checkpoint,
    write_model,
)
from hone_engine.models import registry
from hone_engine.models.llama import EMBEDDING, HEAD
from hone_engine.quant.rounding import quantize

BITS = (4, 8, 16)
GROUPS = (32, 64)
FP16_MAX = 65504


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What becomes of the weight matrices; vectors are always kept as they are.

    bits: None keeps every matrix as it comes; 16 makes quantized ones float16; 4 and 8 quantize
    those that are not so already. head_bits: of embedding and output head, 8 where `bits` is
    less. symmetric: a scale without a minimum at 4 bits (smaller, less exact).
    """

    bits: int | None = None
    group: int = 32
    head_bits: int | None = None
    symmetric: bool = False

    def __post_init__(self) -> None:
        for name, value in (("bits", self.bits), ("head_bits", self.head_bits)):
            if value is not None and value not in BITS:
                raise ValueError(f"{name}: got {value}, wanted one of {BITS}")
        if self.group not in GROUPS:
            raise ValueError(f"group: got {self.group}, wanted one of {GROUPS}")

    def bits_of(self, name: str) -> int | None:
        """The bits that a matrix should have; None: as it comes."""
        if name not in (EMBEDDING, HEAD):
            return self.bits
        return self.head_bits or (max(self.bits, 8) if self.bits else None)


def import_model(
    source: Path,
    out: Path,
    options: ImportOptions | None = None,
    *,
    on_progress: ProgressCallback | None = None,
    overwrite: bool = False,
) -> dict[str, TensorSpec]:
    """Import the GGUF file or model directory `source` to `out`; returns what was written.

    Blocks that already have the wanted bits are carried over unchanged, and so are the matrices of
    other programs' formats unless bits are asked for. Nothing is left of an import
    that fails or is interrupted. Raises FormatError.
    """
    options = options or ImportOptions()
    checkpoint = open_checkpoint(source)
    registry.check(checkpoint)
    specs = {name: plan(name, spec, options) for name, spec in checkpoint.specs.items()}

    latest: list[str] = []

    def convert(name: str) -> Tensor:
        while latest:  # written by now: its pages may go
            checkpoint.release(latest.pop())
        latest.append(name)
        return _convert(checkpoint, name, specs[name])

    write_model(
        out,
        config=_config(checkpoint, specs),
        facts={**checkpoint.facts(), "bits": weight_bits(specs)},
        sidecars=checkpoint.sidecars(),
        specs=specs,
        tensor=convert,
        on_progress=on_progress,
        overwrite=overwrite,
    )
    return specs


def _config(checkpoint: Checkpoint, specs: dict[str, TensorSpec]) -> dict[str, Any]:
    """The source's config.json; without its word on quantization when none is carried over."""
    kept = any(spec.foreign for spec in specs.values())
    return {k: v for k, v in checkpoint.config.items() if kept or k != "quantization_config"}


def plan(name: str, spec: TensorSpec, options: ImportOptions) -> TensorSpec:
    """How a tensor will be stored."""
    bits = options.bits_of(name)
    if len(spec.shape) != 2 or bits is None:
        return spec
    if bits == 16:
        return spec if spec.storage == "bf16" else TensorSpec(spec.shape, "fp16")
    if spec.storage == "quantized" and (spec.bits, spec.group) == (bits, options.group):
        return spec
    group = next((size for size in (options.group, 32) if spec.shape[1] % size == 0), None)
    if group is None:  # no group fits the width: 16 bits
        return spec if spec.storage in ("fp16", "bf16") else TensorSpec(spec.shape, "fp16")
    return TensorSpec(spec.shape, "quantized", bits, group, bits == 4 and not options.symmetric)


def _convert(checkpoint: Checkpoint, name: str, spec: TensorSpec) -> Tensor:
    tensor = checkpoint.tensor(name)
    if tensor.spec == spec:
        return tensor
    if isinstance(tensor, Foreign):
        tensor = tensor.dense()
    try:
        if spec.storage == "quantized":
            return quantize(tensor, bits=spec.bits, group=spec.group, minimum=spec.minimum)
        return _half(tensor)
    except ValueError as error:
        raise FormatError(f"{checkpoint.path}: tensor {name}: {error}") from None


def _half(tensor: Dense | Quantized) -> Dense:
    values = tensor.float32()
    largest = float(np.abs(values).max(initial=0))
    if not largest <= FP16_MAX:
        raise ValueError(f"its largest weight is {largest:g}; 16 bits hold up to {FP16_MAX}")
    return Dense(values.astype(np.float16), "fp16")


def weight_bits(specs: dict[str, TensorSpec]) -> float:
    """Mean bits a weight of the matrices, scales included."""
    matrices = [spec for spec in specs.values() if len(spec.shape) == 2]
    weights = sum(spec.shape[0] * spec.shape[1] for spec in matrices)
    return round(8 * sum(spec.num_bytes for spec in matrices) / max(weights, 1), 3)
