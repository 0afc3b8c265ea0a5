"""Operations on rows, alone and fused, against their references."""

import pytest
import torch
from kernel_cases import Both, batch, close, plain, random_weight, run

from hone_engine.kernels.rms_norm import rms_norm_reference
from hone_engine.kernels.swiglu import swiglu_reference

COLS = (1, 7, 16, 33, 576)


@pytest.mark.parametrize("cols", COLS)
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_rms_norm_is_the_references(both: Both, rows: int, cols: int) -> None:
    program, _ = both()
    x, out = program.buffer(cols), program.buffer(cols)
    value, weight = torch.randn(rows, cols), torch.randn(cols)
    program.write(x, value)
    program.rms_norm(x, weight, 1e-5, out)
    y = run(program, plain(rows))
    assert y.shape == (rows, cols)
    if rows:
        close(y, rms_norm_reference(value, weight, 1e-5), 2e-6)


@pytest.mark.parametrize("cols", COLS)
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_swiglu_and_add_are_the_references(both: Both, rows: int, cols: int) -> None:
    program, _ = both()
    gate_up, out, total = program.buffer(2 * cols), program.buffer(cols), program.buffer(cols)
    value = torch.randn(rows, 2 * cols) * 30
    program.write(gate_up, value)
    program.swiglu(gate_up, out)
    program.add(out, out, total)
    y = run(program, plain(rows))
    if rows:
        close(y, 2 * swiglu_reference(value), 2e-6)


@pytest.mark.parametrize("kind", ["q4", "q4m", "q8", "fp16", "bf16", "fp32"])
def test_embedding_reads_rows_of_the_packed_table(both: Both, kind: str) -> None:
    native, reference = both()
    table = random_weight(kind, 50, 96)
    results = []
    for program in (native, reference):
        out = program.buffer(96)
        program.embed(table, out, scale=2.0)
        results.append(run(program, plain(11)))
    assert torch.equal(*results)


def test_logits_are_gathered_in_the_order_asked_for(both: Both) -> None:
    program, _ = both(max_logit_rows=4)
    x, out = program.buffer(40), program.buffer(40, gathered=True)
    value = torch.randn(6, 40)
    program.write(x, value)
    program.gather_logits(x, out)
    step = batch([6], [6])
    step["logit_rows"] = step["positions"][[5, 0, 3]]
    assert torch.equal(run(program, step), value[[5, 0, 3]])
    step["logit_rows"] = step["positions"][:0]
    assert run(program, step).shape == (0, 40)


@pytest.mark.parametrize("kinds", [("q4", "q4m"), ("fp16", "q8"), ("q4", "fp32")])
@pytest.mark.parametrize(("rows", "inner"), [(1, 96), (7, 64), (12, 45)])
def test_fused_feed_forward_is_the_references(
    both: Both, kinds: tuple[str, str], rows: int, inner: int
) -> None:
    if inner % 32 and not kinds[1].startswith("fp"):
        inner = 32
    results = []
    for program in both():
        x, h = program.buffer(64), program.buffer(64)
        gate_up, act = program.buffer(2 * inner), program.buffer(inner)
        program.write(x, torch.randn(rows, 64, generator=torch.Generator().manual_seed(3)))
        program.rms_norm(x, torch.ones(64), 1e-5, h)
        program.linear(h, random_weight(kinds[0], 2 * inner, 64), gate_up)
        program.swiglu(gate_up, act)
        program.linear(act, random_weight(kinds[1], 64, inner), x, add=True)
        results.append(run(program, plain(rows)))
    close(*results, 2e-3)  # a rounding to int8 may fall the other way


def test_what_fusion_left_out_cannot_be_read(both: Both) -> None:
    program, _ = both()
    x, h, y = program.buffer(64), program.buffer(64), program.buffer(32)
    program.rms_norm(x, torch.ones(64), 1e-5, h)
    program.linear(h, random_weight("q4", 32, 64), y)
    run(program, plain(1))
    with pytest.raises(ValueError, match="fusion"):
        program.read(h, 1)


def test_norm_that_is_read_twice_is_kept(both: Both) -> None:
    results = []
    for program in both():
        x, h, y = program.buffer(64), program.buffer(64), program.buffer(64)
        program.write(x, torch.randn(3, 64, generator=torch.Generator().manual_seed(3)))
        program.rms_norm(x, torch.ones(64), 1e-5, h)
        program.linear(h, random_weight("fp32", 64, 64), y)
        program.add(h, y, x)
        results.append(run(program, plain(3)))
    close(*results, 2e-6)
