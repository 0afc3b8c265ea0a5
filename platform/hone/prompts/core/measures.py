"""What a version of a prompt did, as figures, and two of them side by side."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hone.prompts.core.statistics import Mean, Test, holm, proportions, welch, wilson

BOOLEAN: Final = "BOOLEAN"


@dataclass(frozen=True, slots=True)
class ScoreFigure:
    """The scores of one name; of a boolean one `mean` is the share of true."""

    name: str
    type: str  # NUMERIC | BOOLEAN | CATEGORICAL, whose categories have numbers
    values: Mean

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.type == BOOLEAN:
            return wilson(self.hits, self.values.n)
        return self.values.interval

    @property
    def hits(self) -> int:
        return round(self.values.mean * self.values.n)


@dataclass(frozen=True, slots=True)
class VersionFigures:
    """A version over a time window: of its newest calls, `is_cut` where there are more."""

    version: int
    calls: int
    is_cut: bool
    failures: int
    first_at: datetime | None
    latest_at: datetime | None
    latency_s: Mean | None  # of the calls that did not fail
    latency_p50_s: float | None
    latency_p95_s: float | None
    input_tokens: Mean | None
    output_tokens: Mean | None
    cost: Mean | None  # USD a call, of the priced ones
    cost_total: float | None
    unpriced: int  # calls with tokens and no known price
    scores: tuple[ScoreFigure, ...]

    @property
    def failure_interval(self) -> tuple[float, float] | None:
        return wilson(self.failures, self.calls)


@dataclass(frozen=True, slots=True)
class Compared:
    """One measure of two versions."""

    measure: str  # failures | latency | input_tokens | output_tokens | cost | score:NAME
    a: float | None
    b: float | None
    n_a: int
    n_b: int
    test: Test | None
    p_adjusted: float | None  # for as many tests as there are (Holm)


def compared(a: VersionFigures, b: VersionFigures) -> list[Compared]:
    """Every measure that both have, tested, and the others as they stand."""
    rows = list(_rows(a, b))
    adjusted = iter(holm([row.test.p for row in rows if row.test]))
    return [
        Compared(r.measure, r.a, r.b, r.n_a, r.n_b, r.test, next(adjusted) if r.test else None)
        for r in rows
    ]


def _rows(a: VersionFigures, b: VersionFigures) -> Iterable[Compared]:
    yield _shares("failures", (a.failures, a.calls), (b.failures, b.calls))
    yield _means("latency", a.latency_s, b.latency_s)
    yield _means("input_tokens", a.input_tokens, b.input_tokens)
    yield _means("output_tokens", a.output_tokens, b.output_tokens)
    yield _means("cost", a.cost, b.cost)
    of_a, of_b = ({(s.name, s.type): s for s in side.scores} for side in (a, b))
    for name, kind in sorted(of_a.keys() | of_b.keys()):
        one, two = of_a.get((name, kind)), of_b.get((name, kind))
        if kind == BOOLEAN:
            counts = [(s.hits, s.values.n) if s else (0, 0) for s in (one, two)]
            yield _shares(f"score:{name}", *counts)
        else:
            yield _means(f"score:{name}", one.values if one else None, two.values if two else None)


def _means(measure: str, a: Mean | None, b: Mean | None) -> Compared:
    return Compared(
        measure,
        a.mean if a else None,
        b.mean if b else None,
        a.n if a else 0,
        b.n if b else 0,
        welch(a, b) if a and b else None,
        None,
    )


def _shares(measure: str, a: tuple[int, int], b: tuple[int, int]) -> Compared:
    share_a, share_b = (hits / n if n else None for hits, n in (a, b))
    return Compared(measure, share_a, share_b, a[1], b[1], proportions(*a, *b), None)
