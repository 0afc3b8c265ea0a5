"""Norms, gates, sums and embeddings on the GPU against their references; those against torch."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from cuda_cases import DTYPES, ON_GPU, close, tiles

from hone_engine.kernels.cuda_dense import CudaDense
from hone_engine.kernels.cuda_rowwise import (
    CudaQueue,
    cuda_dequantize,
    cuda_embed,
    cuda_embed_reference,
    cuda_gated,
    cuda_gated_reference,
    cuda_norm,
    cuda_norm_reference,
    cuda_sum,
    cuda_sum_reference,
)

SHAPES = [(0, 64), (1, 8), (3, 576), (5, 4096), (2, 8200), (2, 16384), (70, 264)]
gpu = pytest.mark.parametrize("device", [pytest.param("cuda", marks=ON_GPU)])


@pytest.fixture
def queue() -> CudaQueue:
    return CudaQueue(torch.device("cuda", 0))


def numbers(rows: int, cols: int, dtype: torch.dtype) -> torch.Tensor:
    return (torch.randn(rows, cols, device="cuda") * 3).to(dtype)


def order_of(cols: int) -> torch.Tensor:
    return torch.randperm(cols, device="cuda").int()


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "cols"), SHAPES)
@pytest.mark.parametrize("wide", [False, True])
def test_norm(queue: CudaQueue, device: str, rows: int, cols: int, dtype, wide: bool) -> None:
    x = numbers(rows, cols, torch.float32 if wide else dtype)
    weight = torch.randn(cols, device=device)
    for delta in (None, numbers(rows, cols, dtype)):
        for order in (None, order_of(cols)):
            kept, wanted_kept = x.float().clone(), x.float().clone()
            got = torch.empty(rows, cols, dtype=dtype, device=device)
            wanted = torch.empty(rows, cols, device=device)
            more = {"delta": delta, "order": order}
            cuda_norm(queue, x, weight, 1e-5, got, kept=kept, **more)
            cuda_norm_reference(x, weight, 1e-5, wanted, kept=wanted_kept, **more)
            close(got, wanted)
            assert torch.equal(kept, wanted_kept)


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_norm_of_picked_rows_and_into_itself(queue: CudaQueue, device: str, dtype) -> None:
    x, delta = numbers(9, 4096, torch.float32), numbers(9, 4096, dtype)
    weight, picks = torch.rand(4096, device=device), torch.tensor([8, 0, 3], device=device).int()
    got = torch.empty(3, 4096, dtype=dtype, device=device)
    wanted = torch.empty(3, 4096, device=device)
    cuda_norm(queue, x, weight, 1e-6, got, delta=delta, picks=picks)
    cuda_norm_reference(x, weight, 1e-6, wanted, delta=delta, picks=picks)
    close(got, wanted)
    again = torch.empty(9, 4096, dtype=dtype, device=device)
    sums = x + delta.float()
    cuda_norm(queue, x, weight, 1e-6, again, delta=delta, kept=x)
    assert torch.equal(x, sums)


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "cols"), SHAPES)
def test_gates(queue: CudaQueue, device: str, rows: int, cols: int, dtype) -> None:
    gate_up = numbers(rows, 2 * cols, dtype)
    for gelu in (False, True):
        for order in (None, order_of(cols)):
            got = torch.empty(rows, cols, dtype=dtype, device=device)
            wanted = torch.empty(rows, cols, device=device)
            cuda_gated(queue, gate_up, got, gelu=gelu, order=order)
            cuda_gated_reference(gate_up, wanted, gelu=gelu, order=order)
            close(got, wanted)


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wide_in", [False, True])
@pytest.mark.parametrize("wide_out", [False, True])
def test_sums(queue: CudaQueue, device: str, dtype, wide_in: bool, wide_out: bool) -> None:
    for rows, cols in SHAPES[1:]:
        x = numbers(rows, cols, torch.float32 if wide_in else dtype)
        parts = {"y": numbers(rows, cols, dtype), "bias": torch.randn(cols, device=device)}
        moves = {"picks": torch.tensor([rows - 1, 0], device=device).int(), "order": order_of(cols)}
        for more in ({}, parts, parts | moves, moves):
            kind = torch.float32 if wide_out else dtype
            got = torch.empty(2 if "picks" in more else rows, cols, dtype=kind, device=device)
            wanted = torch.empty(got.shape, device=device)
            cuda_sum(queue, x, got, dtype=dtype, **more)
            cuda_sum_reference(x, wanted, **more)
            close(got, wanted)


@gpu
@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32", (4, 32, True), (4, 128, False),
                                  (8, 64, True), (8, 128, False)])  # fmt: skip
def test_embedding_and_what_a_step_before_drew(queue: CudaQueue, device: str, kind) -> None:
    dense = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
    if isinstance(kind, str):
        weight = CudaDense(torch.randn(300, 640, device=device).to(dense[kind]))
    else:
        weight = tiles(300, 640, *kind)
    tokens = torch.tensor([0, 299, 17, 16, 15, -1, -3], device=device).int()
    latest = torch.tensor([5, 6, 131], device=device).int()
    got, wanted = torch.empty(7, 640, device=device), torch.empty(7, 640, device=device)
    cuda_embed(queue, weight, tokens, latest, got, scale=2.0)
    cuda_embed_reference(weight, tokens, latest, wanted, scale=2.0)
    close(got, wanted)


@gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("group", "has_min"), [(32, False), (64, True), (128, False)])
def test_tiles_read_back(
    queue: CudaQueue, device: str, dtype, bits: int, group: int, has_min: bool
) -> None:
    weight = (
        tiles(200, 320, bits, group, has_min)
        if group < 128
        else tiles(200, 384, bits, 128, has_min)
    )
    for first, rows in ((0, 200), (64, 33), (192, 8)):
        got = torch.full((rows, weight.cols), float("nan"), dtype=dtype, device=device)
        cuda_dequantize(queue, weight, first, got)
        close(got, weight.dequantize()[first : first + rows])


def test_a_reference_norm_is_torchs() -> None:
    x, weight = torch.randn(4, 48), torch.rand(48)
    out = torch.empty(4, 48)
    cuda_norm_reference(x, weight, 1e-5, out)
    torch.testing.assert_close(out, torch.nn.functional.rms_norm(x, (48,), weight, 1e-5))


def test_reference_rows_are_picked_and_put_in_order() -> None:
    x, delta = torch.arange(12.0).view(3, 4), torch.ones(3, 4).half()
    picks, order = torch.tensor([2, 0]).int(), torch.tensor([3, 0, 1, 2]).int()
    out = torch.empty(2, 4)
    cuda_sum_reference(x, out, y=delta, bias=torch.full((4,), 0.5), picks=picks, order=order)
    assert out.tolist() == [[12.5, 9.5, 10.5, 11.5], [4.5, 1.5, 2.5, 3.5]]


def test_a_reference_gate_is_torchs() -> None:
    both = torch.randn(3, 32)
    out = torch.empty(3, 16)
    cuda_gated_reference(both, out)
    torch.testing.assert_close(out, torch.nn.functional.silu(both[:, :16]) * both[:, 16:])


def test_a_reference_embedding_takes_tokens_not_yet_known() -> None:
    weight = CudaDense(torch.randn(10, 8).half())
    out = torch.empty(3, 8)
    tokens, latest = torch.tensor([4, -2, -1]).int(), torch.tensor([7, 9]).int()
    cuda_embed_reference(weight, tokens, latest, out)
    assert torch.equal(out, weight.values[[4, 9, 7]].float())
