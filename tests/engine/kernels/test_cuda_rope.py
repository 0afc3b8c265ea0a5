"""Rotation and the store into pages on the GPU against their reference."""

import pytest
import torch
from cuda_attention_cases import LAYER, Heads, attend, close, make_step, same_bits, wanted

from hone_engine.kernels.cuda_native import why_no_cuda
from hone_engine.kernels.cuda_rope import cuda_rope_store, cuda_rope_store_reference

REASON = why_no_cuda()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=str(REASON))]

DEVICE = torch.device("cuda", 0)
SHAPES = [
    (Heads(8, 2, 128), 128), (Heads(9, 3, 64), 64), (Heads(4, 1, 80), 20), (Heads(2, 2, 256), 256),
    (Heads(5, 5, 96), 48), (Heads(3, 1, 16), 16), (Heads(8, 2, 128), 0),
]  # fmt: skip
STEPS = {
    "one row": ([1], [1]),
    "far on": ([4000], [1]),
    "prompt": ([70], [70]),
    "mixed": ([40, 300, 9, 2000], [1, 21, 9, 1]),
    "many": ([700], [333]),
    "no rows": ([], []),
}


def frequencies(rotary: int) -> torch.Tensor:
    return 1e4 ** -(torch.arange(0, rotary, 2, device=DEVICE).float() / max(1, rotary))


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("case", STEPS)
@pytest.mark.parametrize(("heads", "rotary"), SHAPES, ids=str)
def test_rows_are_rotated_and_stored(heads: Heads, rotary: int, case: str, dtype: str) -> None:
    lengths, new = STEPS[case]
    made = make_step(heads, lengths, new, page=64, dtype=dtype, device=DEVICE, scratch=False)
    kept = (made.qkv.clone(), made.cache.keys.clone(), made.cache.values.clone())
    more = {"num_heads": heads.query, "inv_freq": frequencies(rotary), "factor": 1.1}
    cuda_rope_store(made.qkv, made.cache, LAYER, made.rows, **more)
    got = (made.qkv.clone(), made.cache.keys.clone(), made.cache.values.clone())
    for tensor, old in zip((made.qkv, made.cache.keys, made.cache.values), kept, strict=True):
        tensor.copy_(old)
    cuda_rope_store_reference(made.qkv, made.cache, LAYER, made.rows, **more)
    unit = 2**-10 if dtype == "fp16" else 2**-7
    for mine, true in zip(got, (made.qkv, made.cache.keys, made.cache.values), strict=True):
        torch.testing.assert_close(mine.float(), true.float(), rtol=unit, atol=2e-3 * unit * 1024)
    assert same_bits(got[2], made.cache.values)
    assert torch.equal(got[0][:, heads.query * heads.dim :], kept[0][:, heads.query * heads.dim :])


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("dtype", ["q8", "q4"])
@pytest.mark.parametrize("case", ["one row", "mixed", "many"])
@pytest.mark.parametrize(("heads", "rotary"), [(s, r) for s, r in SHAPES if s.dim % 32 == 0])
def test_rows_are_quantized(
    heads: Heads, rotary: int, case: str, dtype: str, kind: torch.dtype
) -> None:
    lengths, new = STEPS[case]
    more = {"dtype": dtype, "kind": kind, "device": DEVICE, "scratch": False}
    made = make_step(heads, lengths, new, page=64, **more)
    cache = made.cache
    parts = (made.qkv, cache.keys, cache.values, cache.key_scales, cache.value_scales)
    kept = [part.clone() for part in parts]
    more = {"num_heads": heads.query, "inv_freq": frequencies(rotary), "factor": 1.1}
    cuda_rope_store(made.qkv, cache, LAYER, made.rows, **more)
    got = [part.clone() for part in parts]
    for part, old in zip(parts, kept, strict=True):
        part.copy_(old)
    cuda_rope_store_reference(made.qkv, cache, LAYER, made.rows, **more)
    unit = 2**-10 if kind == torch.float16 else 2**-7
    torch.testing.assert_close(got[0].float(), made.qkv.float(), rtol=unit, atol=2 * unit)
    for codes, scales, true, true_scales in ((1, 3, 1, 3), (2, 4, 2, 4)):
        torch.testing.assert_close(got[scales], parts[true_scales], rtol=2e-3, atol=1e-7)
        mine, wanted_codes = got[codes].short(), parts[true].short()
        if dtype == "q4":
            mine = torch.stack((mine & 15, mine >> 4))
            wanted_codes = torch.stack((wanted_codes & 15, wanted_codes >> 4))
        apart = (mine - wanted_codes).abs()
        assert apart.max() <= 1  # where a number lies between two codes
        assert (apart != 0).float().mean() < 0.01
        assert not torch.equal(got[codes], kept[codes])


def test_rows_of_no_sequence_are_left_alone() -> None:
    heads = Heads(4, 2, 64)
    made = make_step(heads, [50, 30], [3, 2], page=32, device=DEVICE, scratch=False)
    made.rows.seq_of_row[3:] = -1
    kept, keys = made.qkv.clone(), made.cache.keys.clone()
    more = {"num_heads": 4, "inv_freq": frequencies(64)}
    cuda_rope_store(made.qkv, made.cache, LAYER, made.rows, **more)
    assert same_bits(made.qkv[3:], kept[3:])
    assert not same_bits(made.qkv[:3], kept[:3])
    changed = (made.cache.keys != keys).any(dim=-1).nonzero()
    assert {tuple(place) for place in changed[:, [0, 1, 3]].tolist()} <= {
        (LAYER, int(made.rows.page_table[0, 1]), offset) for offset in (15, 16, 17)
    }


@pytest.mark.parametrize("dtype", ["fp16", "q8", "q4"])
def test_a_step_of_both_kernels_is_the_references(dtype: str) -> None:
    """Stored, then attended, launched one upon the other: the second must wait for the first."""
    heads = Heads(8, 2, 128)
    for _ in range(5):
        made = make_step(heads, [300, 1, 40, 600], [1, 1, 40, 65], dtype=dtype, device=DEVICE)
        more = {"num_heads": 8, "inv_freq": frequencies(128)}
        before = made.qkv.clone()
        cuda_rope_store(made.qkv, made.cache, LAYER, made.rows, **more)
        got = attend(made)
        close(got, wanted(made), slack=2)  # of what was stored
        rotated = made.qkv.clone()
        made.qkv.copy_(before)
        cuda_rope_store_reference(made.qkv, made.cache, LAYER, made.rows, **more)
        torch.testing.assert_close(rotated.float(), made.qkv.float(), rtol=2e-3, atol=2e-3)


def test_wrong_arguments_are_named() -> None:
    heads = Heads(4, 2, 64)
    made = make_step(heads, [5], [5], device=DEVICE, scratch=False)
    place = (made.cache, LAYER, made.rows)
    with pytest.raises(ValueError, match=r"^qkv: got shape"):
        cuda_rope_store(made.qkv[:, :64], *place, num_heads=4, inv_freq=frequencies(64))
    with pytest.raises(ValueError, match=r"^inv_freq: got torch.float64"):
        cuda_rope_store(made.qkv, *place, num_heads=4, inv_freq=frequencies(64).double())
    with pytest.raises(ValueError, match=r"^inv_freq: got 34 frequencies"):
        cuda_rope_store(made.qkv, *place, num_heads=4, inv_freq=frequencies(68))
    with pytest.raises(ValueError, match=r"^num_heads: got 3"):
        cuda_rope_store(made.qkv, *place, num_heads=3, inv_freq=frequencies(64))
