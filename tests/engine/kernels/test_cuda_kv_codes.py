"""Keys and values in 8 and 4 bits: the rotation, the codes, the cache; no GPU."""

import pytest
import torch
from cuda_attention_cases import LAYER, Heads, make_step, wanted

from hone_engine.kernels.cuda_kv_cache import CudaKVCache, cuda_cache_bytes
from hone_engine.kernels.cuda_kv_codes import decode, encode, rotate
from hone_engine.kernels.cuda_rope import cuda_rope_store_reference

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def same_data() -> None:
    torch.manual_seed(11)


def test_rotation_keeps_products_and_undoes_itself() -> None:
    x, y = torch.randn(5, 96), torch.randn(5, 96)
    torch.testing.assert_close(rotate(rotate(x)), x, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        (rotate(x) * rotate(y)).sum(-1), (x * y).sum(-1), rtol=1e-4, atol=1e-5
    )
    one = torch.zeros(64)
    one[35] = 32**0.5
    assert torch.equal(rotate(one)[:32], torch.zeros(32))
    signs = [(-1) ** bin(3 & i).count("1") for i in range(32)]
    torch.testing.assert_close(rotate(one)[32:], torch.tensor(signs).float())


@pytest.mark.parametrize(("bits", "least", "most"), [(8, 0.003, 0.008), (4, 0.05, 0.12)])
def test_error_is_that_of_the_width(bits: int, least: float, most: float) -> None:
    x = torch.randn(400, 4, 128)
    x[..., 7] *= 30  # an outlier in every head, as keys have them
    codes, scales = encode(x, bits)
    assert codes.shape == (400, 4, 16 * bits)
    assert scales.shape == (400, 4, 4)
    error = ((decode(codes, scales, bits) - x).norm() / x.norm()).item()
    assert least < error < most


@pytest.mark.parametrize("bits", [8, 4])
def test_zeros_stay_zeros_and_small_numbers_small(bits: int) -> None:
    codes, scales = encode(torch.zeros(2, 64), bits)
    assert torch.equal(decode(codes, scales, bits), torch.zeros(2, 64))
    tiny = torch.full((1, 32), 1e-9)
    assert decode(*encode(tiny, bits), bits).abs().max() < 1e-6


def test_codes_lie_as_the_kernels_read_them() -> None:
    """By hand: numbers 0 to 7 of a word of 4 bits are its nibbles 0, 4, 1, 5, 2, 6, 3, 7."""
    wanted_codes = torch.arange(32) % 16
    x = rotate((wanted_codes * 2 - 15).float() * 0.5)
    codes, scales = encode(x, 4)
    assert scales.item() == pytest.approx(0.5, rel=1e-3)
    word = int.from_bytes(bytes(codes[:4].tolist()), "little")
    nibbles = [word >> (4 * i) & 15 for i in range(8)]
    assert nibbles == [0, 2, 4, 6, 1, 3, 5, 7]
    eight = rotate((torch.arange(32) * 8 - 120).float())
    codes, scales = encode(eight, 8)
    ratio = (torch.arange(32) * 8 - 120).float() / scales.float()
    assert codes.tolist() == (ratio.round() + 128).clamp(1, 255).int().tolist()


@pytest.mark.parametrize(("dtype", "bytes_a_number"), [("q8", 8.5 / 8), ("q4", 4.5 / 8)])
def test_bytes_are_told_before_a_cache_is_made(dtype: str, bytes_a_number: float) -> None:
    cache = CudaKVCache(3, 32, 2, 4, 96, dtype, device=CPU)
    wanted_bytes = 2 * 3 * 32 * 2 * 4 * 96 * bytes_a_number
    assert cache.nbytes == cuda_cache_bytes(3, 32, 2, 4, 96, dtype) == wanted_bytes


def test_heads_must_be_whole_groups() -> None:
    with pytest.raises(ValueError, match=r"^head_dim: got 80, wanted a multiple of 32"):
        CudaKVCache(1, 32, 1, 1, 80, "q4", device=CPU)


@pytest.mark.parametrize(("dtype", "most"), [("q8", 0.02), ("q4", 0.2)])
def test_attention_over_codes_is_near_that_over_numbers(dtype: str, most: float) -> None:
    """Stored by the reference, then attended: one step through an fp16 cache and through codes."""
    results = []
    for kind in ("fp16", dtype):
        torch.manual_seed(5)
        made = make_step(
            Heads(4, 2, 64), [70], [70], page=16, dtype=kind, device=CPU, scratch=False
        )
        made.qkv.copy_(torch.randn(made.qkv.shape))
        inv_freq = 1e4 ** -(torch.arange(0, 64, 2) / 64)
        place = (made.qkv, made.cache, LAYER, made.rows)
        cuda_rope_store_reference(*place, num_heads=4, inv_freq=inv_freq)
        results.append(wanted(made))
    error = (results[1] - results[0]).norm() / results[0].norm()
    assert 0 < error < most
