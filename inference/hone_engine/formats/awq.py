"""AWQ in its "gemm" layout: 4 bits along the outputs, eight of them interleaved in a word.

Value: fp16((code - zero) * scale), zero as stored.
"""

import numpy as np

from hone_engine.formats import bitstream
from hone_engine.formats.errors import FormatError
from hone_engine.formats.gptq import SCALES, read_scales, true_zeros
from hone_engine.formats.quantization import Quantization
from hone_engine.formats.segments import Segment, Segments
from hone_engine.formats.shards import Shards
from hone_engine.formats.spec import Array, Part, TensorSpec

MARK = ".qweight"
BITS = 4
NIBBLES = (0, 4, 1, 5, 2, 6, 3, 7)  # output 8j + c lies in nibble NIBBLES[c] of word j


def spec(shards: Shards, stem: str, how: Quantization) -> TensorSpec:
    """The matrix `stem`; FormatError where its parts do not fit together."""
    name = stem + MARK
    cols, words = shards.matrix(name, "int32")
    num_groups, zero_words = shards.matrix(f"{stem}.qzeros", "int32")
    group = cols if how.group in (-1, None) else how.group
    if zero_words != words or num_groups != -(-cols // (group or cols)):
        raise FormatError(
            f"{shards.file(name)}: tensor {stem}.qzeros is {[num_groups, zero_words]}, wanted "
            f"{[-(-cols // (group or cols)), words]} (4 bits, groups of {group})"
        )
    rows = words * 8
    scales = Part(".scales", "fp16", (num_groups, rows))
    parts = (
        Part(MARK, "int32", (cols, words)),
        Part(".qzeros", "int32", (num_groups, words)),
        shards.check(f"{stem}.scales", scales, SCALES),
    )
    return TensorSpec(
        (rows, cols), "awq", BITS, group or cols, minimum=True, foreign=parts, widths=(BITS,)
    )


def read(shards: Shards, stem: str, spec: TensorSpec, how: Quantization) -> Segments:
    """The matrix's meaning, its codes streamed along the inputs."""
    segment = Segment(
        BITS,
        spec.group,
        spec.shape[1],
        bitstream.pack(_untangled(shards.array(stem + MARK)), BITS),
        read_scales(shards, f"{stem}.scales"),
        true_zeros(_untangled(shards.array(f"{stem}.qzeros")), BITS, 0),
    )
    return Segments(spec.shape[0], (segment,))


def _untangled(words: Array) -> Array:
    """uint8 (K, N) codes of int32 words (K, N / 8)."""
    unsigned = words.view(np.uint32)
    codes = np.empty((*words.shape, 8), np.uint8)
    for at, nibble in enumerate(NIBBLES):
        np.bitwise_and(
            unsigned >> np.uint32(4 * nibble), np.uint32(15), out=codes[:, :, at], casting="unsafe"
        )
    return codes.reshape(len(words), -1)
