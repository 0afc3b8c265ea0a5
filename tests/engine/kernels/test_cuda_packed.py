"""The tiles of the CUDA products, read back on the CPU: no GPU is needed for the layout."""

import pytest
import torch

from hone_engine.kernels.cuda_native import cuda_native, why_no_cuda
from hone_engine.kernels.cuda_packed import pack_cuda
from hone_engine.kernels.packed import dequantize_reference


def parts(rows: int, cols: int, bits: int, group: int, has_min: bool):
    codes = torch.randint(0, 256, (rows, cols * bits // 8), dtype=torch.uint8)
    if bits == 8 and not has_min:
        codes = codes.view(torch.int8)
    scales = torch.rand(rows, cols // group).half()
    return codes, scales, torch.randn(rows, cols // group).half() if has_min else None


@pytest.mark.parametrize("has_min", [False, True])
@pytest.mark.parametrize("group", [32, 64, 128])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("rows", [1, 37, 256])
def test_tiles_hold_what_was_packed(bits: int, group: int, has_min: bool, rows: int) -> None:
    codes, scales, mins = parts(rows, 3 * group, bits, group, has_min)
    weight = pack_cuda(codes, scales, mins, bits=bits, group=group)
    wanted = dequantize_reference(codes, scales, mins, bits=bits, group=group)
    assert torch.equal(weight.dequantize(), wanted)


def test_a_word_holds_a_lanes_fragment() -> None:
    """Lane 6 (row 1, quad lane 2), product 3 of the first 64 columns: row 1 and row 9."""
    codes = torch.zeros(16, 128, dtype=torch.uint8)
    first = 32 + 2 * 8 + 4  # quarter 1, quad lane 2, second product
    codes[1, first : first + 4] = torch.tensor([1, 2, 3, 4], dtype=torch.uint8)
    codes[9, first : first + 4] = torch.tensor([5, 6, 7, 8], dtype=torch.uint8)
    packed = codes[:, 0::2] | (codes[:, 1::2] << 4)
    weight = pack_cuda(packed, torch.ones(16, 1).half(), bits=4, group=128)
    words = weight.tiles[:512].view(torch.int32).view(32, 4)
    assert words[6, 3].item() & 0xFFFFFFFF == 0x84627351


def test_padding_is_zero() -> None:
    codes, scales, mins = parts(5, 32, 4, 32, True)
    weight = pack_cuda(codes, scales, mins, bits=4, group=32)
    assert weight.nbytes == 8 * (1024 + 4 * 16 * 2 * 2)
    assert weight.dequantize().shape == (5, 32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bits": 3}, "bits: got 3"),
        ({"group": 96}, "group: got 96"),
        ({"group": 64}, "scales: got shape"),
        ({"mins": torch.zeros(2, 2)}, "mins: got shape"),
        ({"codes": torch.zeros(2, 24, dtype=torch.uint8)}, "codes: got 2 rows of 48 columns"),
    ],
)
def test_parts_that_do_not_fit_are_named(change: dict[str, object], message: str) -> None:
    codes, scales, _ = parts(2, 128, 4, 32, False)
    arguments = {"codes": codes, "scales": scales, "mins": None, "bits": 4, "group": 32} | change
    with pytest.raises(ValueError, match=message):
        pack_cuda(**arguments)


def test_without_a_gpu_the_reason_is_told() -> None:
    reason = why_no_cuda()
    if reason is None:
        pytest.skip("CUDA can be used here")
    with pytest.raises(RuntimeError, match=r"GPU|_cuda"):
        cuda_native()
