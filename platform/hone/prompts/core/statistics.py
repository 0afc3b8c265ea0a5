"""Intervals and tests for what versions of a prompt did, without any library.

Means are compared by Welch's t test (unequal variances), shares by the two-proportion z test, or by
Fisher's exact test where an expected count is under five. Intervals are at 95 %: Student's t for a
mean, Wilson's for a share, Welch's and Newcombe's for differences.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEVEL: Final = 0.95
Z: Final = 1.959963984540054  # of a two-sided 95 %
_SMALL: Final = 5.0  # an expected count below this calls for the exact test


@dataclass(frozen=True, slots=True)
class Mean:
    """A sample's size, mean and standard deviation (None for less than two)."""

    n: int
    mean: float
    deviation: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the true mean lies; None where one value says nothing of it."""
        if self.n < 2 or self.deviation is None:
            return None
        half = t_quantile(self.n - 1) * self.deviation / math.sqrt(self.n)
        return self.mean - half, self.mean + half


@dataclass(frozen=True, slots=True)
class Test:
    """What a test says of a difference, b minus a."""

    name: str  # welch | two proportions | fisher
    p: float
    difference: float
    low: float
    high: float


def welch(a: Mean, b: Mean) -> Test | None:
    """Welch's t test of two means; None where a sample is too small to tell."""
    if min(a.n, b.n) < 2 or a.deviation is None or b.deviation is None:
        return None
    va, vb = a.deviation**2 / a.n, b.deviation**2 / b.n
    difference = b.mean - a.mean
    if va + vb == 0:  # two constants
        return Test("welch", 1.0 if difference == 0 else 0.0, difference, difference, difference)
    degrees = (va + vb) ** 2 / (va**2 / (a.n - 1) + vb**2 / (b.n - 1))
    error = math.sqrt(va + vb)
    half = t_quantile(degrees) * error
    return Test(
        "welch",
        t_two_sided(difference / error, degrees),
        difference,
        difference - half,
        difference + half,
    )


def wilson(hits: int, n: int) -> tuple[float, float] | None:
    """Where the true share lies, of `hits` in `n`."""
    if n == 0:
        return None
    share, square = hits / n, Z * Z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = Z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def proportions(hits_a: int, n_a: int, hits_b: int, n_b: int) -> Test | None:
    """Test of two shares: exact where counts are small; None where a sample is empty."""
    of_a, of_b = wilson(hits_a, n_a), wilson(hits_b, n_b)
    if of_a is None or of_b is None:
        return None
    a, b = hits_a / n_a, hits_b / n_b
    (low_a, high_a), (low_b, high_b) = of_a, of_b
    low = (b - a) - math.hypot(b - low_b, high_a - a)
    high = (b - a) + math.hypot(high_b - b, a - low_a)
    hits, n = hits_a + hits_b, n_a + n_b
    smallest = min(n_a, n_b) * min(hits, n - hits) / n
    if smallest < _SMALL:
        return Test("fisher", fisher(hits_a, n_a, hits_b, n_b), b - a, low, high)
    pooled = hits / n
    error = math.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    p = math.erfc(abs(b - a) / error / math.sqrt(2))
    return Test("two proportions", p, b - a, low, high)


def fisher(hits_a: int, n_a: int, hits_b: int, n_b: int) -> float:
    """Two-sided p of Fisher's exact test: all tables at most as likely as this one."""
    hits = hits_a + hits_b
    lowest, highest = max(0, hits - n_b), min(hits, n_a)
    whole = _log_choose(n_a + n_b, hits)

    def log_chance(k: int) -> float:
        return _log_choose(n_a, k) + _log_choose(n_b, hits - k) - whole

    seen = log_chance(hits_a) + 1e-7
    found = [log_chance(k) for k in range(lowest, highest + 1)]
    return min(1.0, sum(math.exp(chance) for chance in found if chance <= seen))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values adjusted for being several (Holm 1979), in the order given."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    adjusted, running = [0.0] * len(ps), 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = running
    return adjusted


def t_two_sided(t: float, degrees: float) -> float:
    """The chance of a Student's t as far from 0 as this, in either direction."""
    return _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


def t_quantile(degrees: float) -> float:
    """The t that a share of LEVEL lies within, either side of 0."""
    low, high = 0.0, 1.0
    while t_two_sided(high, degrees) > 1 - LEVEL:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if t_two_sided(middle, degrees) > 1 - LEVEL:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - _incomplete_beta(b, a, 1 - x)
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return math.exp(log_front) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's way of evaluating it."""
    tiny = 1e-300
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 400):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away(1 + term * d, tiny)
            c = _away(1 + term / c, tiny)
            value *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return value


def _away(value: float, tiny: float) -> float:
    """The value, kept off zero."""
    return value if abs(value) > tiny else tiny
