"""GPTQ, versions 1 and 2: one width a matrix, zero points, inputs in any order of groups.

Value: fp16((code - zero) * scale). Version 1 stores zero - 1; the sum is not cut to the width.
"""

import numpy as np

from hone_engine.formats import bitstream
from hone_engine.formats.errors import FormatError
from hone_engine.formats.quantization import Quantization
from hone_engine.formats.segments import Segment, Segments
from hone_engine.formats.shards import Shards
from hone_engine.formats.spec import Array, Part, TensorSpec, order_number

MARK = ".qweight"
WIDTHS = (2, 3, 4, 8)
SCALES = ("fp16", "bf16", "fp32")


def spec(shards: Shards, stem: str, how: Quantization) -> TensorSpec:
    """The matrix `stem`; width and groups follow from the shapes. FormatError where none fits."""
    name = stem + MARK
    words, rows = shards.matrix(name, "int32")
    num_groups, zero_words = shards.matrix(f"{stem}.qzeros", "int32")
    bits, rest = divmod(zero_words * 32, rows)
    if bits not in WIDTHS or rest or words * 32 % bits:
        raise FormatError(
            f"{shards.file(name)}: tensor {name} {[words, rows]} has, by its zeros "
            f"{[num_groups, zero_words]}, {zero_words * 32 / rows:g} bits, wanted one of {WIDTHS}"
        )
    cols = words * 32 // bits
    parts = [
        Part(MARK, "int32", (words, rows)),
        Part(".qzeros", "int32", (num_groups, zero_words)),
        shards.check(f"{stem}.scales", Part(".scales", "fp16", (num_groups, rows)), SCALES),
    ]
    if f"{stem}.g_idx" in shards:
        parts.append(shards.check(f"{stem}.g_idx", Part(".g_idx", "int32", (cols,))))
    group = _group(shards, stem, how, cols, num_groups)
    index = _index(shards, stem, cols, group, num_groups)
    return TensorSpec(
        (rows, cols),
        "gptq",
        bits,
        group,
        minimum=not (how.settings or {}).get("sym", False),
        foreign=tuple(parts),
        widths=(bits,),
        order=0 if index is None else order_number(index),
    )


def _group(shards: Shards, stem: str, how: Quantization, cols: int, num_groups: int) -> int:
    """Inputs a group: as the index has them, else as the settings say, else as it divides."""
    name = f"{stem}.g_idx"
    if name in shards and shards.array(name).any():
        return int(_sizes(shards, name, num_groups).max())
    said = cols if how.group == -1 else how.group
    group = said if said and -(-cols // said) == num_groups else -(-cols // num_groups)
    if -(-cols // group) != num_groups:
        raise FormatError(
            f"{shards.file(stem + MARK)}: tensor {stem}{MARK} has {num_groups} groups for {cols} "
            f"inputs, wanted {-(-cols // (said or group))} of {said or group}"
        )
    return group


def _sizes(shards: Shards, name: str, num_groups: int) -> Array:
    """Inputs of each group by the index."""
    index = shards.array(name)
    low, high = int(index.min()), int(index.max())
    if low < 0 or high >= num_groups:
        raise FormatError(
            f"{shards.file(name)}: tensor {name} names group {low if low < 0 else high}, wanted 0 "
            f"to {num_groups - 1}"
        )
    return np.bincount(index, minlength=num_groups)


def _index(shards: Shards, stem: str, cols: int, group: int, num_groups: int) -> Array | None:
    """The group of each input where it is not its place divided by `group`, else None."""
    name = f"{stem}.g_idx"
    if name not in shards or not shards.array(name).any():
        return None
    index, sizes = shards.array(name), _sizes(shards, name, num_groups)
    wanted = np.full(num_groups, group)
    wanted[-1] = cols - group * (num_groups - 1)
    if (sizes != wanted).any():
        at = int(np.argmax(sizes != wanted))
        raise FormatError(
            f"{shards.file(name)}: tensor {name} gives group {at} {sizes[at]} inputs, "
            f"wanted {wanted[at]}"
        )
    return None if np.array_equal(index, np.arange(cols) // group) else index


def read(shards: Shards, stem: str, spec: TensorSpec, how: Quantization) -> Segments:
    """The matrix's meaning: inputs of one group side by side, in the order of the groups."""
    rows, cols = spec.shape
    scales = read_scales(shards, f"{stem}.scales")
    zeros = bitstream.unpack(shards.array(f"{stem}.qzeros").view(np.uint32).T, spec.bits, rows)
    index = _index(shards, stem, cols, spec.group, len(scales))
    order = None if index is None else np.argsort(index, kind="stable")
    segment = Segment(
        spec.bits,
        spec.group,
        cols,
        shards.array(stem + MARK).view(np.uint32),
        scales,
        true_zeros(zeros.T, spec.bits, 0 if how.stored_zeros else 1),
        order,
    )
    return Segments(rows, (segment,), order)


def read_scales(shards: Shards, name: str) -> Array:
    """Scales as float16, whatever they are stored in; FormatError unless all are finite."""
    scales = shards.array(name)
    if shards.entry(name).dtype == "bf16":
        scales = (scales.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        scales = scales.astype(np.float16, copy=False)
    shards.check_finite(name, scales)
    return scales


def true_zeros(stored: Array, bits: int, added: int) -> Array | None:
    """int16 zero points (groups, N), or None where all lie in the middle of the codes."""
    zeros = stored.astype(np.int16) + np.int16(added)
    return None if (zeros == 1 << (bits - 1)).all() else np.ascontiguousarray(zeros)
