"""Packing is lossless, and what does not fit is named."""

import numpy as np
import pytest
import torch

from hone_engine.kernels import pack_dense, pack_quantized
from hone_engine.kernels.packed import dequantize_reference


@pytest.mark.parametrize("bits", [4, 5, 8])
@pytest.mark.parametrize("group", [32, 64])
@pytest.mark.parametrize("with_mins", [False, True])
@pytest.mark.parametrize("rows", [1, 31, 33])
def test_packing_loses_nothing(bits: int, group: int, with_mins: bool, rows: int) -> None:
    cols = 192
    codes = torch.randint(0, 256, (rows, cols if bits == 8 else cols // 2), dtype=torch.uint8)
    if bits == 8 and not with_mins:
        codes = codes.view(torch.int8)
    scales = torch.randn(rows, cols // group).half()
    mins = torch.randn(rows, cols // group).half() if with_mins else None
    high = torch.randint(0, 256, (rows, cols // 8), dtype=torch.uint8) if bits == 5 else None
    packed = pack_quantized(codes, scales, mins, bits=bits, group=group, high=high)
    wanted = dequantize_reference(codes, scales, mins, bits=bits, group=group, high=high)
    assert torch.equal(packed.dequantize(), wanted)
    assert torch.equal(packed.dequantize([0, rows - 1]), wanted[[0, rows - 1]])
    assert (packed.rows, packed.cols, packed.bits) == (rows, cols, 4 if bits == 4 else 8)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("shape", [(1, 1), (33, 7), (64, 96)])
def test_dense_weights_keep_their_bits(dtype: torch.dtype, shape: tuple[int, int]) -> None:
    weight = torch.randn(shape).to(dtype)
    weight.view(-1)[0] = 1e-7  # subnormal in fp16
    bits, kind = (
        (weight.view(torch.int16), "bfloat16") if dtype == torch.bfloat16 else (weight, None)
    )
    assert torch.equal(pack_dense(bits.numpy(), kind).dequantize(), weight.float())


def test_weights_that_do_not_fit_are_named() -> None:
    codes, scales = torch.zeros(4, 32, dtype=torch.uint8), torch.zeros(4, 2).half()
    cases = [
        ({"bits": 3, "group": 32}, "bits: got 3"),
        ({"bits": 4, "group": 128}, "group: got 128"),
        ({"bits": 4, "group": 64}, r"scales: got shape \(4, 2\), wanted \(4, 1\)"),
        ({"bits": 5, "group": 32}, "high: got None"),
        ({"bits": 4, "group": 32, "mins": torch.zeros(1)}, r"mins: got shape \(1,\)"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            pack_quantized(codes, scales, **arguments)
    with pytest.raises(ValueError, match="codes: got 48 columns"):
        pack_quantized(codes[:, :24], scales, bits=4, group=32)
    with pytest.raises(ValueError, match="weight: got int8"):
        pack_dense(np.zeros((4, 32), np.int8))
