"""The references of attention on the GPU, and what surrounds the kernels, without a GPU."""

import pytest
import torch
from cuda_attention_cases import LAYER, Heads, make_step, wanted

from hone_engine.kernels.attention import attention_reference
from hone_engine.kernels.cuda_kv_cache import CudaKVCache, cuda_cache_bytes
from hone_engine.kernels.cuda_rope import cuda_rope_store_reference
from hone_engine.kernels.cuda_rows import CudaRows, cuda_rows
from hone_engine.kernels.rope import rope_reference

CPU = torch.device("cpu")
HEADS = Heads(6, 2, 32)


def step_of(lengths: list[int], new: list[int], page: int = 16):
    torch.manual_seed(3)
    return make_step(HEADS, lengths, new, page=page, device=CPU, scratch=False)


def by_hand(made, **more) -> torch.Tensor:
    """The reference of the CPU kernels over the same cache."""
    q = made.qkv[:, : 6 * 32].float().view(-1, 6, 32)
    rows = made.rows
    place = (rows.positions, rows.seq_of_row, rows.page_table)
    return attention_reference(q, made.cache, LAYER, *place, scale=0.2, **more).flatten(1)


@pytest.mark.parametrize("window", [0, 1, 7, 40])
def test_reference_is_that_of_the_cpu_kernels(window: int) -> None:
    made = step_of([1, 40, 33, 100], [1, 40, 1, 17])
    got = wanted(made, scale=0.2, window=window)
    torch.testing.assert_close(got, by_hand(made, window=window), rtol=1e-4, atol=1e-5)


def test_softcap_is_without_effect_far_below_it() -> None:
    made = step_of([60], [9])
    free = wanted(made, scale=0.05)
    torch.testing.assert_close(wanted(made, scale=0.05, softcap=1e4), free, rtol=1e-4, atol=1e-5)
    flat = wanted(made, scale=0.05, softcap=1e-6)
    values = made.cache.read(LAYER, made.rows.page_table[0].long(), 60)[1]
    mean = values.mean(dim=0).repeat_interleave(3, dim=0).flatten()
    torch.testing.assert_close(flat[-1], mean, rtol=1e-3, atol=1e-5)


def test_rope_store_reference_rotates_and_stores() -> None:
    made = step_of([20, 5], [3, 5])
    before = made.qkv.clone().view(-1, 10, 32)
    inv_freq = 1e4 ** -(torch.arange(0, 24, 2) / 24)
    cuda_rope_store_reference(
        made.qkv, made.cache, LAYER, made.rows, num_heads=6, inv_freq=inv_freq, factor=1.2
    )
    turned = rope_reference(before[:, :8].float(), made.rows.positions, inv_freq, 1.2).half()
    assert torch.equal(made.qkv.view(-1, 10, 32)[:, :6], turned[:, :6])
    assert torch.equal(made.qkv.view(-1, 10, 32)[:, 6:], before[:, 6:])
    for seq, own, length in ((0, slice(0, 3), 20), (1, slice(3, 8), 5)):
        keys, values = made.cache.read(LAYER, made.rows.page_table[seq].long(), length)
        count = own.stop - own.start
        assert torch.equal(keys[-count:], turned[own, 6:].float())
        assert torch.equal(values[-count:], before[own, 8:].float())


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_bytes_are_told_before_a_cache_is_made(dtype: str) -> None:
    cache = CudaKVCache(3, 32, 2, 4, 80, dtype, device=CPU)
    assert cache.nbytes == cuda_cache_bytes(3, 32, 2, 4, 80, dtype) == 2 * 2 * 3 * 32 * 2 * 4 * 80


def test_cache_names_what_it_refuses() -> None:
    with pytest.raises(ValueError, match=r"^page_size: got 24"):
        CudaKVCache(1, 24, 1, 1, 64, device=CPU)
    with pytest.raises(ValueError, match=r"^head_dim: got 72"):
        CudaKVCache(1, 32, 1, 1, 72, device=CPU)
    with pytest.raises(ValueError, match=r"^head_dim: got 272"):
        cuda_cache_bytes(1, 32, 1, 1, 272)
    with pytest.raises(ValueError, match=r"^dtype: got 'fp8'"):
        CudaKVCache(1, 32, 1, 1, 64, "fp8", device=CPU)
    with pytest.raises(ValueError, match=r"^layer: got -1"):
        CudaKVCache(1, 32, 1, 1, 64, device=CPU).address(-1)


def test_rows_are_laid_out_by_sequence() -> None:
    rows = cuda_rows([5, 9, 3], [2, 1, 3], torch.tensor([[0], [1], [2]]), device=CPU)
    assert rows.positions.tolist() == [3, 4, 8, 0, 1, 2]
    assert rows.seq_of_row.tolist() == [0, 0, 1, 2, 2, 2]
    assert rows.first_rows.tolist() == [0, 2, 3, 6]


def test_rows_name_what_they_refuse() -> None:
    good = cuda_rows([5], [2], torch.tensor([[0]]), device=CPU)
    arrays = [getattr(good, name) for name in CudaRows.__slots__]
    with pytest.raises(ValueError, match=r"^positions: got torch.int64"):
        CudaRows(arrays[0].long(), *arrays[1:])
    with pytest.raises(ValueError, match=r"^first_rows: got torch.int32 \(1,\)"):
        CudaRows(*arrays[:4], arrays[4][:1])
    with pytest.raises(ValueError, match=r"^seq_of_row: got strides"):
        CudaRows(arrays[0], torch.zeros(4, dtype=torch.int32)[::2], *arrays[2:])
