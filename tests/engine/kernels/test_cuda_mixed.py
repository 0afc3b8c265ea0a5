"""Tiles of several widths: packing everywhere, products and reading back on the GPU."""

import pytest
import torch

from hone_engine.kernels.cuda_linear import CudaWorkspace, cuda_linear, cuda_linear_reference
from hone_engine.kernels.cuda_mixed import (
    MAX_RUNS,
    WIDTHS,
    CudaMixed,
    Run,
    pack_mixed,
    pack_planes,
    runs_of,
    unpack_planes,
)
from hone_engine.kernels.cuda_native import why_no_cuda
from hone_engine.kernels.cuda_rowwise import CudaQueue, cuda_dequantize

REASON = why_no_cuda()
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
gpu = pytest.mark.parametrize("device", [pytest.param("cuda", marks=ON_GPU)])

MIXTURES = {f"{bits} bits": ([bits] * 3, [32 if bits % 2 else 128] * 3) for bits in WIDTHS} | {
    "all": ([8, 6, 5, 4, 3, 2], [32, 64, 128, 128, 64, 128]),
    "70B": ([4] * 3 + [3] * 25 + [2] * 36, [128] * 64),
    "long": ([5] * 11 + [4] * 101, [128] * 112),
    "pair": ([8] * 5 + [4] * 28, [128] * 33),
    "long pair": ([8] * 17 + [4] * 95, [128] * 112),
    "4 and 8": ([4] * 3 + [8] * 9 + [4] * 20, [128] * 32),
}


def made(
    mixture: str, rows: int, *, has_min: bool = False, tail: int = 0, device: str = "cpu"
) -> tuple[CudaMixed, torch.Tensor]:
    """A random weight and its values; the last tile lacks `tail` columns."""
    bits, groups = MIXTURES[mixture]
    cols = 128 * len(bits) - tail
    widths = torch.tensor(bits).repeat_interleave(128)[:cols]
    codes = (torch.rand(rows, cols) * 2.0**widths).to(torch.uint8)
    places = torch.cat(
        [torch.arange(4) // (group // 32) + 4 * at for at, group in enumerate(groups)]
    )[: cols // 32]
    scales = (torch.rand(rows, 4 * len(bits)).add(0.1) * 0.02).half()[:, places]
    mins = torch.randn(rows, 4 * len(bits)).mul(0.05).half()[:, places] if has_min else None
    zeros = 0 if has_min else 2.0 ** (widths - 1)
    values = (codes.float() - zeros) * scales.float().repeat_interleave(32, 1)
    if mins is not None:
        values += mins.float().repeat_interleave(32, 1)
    return pack_mixed(codes, scales, mins, runs_of(bits, groups), device=device), values


@pytest.mark.parametrize("bits", WIDTHS)
def test_codes_come_back_from_their_planes(bits: int) -> None:
    codes = torch.randint(0, 1 << bits, (256, 384), dtype=torch.uint8)
    packed = pack_planes(codes, bits)
    assert packed.shape == (16, 3, 256 * bits)
    assert torch.equal(unpack_planes(packed, bits), codes)


@pytest.mark.parametrize("has_min", [False, True])
@pytest.mark.parametrize("mixture", MIXTURES)
def test_values_come_back_from_their_tiles(mixture: str, has_min: bool) -> None:
    weight, values = made(mixture, 40, has_min=has_min, tail=32)
    torch.testing.assert_close(weight.dequantize(), values, rtol=0, atol=1e-6)


def test_more_runs_than_a_kernel_takes_share_the_least_group() -> None:
    found = runs_of([4] * 60, [32, 64] * 30)
    assert found == (Run(0, 4, 32),)
    assert len(runs_of([8] + [4] * (MAX_RUNS - 1), [128] * MAX_RUNS)) == 2


@pytest.mark.parametrize(
    ("runs", "match"),
    [
        ((), "runs: got 0"),
        ((Run(1, 4, 128),), "the first at tile 0"),
        ((Run(0, 7, 128),), "wanted bits of"),
        ((Run(0, 4, 48),), "groups of 32, 64, 128"),
    ],
)
def test_runs_that_no_kernel_has_are_refused(runs: tuple[Run, ...], match: str) -> None:
    codes, scales = torch.zeros(16, 128, dtype=torch.uint8), torch.zeros(16, 4).half()
    with pytest.raises(ValueError, match=match):
        pack_mixed(codes, scales, None, runs)


@gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("has_min", [False, True], ids=["symmetric", "min"])
@pytest.mark.parametrize("rows", [1, 3, 8, 9, 16, 17, 32, 33, 64, 100])
@pytest.mark.parametrize("mixture", MIXTURES)
def test_products_are_the_references(
    device: str, mixture: str, rows: int, has_min: bool, dtype: torch.dtype
) -> None:
    weight, _ = made(mixture, 1000, has_min=has_min, tail=32, device=device)
    x = torch.randn(rows, weight.cols, device=device).to(dtype)
    workspace = CudaWorkspace(torch.device("cuda", 0))
    workspace.partials.fill_(float("nan"))
    out = torch.full((rows, 1000), float("nan"), dtype=dtype, device=device)
    cuda_linear(x, weight, workspace, out)
    wanted = cuda_linear_reference(x, weight)
    assert torch.isfinite(out).all()
    error = (out.double() - wanted).norm() / wanted.norm()
    assert error < (6e-4 if dtype == torch.float16 else 3e-3)
    again = cuda_linear(x, weight, workspace)
    assert torch.equal(again, out)


@gpu
@pytest.mark.parametrize("mixture", MIXTURES)
def test_batch_invariant_rows_do_not_depend_on_their_number(device: str, mixture: str) -> None:
    weight, _ = made(mixture, 1000, device=device)
    workspace = CudaWorkspace(torch.device("cuda", 0))
    x = torch.randn(70, weight.cols, device=device).half()
    whole = cuda_linear(x, weight, workspace, batch_invariant=True)
    for rows in (1, 8, 16, 17, 33, 64):
        assert torch.equal(
            cuda_linear(x[:rows], weight, workspace, batch_invariant=True), whole[:rows]
        )


@gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("has_min", [False, True], ids=["symmetric", "min"])
@pytest.mark.parametrize("mixture", MIXTURES)
def test_values_are_read_back(device: str, mixture: str, has_min: bool, dtype: torch.dtype) -> None:
    weight, values = made(mixture, 200, has_min=has_min, tail=32, device=device)
    for first, rows in ((0, 200), (48, 100)):
        out = torch.full((rows, weight.cols), float("nan"), dtype=dtype, device=device)
        cuda_dequantize(CudaQueue(torch.device("cuda", 0)), weight, first, out)
        assert torch.equal(out.cpu(), values[first : first + rows].to(dtype))
