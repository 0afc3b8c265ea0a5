"""A small decoder on both programs: steps, threads, company, and arguments that do not fit."""

import numpy as np
import pytest
import torch
from kernel_cases import Both, batch, close, plain, random_weight, run

from hone_engine.kernels import KVCache, Program, Recorder
from hone_engine.kernels.native import native

HEADS, KV, DIM, INNER, VOCAB, LAYERS = 3, 1, 32, 64, 50, 2
WIDTH = HEADS * DIM


def decoder(program: Recorder, cache: KVCache, kind: str) -> Recorder:
    table = random_weight("q8" if kind[0] == "q" else kind, VOCAB, WIDTH)
    norm = torch.linspace(0.5, 1.5, WIDTH)
    inv_freq = 1e4 ** -(torch.arange(0, DIM, 2) / DIM)
    x, h, heads = program.buffer(WIDTH), program.buffer(WIDTH), program.buffer(WIDTH)
    qkv = program.buffer((HEADS + 2 * KV) * DIM)
    gate_up, inner = program.buffer(2 * INNER), program.buffer(INNER)
    program.embed(table, x)
    for layer in range(LAYERS):
        weights = [
            random_weight(kind, n, k, seed=10 * layer + i)
            for i, (n, k) in enumerate(
                [(qkv.cols, WIDTH), (WIDTH, WIDTH), (2 * INNER, WIDTH), (WIDTH, INNER)]
            )
        ]
        program.rms_norm(x, norm, 1e-5, h)
        program.linear(h, weights[0], qkv)
        program.rope_store(qkv, cache, layer, num_heads=HEADS, inv_freq=inv_freq)
        program.attention(qkv, cache, layer, heads, num_heads=HEADS, scale=DIM**-0.5)
        program.linear(heads, weights[1], x, add=True)
        program.rms_norm(x, norm, 1e-5, h)
        program.linear(h, weights[2], gate_up)
        program.swiglu(gate_up, inner)
        program.linear(inner, weights[3], x, add=True)
    last, normed = program.buffer(WIDTH, gathered=True), program.buffer(WIDTH, gathered=True)
    logits = program.buffer(VOCAB, gathered=True)
    program.gather_logits(x, last)
    program.rms_norm(last, norm, 1e-5, normed)
    program.linear(normed, table, logits)
    return program


@pytest.mark.parametrize(("kind", "tolerance"), [("fp16", 1e-5), ("fp32", 1e-5), ("q4m", 2e-2)])
def test_decoder_is_the_references(both: Both, kind: str, tolerance: float) -> None:
    results = []
    for program in both():
        cache = KVCache(30, 16, LAYERS, KV, DIM, "fp32")
        decoder(program, cache, kind)
        steps = [([20, 33], [20, 33]), ([21, 34, 2], [1, 1, 2]), ([22], [1]), ([], [])]
        results.append([run(program, batch(*step)) for step in steps])
    for got, wanted in zip(*results, strict=True):
        if len(wanted):
            close(got, wanted, tolerance)
        else:
            assert got.shape == (0, VOCAB)


def test_decoder_gives_the_same_bits_alone_and_with_any_threads(simd: str) -> None:
    def steps(threads: int, lengths: list[int], new: list[int]) -> torch.Tensor:
        program = decoder(Program(64, 8, 8, threads, simd=simd), cache := filled_cache(), "q4")
        assert cache is not None
        return run(program, batch(lengths, new))

    def filled_cache() -> KVCache:
        cache = KVCache(40, 16, LAYERS, KV, DIM)
        for tensor in (cache.keys, cache.values):
            tensor.copy_(torch.sin(torch.arange(tensor[0].numel())).view(tensor[0].shape))
        return cache

    together = steps(2, [30, 21, 5, 12, 40], [1, 1, 5, 1, 7])
    assert torch.equal(together, steps(1, [30, 21, 5, 12, 40], [1, 1, 5, 1, 7]))
    assert torch.equal(together, steps(3, [30, 21, 5, 12, 40], [1, 1, 5, 1, 7]))
    assert torch.equal(together[0], steps(1, [30], [1])[0])


