"""Intervals and tests against figures from elsewhere (R 4.3: t.test, prop.test, fisher.test)."""

import random
import statistics

import pytest

from hone.prompts.core.statistics import (
    Mean,
    fisher,
    holm,
    proportions,
    t_quantile,
    t_two_sided,
    welch,
    wilson,
)


def sample(values: list[float]) -> Mean:
    return Mean(len(values), statistics.fmean(values), statistics.stdev(values))


@pytest.mark.parametrize(
    ("degrees", "wanted"),
    [(1, 12.706205), (2, 4.302653), (10, 2.228139), (30, 2.042272), (1000, 1.962339)],
)
def test_students_t(degrees: float, wanted: float) -> None:
    assert t_quantile(degrees) == pytest.approx(wanted, abs=1e-5)
    assert t_two_sided(wanted, degrees) == pytest.approx(0.05, abs=1e-6)


def test_the_mean_of_few_has_a_wide_interval_and_of_one_none() -> None:
    low, high = sample([1.0, 2.0, 3.0, 4.0]).interval
    assert (low, high) == (pytest.approx(0.445740, abs=1e-5), pytest.approx(4.554260, abs=1e-5))
    assert Mean(1, 2.0, None).interval is None


def test_welch_on_the_sleep_data() -> None:
    one = sample([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    two = sample([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    found = welch(one, two)
    assert found is not None
    assert found.p == pytest.approx(0.07939, abs=1e-5)
    assert found.difference == pytest.approx(1.58)
    assert (found.low, found.high) == (
        pytest.approx(-0.2054832, abs=1e-5),
        pytest.approx(3.3654832, abs=1e-5),
    )


def test_one_value_says_nothing_and_constants_say_all() -> None:
    assert welch(Mean(1, 2.0, None), Mean(9, 1.0, 0.5)) is None
    same = welch(Mean(5, 2.0, 0.0), Mean(5, 2.0, 0.0))
    other = welch(Mean(5, 2.0, 0.0), Mean(5, 3.0, 0.0))
    assert same is not None
    assert other is not None
    assert (same.p, other.p) == (1.0, 0.0)


def test_wilson() -> None:
    assert wilson(0, 10) == (0.0, pytest.approx(0.2775328, abs=1e-6))
    low, high = wilson(81, 263) or (0, 0)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)  # Newcombe 1998, method 3
    assert wilson(0, 0) is None


def test_shares_of_large_samples_by_z_and_of_small_ones_exactly() -> None:
    large = proportions(56, 70, 48, 80)
    assert large is not None
    assert large.name == "two proportions"
    assert (round(-large.high, 4), round(-large.low, 4)) == (0.0524, 0.3339)  # Newcombe, method 10
    small = proportions(1, 9, 10, 12)
    assert small is not None
    assert small.name == "fisher"
    assert proportions(0, 0, 1, 2) is None


def test_fishers_tea() -> None:
    assert fisher(3, 4, 1, 4) == pytest.approx(0.4857143, abs=1e-6)
    assert fisher(0, 50_000, 3, 50_000) == pytest.approx(0.25, abs=1e-3)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_where_nothing_differs_one_in_twenty_is_found() -> None:
    random.seed(5)
    found = 0
    for _ in range(1000):
        one = sample([random.gauss(0, 1) for _ in range(8)])
        two = sample([random.gauss(0, 3) for _ in range(20)])
        test = welch(one, two)
        assert test is not None
        found += test.p < 0.05
    assert 30 <= found <= 72
