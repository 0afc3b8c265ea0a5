import numpy as np
import pytest

from hone_engine.formats import Dense, Quantized
from hone_engine.quant.join import join_rows

random = np.random.default_rng(5)


def quantized(bits: int, *, mins: bool = False, group: int = 32, rows: int = 3) -> Quantized:
    scales = random.random((rows, 64 // group)).astype(np.float16)
    low = -8 * scales if mins else None
    high = random.integers(0, 256, (rows, 8), np.uint8) if bits == 5 else None
    if bits == 8:
        codes = random.integers(-127, 128, (rows, 64)).astype(np.int8)
        codes = (codes.astype(np.int16) + 128).astype(np.uint8) if mins else codes
        return Quantized(codes, scales, low, 8, group)
    codes = random.integers(0, 256, (rows, 32), np.uint8)
    return Quantized(codes, scales, low, bits, group, high)


def stacked(tensors: list[Dense | Quantized]) -> np.ndarray:
    return np.concatenate([tensor.float32() for tensor in tensors])


@pytest.mark.parametrize("bits", [4, 5, 8])
@pytest.mark.parametrize("mins", [True, False])
def test_the_same_kind_stays_as_it_is(bits: int, mins: bool) -> None:
    tensors: list[Dense | Quantized] = [
        quantized(bits, mins=mins),
        quantized(bits, mins=mins, rows=5),
    ]
    joined = join_rows(tensors)
    assert isinstance(joined, Quantized)
    assert joined.spec.bits == bits
    np.testing.assert_array_equal(joined.float32(), stacked(tensors))


@pytest.mark.parametrize(
    "kinds",
    [
        [(4, False), (5, False)],
        [(5, False), (8, False)],
        [(4, False), (4, True)],
        [(8, False), (4, True)],
        [(4, True), (5, True), (8, False)],
        [(8, True), (8, False)],
    ],
)
def test_other_bits_are_widened_without_loss(kinds: list[tuple[int, bool]]) -> None:
    tensors: list[Dense | Quantized] = [quantized(bits, mins=mins) for bits, mins in kinds]
    joined = join_rows(tensors)
    assert isinstance(joined, Quantized)
    assert joined.bits == 8
    np.testing.assert_allclose(joined.float32(), stacked(tensors), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "others", [Dense(np.ones((2, 64), np.float32), "fp32"), quantized(4, group=64)]
)
def test_what_cannot_share_codes_becomes_16_bits(others: Dense | Quantized) -> None:
    tensors: list[Dense | Quantized] = [quantized(4), others]
    joined = join_rows(tensors)
    assert isinstance(joined, Dense)
    assert joined.dtype == "fp16"
    np.testing.assert_allclose(joined.float32(), stacked(tensors), rtol=1e-3, atol=1e-3)


def test_plain_ones_of_one_kind_keep_it() -> None:
    halves = Dense(np.ones((2, 4), np.uint16), "bf16")
    joined = join_rows([halves, halves])
    assert isinstance(joined, Dense)
    assert (joined.dtype, joined.values.shape) == ("bf16", (4, 4))


def test_one_alone_is_passed_through() -> None:
    one = quantized(4)
    assert join_rows([one]) is one
