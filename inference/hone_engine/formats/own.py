"""Hone's own quantized matrices: NAME.codes, .scales, .mins and .high, their widths in metadata."""

import json

from hone_engine.formats.errors import FormatError
from hone_engine.formats.shards import Shards
from hone_engine.formats.spec import TensorSpec
from hone_engine.formats.tensors import Quantized


def group_facts(shards: Shards) -> dict[str, dict[str, int]]:
    """Bits and group of every matrix that Hone quantized, from the files' metadata."""
    facts: dict[str, dict[str, int]] = {}
    for file in shards.files:
        try:
            facts |= json.loads(file.metadata.get("hone", "{}"))
        except (ValueError, TypeError):
            raise FormatError(f"{file.path}: metadata 'hone' is not JSON") from None
    return facts


def quantized_spec(shards: Shards, name: str, facts: dict[str, int]) -> TensorSpec:
    """The matrix as its parts say; FormatError where they do not fit together."""
    bits, group = int(facts.get("bits", 0)), int(facts.get("group", 0))
    codes = f"{name}.codes"
    shape = shards.entry(codes).shape
    if bits not in (4, 5, 8) or group <= 0 or len(shape) != 2:
        raise FormatError(
            f"{shards.file(codes)}: tensor {name} has bits {bits}, group {group}, codes "
            f"{list(shape)}; wanted 4, 5 or 8 bits of a matrix in groups"
        )
    whole = (shape[0], shape[1] if bits == 8 else shape[1] * 2)
    spec = TensorSpec(whole, "quantized", bits, group, f"{name}.mins" in shards)
    for part in spec.parts:
        shards.check(name + part.suffix, part)
    return spec


def read(shards: Shards, name: str, spec: TensorSpec) -> Quantized:
    parts = {part.suffix: shards.array(name + part.suffix) for part in spec.parts}
    return Quantized(
        parts[".codes"],
        parts[".scales"],
        parts.get(".mins"),
        spec.bits,
        spec.group,
        parts.get(".high"),
    )
