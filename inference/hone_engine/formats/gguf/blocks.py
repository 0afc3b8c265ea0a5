"""GGUF tensor data as Hone's tensors: plain ones and 32-blocks carried over without loss.

A block holds 32 weights of a row: the scale (fp16), for *_1 types the minimum (fp16), for 5 bits
four bytes of fifth bits, then the codes. In the 4- and 5-bit types byte i holds weight i in its
low and weight i+16 in its high nibble; Hone's byte i holds weights 2i and 2i+1.
"""

import mmap

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from hone_engine.formats.errors import FormatError
from hone_engine.formats.gguf.header import TensorInfo
from hone_engine.formats.spec import Array, Storage, TensorSpec
from hone_engine.formats.tensors import Dense, Quantized

GROUP = 32
PLAIN: dict[GGMLQuantizationType, Storage] = {
    GGMLQuantizationType.F32: "fp32",
    GGMLQuantizationType.F16: "fp16",
    GGMLQuantizationType.BF16: "bf16",
}
# (bits, has a minimum)
CARRIED = {
    GGMLQuantizationType.Q4_0: (4, False),
    GGMLQuantizationType.Q4_1: (4, True),
    GGMLQuantizationType.Q5_0: (5, False),
    GGMLQuantizationType.Q5_1: (5, True),
    GGMLQuantizationType.Q8_0: (8, False),
}
DEQUANTIZED = frozenset(
    getattr(GGMLQuantizationType, name) for name in ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")
)
NUMPY = {"fp32": "<f4", "fp16": "<f2", "bf16": "<u2"}


def spec_of(info: TensorInfo) -> TensorSpec:
    """How Hone keeps this tensor; raises FormatError for a type that it does not read."""
    if info.type in PLAIN:
        return TensorSpec(info.shape, PLAIN[info.type])
    if info.type in CARRIED and len(info.shape) == 2:
        bits, minimum = CARRIED[info.type]
        return TensorSpec(info.shape, "quantized", bits, GROUP, minimum)
    if info.type in DEQUANTIZED:
        return TensorSpec(info.shape, "fp16")
    wanted = [kind.name for kind in (*PLAIN, *CARRIED, *sorted(DEQUANTIZED))]
    raise FormatError(
        f"tensor {info.name} {list(info.shape)} is {info.type.name}; Hone reads {', '.join(wanted)}"
    )


def read(data: mmap.mmap, info: TensorInfo) -> Dense | Quantized:
    """The tensor: views where the layout is the same, otherwise new arrays."""
    if info.type in PLAIN:
        storage = PLAIN[info.type]
        count = info.num_bytes // np.dtype(NUMPY[storage]).itemsize
        values = np.frombuffer(data, NUMPY[storage], count, info.begin)
        return Dense(values.reshape(info.shape), storage)  # type: ignore[arg-type]
    raw = np.frombuffer(data, np.uint8, info.num_bytes, info.begin)
    if info.type not in CARRIED:
        return Dense(_dequantized(raw, info), "fp16")
    block_bytes = GGML_QUANT_SIZES[info.type][1]
    blocks = raw.reshape(info.shape[0], info.shape[1] // GROUP, block_bytes)
    bits, minimum = CARRIED[info.type]
    return _carried(blocks, bits, minimum)


def _dequantized(raw: Array, info: TensorInfo) -> Array:
    block_len, block_bytes = GGML_QUANT_SIZES[info.type]
    rows = raw.reshape(-1, info.shape[-1] // block_len * block_bytes)
    values: Array = dequantize(rows, info.type).reshape(info.shape).astype(np.float16)
    return values


def _carried(blocks: Array, bits: int, minimum: bool) -> Quantized:
    rows = blocks.shape[0]
    at = 2
    scales = _halves(blocks, 0)
    mins = None
    if minimum:
        mins, at = _halves(blocks, at), at + 2
    if bits == 8:
        codes = np.ascontiguousarray(blocks[:, :, at:]).view(np.int8).reshape(rows, -1)
        return Quantized(codes, scales, mins, bits, GROUP)
    high = None
    if bits == 5:
        high = np.ascontiguousarray(blocks[:, :, at : at + 4]).reshape(rows, -1)
        at += 4
    return Quantized(_neighbors(blocks[:, :, at:]), scales, mins, bits, GROUP, high)


def _halves(blocks: Array, at: int) -> Array:
    two = np.ascontiguousarray(blocks[:, :, at : at + 2])
    return two.view("<f2").reshape(blocks.shape[:2])


def _neighbors(nibbles: Array) -> Array:
    """From weights (i, i+16) a byte to (2i, 2i+1): (N, G, 16) uint8 -> (N, 16*G) uint8."""
    rows, groups, _ = nibbles.shape
    pairs = np.ascontiguousarray(nibbles).view("<u2")  # low byte: 2i, 2i+16; high: 2i+1, 2i+17
    codes = np.empty((rows, groups, 16), np.uint8)
    codes[:, :, :8] = (pairs & 0x0F) | ((pairs >> 4) & 0xF0)
    codes[:, :, 8:] = ((pairs >> 4) & 0x0F) | ((pairs >> 8) & 0xF0)
    return codes.reshape(rows, groups * 16)
