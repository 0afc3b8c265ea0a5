import numpy as np
import pytest

from hone_engine.formats import Dense, Quantized
from hone_engine.quant.rounding import quantize


def weights(rows: int = 24, cols: int = 192, seed: int = 0) -> Dense:
    random = np.random.default_rng(seed)
    values = random.standard_normal((rows, cols)) * random.gamma(2, 1, (rows, 1)) * 0.02
    return Dense(values.astype(np.float32), "fp32")


def error(found: Quantized, wanted: Dense) -> float:
    return float(((found.float32() - wanted.values) ** 2).sum())


def plain(wanted: Dense, group: int, *, minimum: bool) -> np.ndarray:
    """4 bits by the range alone: from least to largest, or from the one farthest from 0."""
    x = wanted.values.reshape(-1, group)
    if minimum:
        low = x.min(1, keepdims=True)
        scale = (x.max(1, keepdims=True) - low) / 15
        return (np.rint((x - low) / scale) * scale + low).reshape(wanted.values.shape)
    far = np.take_along_axis(x, np.abs(x).argmax(1)[:, None], 1)
    scale = far / -8
    return (np.clip(np.rint(x / scale), -8, 7) * scale).reshape(wanted.values.shape)


@pytest.mark.parametrize("group", [32, 64])
@pytest.mark.parametrize("minimum", [True, False])
def test_the_search_errs_less_than_plain_rounding(group: int, minimum: bool) -> None:
    wanted = weights()
    found = error(quantize(wanted, bits=4, group=group, minimum=minimum), wanted)
    without = float(((plain(wanted, group, minimum=minimum) - wanted.values) ** 2).sum())
    assert found < 0.95 * without


@pytest.mark.parametrize(
    ("bits", "minimum", "bound"), [(4, True, 0.08), (4, False, 0.09), (8, False, 0.006)]
)
def test_the_relative_error_stays_small(bits: int, minimum: bool, bound: float) -> None:
    wanted = weights()
    found = error(quantize(wanted, bits=bits, group=32, minimum=minimum), wanted)
    assert (found / float((wanted.values**2).sum())) ** 0.5 < bound


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("minimum", [True, False])
def test_the_layout_is_the_one_of_the_contract(bits: int, minimum: bool) -> None:
    found = quantize(weights(7, 96), bits=bits, group=32, minimum=minimum)
    parts = {part.suffix: (part.dtype, part.shape) for part in found.spec.parts}
    for array, part in zip(found.arrays(), found.spec.parts, strict=True):
        assert array.shape == part.shape
        assert array.nbytes == part.num_bytes
    signed = "int8" if bits == 8 and not minimum else "uint8"
    assert parts[".codes"] == (signed, (7, 96 if bits == 8 else 48))
    assert (".mins" in parts) is minimum


@pytest.mark.parametrize("rows", [1, 3, 2000])
def test_any_number_of_rows_gives_the_same_rows(rows: int) -> None:
    whole = weights(2000, 64)
    some = Dense(whole.values[:rows], "fp32")
    found = quantize(some, bits=4, group=32, minimum=True)
    wanted = quantize(whole, bits=4, group=32, minimum=True).rows(0, rows)
    np.testing.assert_array_equal(found.float32(), wanted.float32())


def test_values_on_the_grid_are_kept_exactly() -> None:
    random = np.random.default_rng(1)
    codes = random.integers(0, 16, (4, 64))
    codes[:, 0::32], codes[:, 1::32] = 0, 15
    values = (codes * 0.5 - 3.0).astype(np.float32)
    found = quantize(Dense(values, "fp32"), bits=4, group=32, minimum=True)
    np.testing.assert_array_equal(found.float32(), values)


@pytest.mark.parametrize("minimum", [True, False])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("value", [0.0, 1.0, -2.5])
def test_a_group_of_one_value_is_kept(value: float, bits: int, minimum: bool) -> None:
    constant = Dense(np.full((2, 32), value, np.float32), "fp32")
    found = quantize(constant, bits=bits, group=32, minimum=minimum).float32()
    np.testing.assert_allclose(found, value, rtol=1e-3)


def test_one_outlier_does_not_make_scales_infinite() -> None:
    values = weights(2, 64).values.copy()
    values[0, 3] = 1e6
    found = quantize(Dense(values, "fp32"), bits=4, group=32, minimum=False)
    assert np.isfinite(found.float32()).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_weight_that_is_no_number_is_refused(bad: float) -> None:
    values = weights(2, 64).values.copy()
    values[1, 5] = bad
    with pytest.raises(ValueError, match="a weight that is infinite or not a number"):
        quantize(Dense(values, "fp32"), bits=4, group=32, minimum=True)


@pytest.mark.parametrize(
    ("bits", "group", "message"),
    [(3, 32, "bits: got 3"), (4, 128, "group: got 128, wanted an even divisor of 192 columns")],
)
def test_bits_and_groups_that_cannot_be_are_refused(bits: int, group: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quantize(weights(), bits=bits, group=group, minimum=True)
