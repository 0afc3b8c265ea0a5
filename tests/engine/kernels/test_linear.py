"""Products against their reference: every format, odd sizes, one to many rows, each SIMD level."""

import pytest
import torch
from kernel_cases import Both, close, plain, random_weight, run

from hone_engine.kernels import Program
from hone_engine.kernels.linear import (
    linear_reference,
    quantize_activations_reference,
    round_activations_reference,
)

QUANTIZED = ("q4", "q4m", "q5", "q5m", "q8", "q8m", "q4/64", "q4m/64", "q8/64")
DENSE = ("fp16", "bf16", "fp32")


def run_linear(program: Program, weight, x: torch.Tensor, **more) -> torch.Tensor:
    source, out = program.buffer(weight.cols), program.buffer(weight.rows)
    program.write(source, x)
    if "start" in more:
        program.write(out, more.pop("start"))
    program.linear(source, weight, out, **more)
    return run(program, plain(len(x)))


@pytest.mark.parametrize("kind", QUANTIZED)
@pytest.mark.parametrize(
    ("rows", "n", "k"), [(1, 32, 64), (1, 33, 576), (3, 95, 64), (8, 1, 192), (13, 40, 192)]
)
def test_quantized_product_is_the_references(
    both: Both, kind: str, rows: int, n: int, k: int
) -> None:
    native, _ = both()
    weight = random_weight(kind, n, k)
    x = torch.randn(rows, k, generator=torch.Generator().manual_seed(1))
    close(run_linear(native, weight, x), linear_reference(x, weight, int8=True), 2e-6)


@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.parametrize(("rows", "n", "k"), [(1, 7, 5), (2, 64, 33), (5, 33, 576), (9, 96, 1)])
def test_dense_product_is_the_references(both: Both, kind: str, rows: int, n: int, k: int) -> None:
    native, _ = both()
    weight = random_weight(kind, n, k)
    x = torch.randn(rows, k, generator=torch.Generator().manual_seed(1))
    close(run_linear(native, weight, x), linear_reference(x, weight), 2e-6)


@pytest.mark.parametrize("kind", ["q4", "fp16"])
def test_product_adds_bias_and_what_was_there(both: Both, kind: str) -> None:
    native, _ = both()
    weight, x = random_weight(kind, 45, 96), torch.randn(6, 96)
    bias, start = torch.randn(45), torch.randn(6, 45)
    y = run_linear(native, weight, x, bias=bias, add=True, start=start)
    close(y, start + linear_reference(x, weight, bias, int8=True), 2e-6)


@pytest.mark.parametrize("kind", ["q4", "q4m", "q8", "fp16"])
def test_product_of_no_rows_is_empty(both: Both, kind: str) -> None:
    native, _ = both()
    weight = random_weight(kind, 32, 64)
    assert run_linear(native, weight, torch.zeros(0, 64)).shape == (0, 32)


@pytest.mark.parametrize("kind", ["q4", "q4m", "q8", "q8m", "fp16", "fp32"])
def test_row_is_the_same_bits_in_any_company(simd: str, kind: str) -> None:
    weight, x = random_weight(kind, 70, 192), torch.randn(19, 192)
    alone = [run_linear(Program(64, 8, 8, 1, simd=simd), weight, row[None]) for row in x]
    together = run_linear(Program(64, 8, 8, 2, simd=simd), weight, x)
    assert torch.equal(torch.cat(alone), together)


def test_extreme_codes_do_not_overflow(both: Both) -> None:
    for kind in ("q4", "q8", "q8m"):
        native, _ = both()
        weight = random_weight(kind, 64, 256, extreme=True)
        x = torch.full((2, 256), 3.0) * torch.tensor([[1.0], [-1.0]])
        close(run_linear(native, weight, x), linear_reference(x, weight, int8=True), 2e-6)


def test_rows_of_zeros_and_of_tiny_values_stay_finite(both: Both) -> None:
    native, _ = both()
    weight = random_weight("q4", 32, 64)
    x = torch.stack((torch.zeros(64), torch.full((64,), 1e-38), torch.full((64,), 1e30)))
    y = run_linear(native, weight, x)
    assert torch.isfinite(y).all()
    assert torch.equal(y[0], torch.zeros(32))


def test_activation_quantization_errs_by_half_a_step_at_most() -> None:
    x = torch.randn(4, 96)
    codes, scales = quantize_activations_reference(x)
    assert codes.dtype == torch.int8
    error = (round_activations_reference(x) - x).abs().view(4, 3, 32)
    assert (error <= scales[:, :, None] * 0.5001).all()