def test_avx512_and_avx2_give_the_same_products() -> None:
    levels = native().simd_levels()
    if "avx512" not in levels:
        pytest.skip("this CPU has no avx512")
    results = []
    for level in ("avx2", "avx512"):
        program = Program(8, 1, 1, 1, simd=level)
        x, y = program.buffer(96), program.buffer(70)
        program.write(x, torch.arange(8 * 96).view(8, 96).sin())
        program.linear(x, random_weight("q4m", 70, 96), y)
        results.append(run(program, plain(8)))
    assert torch.equal(*results)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": [99, 1, 2]}, r"tokens\[0\]: got 99, wanted 0 to 49"),
        ({"positions": [0, 1]}, "positions: got 2 rows, wanted 3"),
        ({"positions": [0, 2, 3]}, r"positions\[1\]: got 2, wanted 1"),
        ({"context_lens": [7]}, r"positions\[2\]: got 2, wanted context_lens - 1 = 6"),
        ({"seq_of_row": [4, 4, 4]}, r"seq_of_row\[0\]: got 4"),
        ({"page_table": [[77]]}, r"page_table\[0,0\]: got 77, wanted 0 to 29"),
        ({"logit_rows": [3]}, r"logit_rows\[0\]: got 3, wanted 0 to 2"),
    ],
)
def test_batch_that_does_not_fit_is_named(change: dict[str, list], message: str) -> None:
    program = decoder(Program(8, 2, 4, 1), KVCache(30, 16, LAYERS, KV, DIM), "q4")
    step = batch([3], [3]) | {k: np.array(v, np.int32) for k, v in change.items()}
    with pytest.raises(ValueError, match=message):
        run(program, step)
    assert run(program, batch([3], [3])).shape == (1, VOCAB)


def test_operation_that_does_not_fit_is_named() -> None:
    program = Program(8, 2, 4, 1)
    x, y, g = program.buffer(64), program.buffer(32), program.buffer(64, gathered=True)
    weight = random_weight("q4", 32, 96)
    with pytest.raises(ValueError, match="x: got 64 columns, wanted 96"):
        program.linear(x, weight, y)
    with pytest.raises(ValueError, match="out: got 32 columns, wanted 64"):
        program.rms_norm(x, torch.ones(64), 1e-5, y)
    with pytest.raises(ValueError, match="out: got a gathered buffer"):
        program.rms_norm(x, torch.ones(64), 1e-5, g)
    with pytest.raises(ValueError, match="bias: got 3 values, wanted 32"):
        program.linear(program.buffer(96), weight, y, bias=torch.ones(3))
    cache = KVCache(4, 16, 1, 2, 16)
    with pytest.raises(ValueError, match="num_heads: got 3, wanted a multiple of 2"):
        program.attention(x, cache, 0, y, num_heads=3, scale=1.0)


def test_too_many_rows_are_refused() -> None:
    program = decoder(Program(4, 2, 4, 1), KVCache(30, 16, LAYERS, KV, DIM), "q4")
    with pytest.raises(ValueError, match="tokens: got 5 rows, wanted at most 4"):
        run(program, batch([5], [5]))


def test_stage_times_are_told_when_asked_for() -> None:
    program = decoder(Program(8, 2, 4, 2), KVCache(30, 16, LAYERS, KV, DIM), "q4")
    program.measure()
    for _ in range(3):
        run(program, batch([3], [3]))
    times = {name: calls for name, _, _, calls in program.times()}
    assert times["attention"] == 3 * LAYERS
    assert times["embed"] == 3


def test_many_threads_share_a_pool_without_loss() -> None:
    program = decoder(Program(8, 8, 4, 5), KVCache(30, 16, LAYERS, KV, DIM), "q4")
    first = run(program, batch([3, 5], [3, 5]))
    assert all(torch.equal(run(program, batch([3, 5], [3, 5])), first) for _ in range(200))
