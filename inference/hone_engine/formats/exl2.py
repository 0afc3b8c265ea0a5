"""EXL2: groups of 2 to 8 bits along permuted inputs, scales in 4 bits.

Scale of group g, output n: fp16((c + 1)^2 * fp16(q_scale_max[g] / 256)), c the 4-bit code; value:
fp16((code - 2**(bits-1)) * scale). Outputs are padded to 32.
"""

import math

import numpy as np

from hone_engine.formats.errors import FormatError
from hone_engine.formats.quantization import Quantization
from hone_engine.formats.segments import WIDTHS, Segment, Segments, SquareScales, runs
from hone_engine.formats.shards import Shards
from hone_engine.formats.spec import Array, Part, TensorSpec, order_number

MARK = ".q_weight"
PADDING = 32


def spec(shards: Shards, stem: str, how: Quantization) -> TensorSpec:
    """The matrix `stem`, with its padded outputs; FormatError where the parts do not fit."""
    words, rows = shards.matrix(stem + MARK, "int32")
    scales = shards.entry(f"{stem}.q_scale").shape
    cols = shards.entry(f"{stem}.q_invperm").shape
    num_groups = scales[0] if scales else 0
    parts = tuple(
        shards.check(stem + part.suffix, part)
        for part in (
            Part(MARK, "int32", (words, rows)),
            Part(".q_invperm", "int32", (cols[0] if cols else 0,)),
            Part(".q_scale", "int32", (num_groups, rows // 8)),
            Part(".q_scale_max", "fp16", (num_groups,)),
            Part(".q_groups", "int16", (2 * num_groups,)),
        )
    )
    if rows % PADDING:
        raise FormatError(
            f"{shards.file(stem + MARK)}: tensor {stem}{MARK} has {rows} columns, wanted a "
            f"multiple of {PADDING}"
        )
    groups = _groups(shards, stem, words, cols[0])
    inverse = shards.array(f"{stem}.q_invperm")
    return TensorSpec(
        (rows, cols[0]),
        "exl2",
        max(bits for bits, _ in groups),
        math.gcd(*(length for _, length in groups)),
        foreign=parts,
        widths=tuple(sorted({bits for bits, _ in groups}, reverse=True)),
        order=0 if _in_order(inverse) else order_number(inverse),
        padding=PADDING,
    )


def _groups(shards: Shards, stem: str, words: int, cols: int) -> list[tuple[int, int]]:
    """(bits, inputs) of each group."""
    name = f"{stem}.q_groups"
    pairs = shards.array(name).view(np.uint16).astype(int).reshape(-1, 2)
    bits, first = pairs[:, 0], pairs[:, 1]
    num_words = np.diff(first, append=words)
    if unknown := sorted(set(bits.tolist()) - set(WIDTHS)):
        raise FormatError(
            f"{shards.file(name)}: tensor {name} has a group of {unknown[0]} bits, wanted one of "
            f"{WIDTHS}"
        )
    lengths = num_words * 32 // bits
    if not len(pairs) or first[0] != 0 or (num_words <= 0).any() or lengths.sum() != cols:
        raise FormatError(
            f"{shards.file(name)}: tensor {name} gives {lengths.sum()} inputs in {len(pairs)} "
            f"groups, wanted {cols}"
        )
    if (np.diff(bits) > 0).any():
        raise FormatError(
            f"{shards.file(name)}: tensor {name} has widths {bits.tolist()}, wanted them to fall"
        )
    return list(zip(bits.tolist(), lengths.tolist(), strict=True))


def read(
    shards: Shards, stem: str, spec: TensorSpec, how: Quantization, prescale: float = 1.0
) -> Segments:
    """The matrix's meaning, without padding; `prescale` multiplies every scale."""
    groups = _groups(shards, stem, spec.foreign[0].shape[0], spec.shape[1])
    arrays = {part.suffix: shards.array(stem + part.suffix) for part in spec.foreign}
    perm = _permutation(shards, f"{stem}.q_invperm", arrays[".q_invperm"])
    words, codes = arrays[MARK].view(np.uint32), arrays[".q_scale"].view(np.uint32)
    shards.check_finite(f"{stem}.q_scale_max", arrays[".q_scale_max"])
    top = arrays[".q_scale_max"].astype(np.float32) * np.float32(prescale / 256)
    segments, at, rows = [], 0, spec.shape[0]
    for bits, group, first, count in runs(groups):
        square = SquareScales(
            codes[first : first + count], top[first : first + count].astype(np.float16)
        )
        cols = sum(length for _, length in groups[first : first + count])
        num_words = cols * bits // 32
        segments.append(
            Segment(
                bits,
                group,
                cols,
                words[at : at + num_words, :rows],
                square.expand(rows),
                square=square,
            )
        )
        at += num_words
    return Segments(rows, tuple(segments), perm)


def _in_order(inverse: Array) -> bool:
    return np.array_equal(inverse, np.arange(len(inverse)))


def _permutation(shards: Shards, name: str, inverse: Array) -> Array | None:
    """Where each stored input comes from; None for the order of x."""
    if _in_order(inverse):
        return None
    perm = np.argsort(inverse, kind="stable")
    if not np.array_equal(inverse[perm], np.arange(len(inverse))):
        raise FormatError(
            f"{shards.file(name)}: tensor {name} is no permutation of its {len(inverse)} inputs"
        )
    return perm
