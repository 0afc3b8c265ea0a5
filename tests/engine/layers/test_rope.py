import json
import math
from pathlib import Path

import numpy as np
import pytest

from hone_engine.layers import rotary_table

GOLDEN = np.load(Path(__file__).parent / "golden" / "rope.npz")
NAMES = sorted(name.removesuffix("_freq") for name in GOLDEN if name.endswith("_freq"))


@pytest.mark.parametrize("name", NAMES)
def test_scaled_frequencies_are_those_of_transformers(name: str) -> None:
    settings = json.loads(str(GOLDEN[f"{name}_settings"]))
    table = rotary_table(settings["rope_theta"], 64, 16384, settings)
    np.testing.assert_allclose(table.inv_freq, GOLDEN[f"{name}_freq"], rtol=2e-6)
    assert table.factor == pytest.approx(float(GOLDEN[f"{name}_factor"]))


def test_plain_frequencies_fall_from_one_by_the_same_ratio() -> None:
    freq = rotary_table(10000.0, 8, 2048, None).inv_freq
    np.testing.assert_allclose(freq, [1.0, 0.1, 0.01, 0.001], rtol=1e-6)


def test_ntk_keeps_the_fastest_pair_and_divides_the_slowest_by_alpha() -> None:
    plain = rotary_table(10000.0, 64, 2048, None).inv_freq
    scaled = rotary_table(10000.0, 64, 2048, {"rope_type": "ntk", "alpha": 4.0}).inv_freq
    assert scaled[0] == plain[0]
    assert float(plain[-1] / scaled[-1]) == pytest.approx(4.0, rel=1e-4)


def test_factors_of_a_gguf_file_divide_each_pair() -> None:
    settings = {"rope_type": "factors", "factors": [1.0, 2.0, 4.0, 8.0]}
    freq = rotary_table(10000.0, 8, 2048, settings).inv_freq
    np.testing.assert_allclose(freq, [1.0, 0.05, 0.0025, 0.000125], rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rope_type": "spiral"}, "rope_scaling is 'spiral'"),
        ({"rope_type": "linear"}, "rope_scaling.factor is None"),
        ({"rope_type": "linear", "factor": -1}, "rope_scaling.factor is -1"),
        ({"type": "yarn", "factor": "4"}, "rope_scaling.factor is '4'"),
        ({"rope_type": "factors", "factors": [1.0]}, "has 1 figures, wanted 32"),
    ],
)
def test_a_scaling_that_lacks_something_is_refused(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match="rope_scaling") as error:
        rotary_table(10000.0, 64, 2048, settings)
    assert message in str(error.value)


def test_yarn_sharpens_attention_with_the_logarithm_of_the_factor() -> None:
    table = rotary_table(10000.0, 64, 4096, {"rope_type": "yarn", "factor": 4.0})
    assert table.factor == pytest.approx(0.1 * math.log(4.0) + 1.0)
