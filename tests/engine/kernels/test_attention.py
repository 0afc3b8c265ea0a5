"""Rotation, the store into pages, and attention, against their references."""

import numpy as np
import pytest
import torch
from kernel_cases import Both, batch, close, run

from hone_engine.kernels import KVCache


def attend(program, cache: KVCache, step: dict, heads: int, qkv: torch.Tensor, **more):
    source = program.buffer((heads + 2 * cache.num_kv_heads) * cache.head_dim)
    out = program.buffer(heads * cache.head_dim)
    inv_freq = 1e4 ** -(np.arange(0, more.pop("rotary", cache.head_dim), 2) / cache.head_dim)
    program.write(source, qkv)
    program.rope_store(source, cache, 1, num_heads=heads, inv_freq=inv_freq, factor=1.1)
    program.attention(source, cache, 1, out, num_heads=heads, scale=0.3, **more)
    return run(program, step), program.read(source, len(qkv))


def filled(cache: KVCache, seed: int = 5) -> KVCache:
    generator = torch.Generator().manual_seed(seed)
    for tensor in (cache.keys, cache.values):
        tensor.copy_(torch.randn(tensor.shape, generator=generator))
    return cache


# Of the largest value. Scores reach 12, the sum of 80 rounded products: their last bits alone move
# an fp32 answer by several millionths, in another order of summation.
ROUNDING = {"fp16": 3e-4, "fp32": 1e-5}

CASES = {
    "one token": ([1], [1]),
    "prompt": ([37], [37]),
    "prompt over a long context": ([300], [21]),
    "decoding": ([1, 16, 17, 250, 129], [1, 1, 1, 1, 1]),
    "long context alone": ([700], [1]),
    "prompts among decoding": ([40, 300, 9], [1, 21, 9]),
    "nothing": ([], []),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("heads", "kv_heads", "head_dim", "page", "dtype"),
    [
        (9, 3, 64, 16, "fp16"),
        (4, 1, 80, 64, "fp32"),
        (2, 2, 128, 256, "fp16"),
        (8, 1, 256, 16, "fp16"),
    ],
)
def test_attention_is_the_references(
    both: Both, case: str, heads: int, kv_heads: int, head_dim: int, page: int, dtype: str
) -> None:
    lengths, new = CASES[case]
    step = batch(lengths, new, page)
    qkv = torch.randn(sum(new), (heads + 2 * kv_heads) * head_dim)
    num_pages = max(1, step["page_table"].size)
    results = []
    for program in both():
        cache = filled(KVCache(num_pages, page, 2, kv_heads, head_dim, dtype))
        results.append(attend(program, cache, step, heads, qkv))
    for got, wanted in zip(*results, strict=True):
        if len(qkv):
            close(got, wanted, ROUNDING[dtype])


@pytest.mark.parametrize("window", [1, 20, 128, 1000])
def test_window_hides_what_lies_further_back(both: Both, window: int) -> None:
    step = batch([260, 31, 270], [1, 31, 40])
    qkv = torch.randn(72, 4 * 32)
    results = []
    for program in both(rows=80):
        cache = filled(KVCache(step["page_table"].size, 16, 2, 1, 32, "fp32"))
        results.append(attend(program, cache, step, 2, qkv, window=window)[0])
    close(*results, ROUNDING["fp32"])


def test_rotation_may_be_partial(both: Both) -> None:
    step, qkv = batch([9], [9]), torch.randn(9, 4 * 32)
    results = []
    for program in both():
        cache = KVCache(4, 16, 2, 1, 32, "fp32")
        results.append(attend(program, cache, step, 2, qkv, rotary=12)[1])
    close(*results, ROUNDING["fp32"])


def test_only_a_sequences_own_pages_are_written(both: Both) -> None:
    program, _ = both()
    cache = filled(KVCache(8, 16, 2, 1, 32, "fp32"))
    before = cache.keys.clone(), cache.values.clone()
    step = batch([17], [2])
    attend(program, cache, step, 2, torch.randn(2, 4 * 32))
    used = step["page_table"][0].tolist()
    others = [p for p in range(8) if p not in used]
    for tensor, old in zip((cache.keys, cache.values), before, strict=True):
        assert torch.equal(tensor[others], old[others])
        assert torch.equal(tensor[:, 0], old[:, 0])
        assert not torch.equal(tensor[used, 1], old[used, 1])


def test_result_depends_neither_on_company_nor_on_how_a_prompt_was_cut(both: Both) -> None:
    qkv = torch.randn(300, 5 * 64)
    whole, _ = attend(both(rows=300)[0], KVCache(40, 16, 2, 1, 64), batch([300], [300]), 3, qkv)
    cache, pieces, at = KVCache(40, 16, 2, 1, 64), [], 0
    for length in (1, 6, 121, 130, 41, 1):
        step = batch([300], [length])
        step["positions"] = step["positions"] - (300 - at - length)
        step["context_lens"] = step["context_lens"] - (300 - at - length)
        part = attend(both(rows=300)[0], cache, step, 3, qkv[at : at + length])
        pieces.append(part[0])
        at += length
    assert torch.equal(torch.cat(pieces), whole)


def test_memory_of_the_cache_is_not_touched_before_use() -> None:
    cache = KVCache(4096, 64, 8, 8, 128)  # 8 GiB
    assert cache.nbytes == 2 * 4096 * 64 * 8 * 8 * 128 * 2
