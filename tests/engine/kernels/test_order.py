"""Products whose columns stand in another order than x: act-order GPTQ, EXL2."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from kernel_cases import Both, close, plain, random_weight, run

from hone_engine.kernels import PackedWeight, Program, ReferenceProgram

WIDTH, INNER, OUT = 96, 128, 64
KINDS = [("q4", 1e-2), ("q8", 1e-2), ("q4m", 1e-2), ("fp16", 1e-5)]


def ordered(kind: str, rows: int, cols: int, seed: int = 0) -> PackedWeight:
    order = np.random.default_rng(seed).permutation(cols).astype(np.int32)
    return replace(random_weight(kind, rows, cols, seed), order=order)


def feed_forward(program: Program | ReferenceProgram, kind: str, num: int) -> torch.Tensor:
    """Table -> norm -> ordered gate and up -> SwiGLU -> ordered down."""
    x, normed = program.buffer(WIDTH), program.buffer(WIDTH)
    gate_up, inner, out = program.buffer(2 * INNER), program.buffer(INNER), program.buffer(OUT)
    program.embed(random_weight("fp32", 300, WIDTH), x)
    program.rms_norm(x, np.linspace(0.5, 2, WIDTH, dtype=np.float32), 1e-5, normed)
    program.linear(normed, ordered(kind, 2 * INNER, WIDTH, 1), gate_up)
    program.swiglu(gate_up, inner)
    program.linear(inner, ordered(kind, OUT, INNER, 2), out)
    return run(program, plain(num))


@pytest.mark.parametrize(("kind", "tolerance"), KINDS)
@pytest.mark.parametrize("num", [1, 3, 21])
def test_columns_in_another_order_are_the_references(
    both: Both, kind: str, tolerance: float, num: int
) -> None:
    native, reference = (feed_forward(program, kind, num) for program in both())
    close(native, reference, tolerance)


@pytest.mark.parametrize("kind", ["q8", "fp16"])
def test_an_order_is_the_same_as_columns_put_back(both: Both, kind: str) -> None:
    program, _ = both()
    x, out = program.buffer(WIDTH), program.buffer(OUT)
    weight, value = ordered(kind, OUT, WIDTH), torch.randn(5, WIDTH)
    program.write(x, value)
    program.linear(x, weight, out)
    values = weight.dequantize()
    put_back = torch.empty_like(values)
    put_back[:, torch.from_numpy(weight.order).long()] = values
    close(run(program, plain(5)), value @ put_back.T, 2e-2 if kind == "q8" else 1e-5)


def test_an_order_that_is_none_is_refused_by_name() -> None:
    weight = random_weight("q4", 8, 64)
    for order, message in (
        (np.arange(32, dtype=np.int32), "order: got 32 columns, wanted 64"),
        (np.full(64, 64, np.int32), "order: got 64, wanted 0 to 63"),
        (np.full(64, -1, np.int32), "order: got -1, wanted 0 to 63"),
    ):
        program = Program(4, 1, 1, 1)
        x, out = program.buffer(64), program.buffer(8)
        with pytest.raises(ValueError, match=message):
            program.linear(x, replace(weight, order=order), out)
    with pytest.raises(ValueError, match="weight: got columns in another order"):
        program.embed(replace(weight, order=np.arange(64, dtype=np.int32)), x)
