"""The price of a model, and what usage costs at that price.

Amounts are whole multiples of 1e-15 USD, so that sums are exact and the extension (csrc/wire) gets
the same ones.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from hone.traces.core.tokens import ALIASES

DECIMALS: Final = 15
MAX_UNITS: Final = 2**62  # 4,611 USD a token
EVER_FLAT: Final = 2**62  # tokens, more than any span counts
OPERATORS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "eq": operator.eq,
    "neq": operator.ne,
}
# Operators that fail for every sum below the value, and by how much below.
_FAILS_BELOW: Final = {"gt": 0, "gte": 1, "eq": 1}
_SIDES: Final = ("input_", "output_")


@dataclass(frozen=True, slots=True)
class Condition:
    """A sum over usage parts compared with a number; `matches` says which parts count."""

    matches: Callable[[str], bool]
    operator: str  # one of OPERATORS
    value: int

    def holds(self, usage: Mapping[str, int]) -> bool:
        counted = sum(count for part, count in usage.items() if self.matches(part))
        return OPERATORS[self.operator](counted, self.value)

    def fails_up_to(self) -> int:
        """Tokens of all parts together up to which it surely does not hold; -1: it always may."""
        if self.operator not in _FAILS_BELOW:
            return -1
        return max(-1, self.value - _FAILS_BELOW[self.operator])


@dataclass(frozen=True, slots=True)
class Tier:
    """Other prices, where all conditions hold."""

    conditions: tuple[Condition, ...]
    units: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Period:
    """Prices from `since_ns` on: units a token by usage part; the first tier that holds wins."""

    since_ns: int
    units: Mapping[str, int]
    tiers: tuple[Tier, ...] = ()

    def units_for(self, usage: Mapping[str, int]) -> Mapping[str, int]:
        for tier in self.tiers:
            if all(condition.holds(usage) for condition in tier.conditions):
                return tier.units
        return self.units

    def flat_up_to(self) -> int:
        """Tokens of all parts together up to which surely no tier holds; -1: one always may."""
        bounds = (
            max((condition.fails_up_to() for condition in tier.conditions), default=-1)
            for tier in self.tiers
        )
        return min(EVER_FLAT, *bounds) if self.tiers else EVER_FLAT


@dataclass(frozen=True, slots=True)
class Rates:
    """A model's prices, the newest period first. Before the oldest one, the oldest holds."""

    periods: tuple[Period, ...]

    def at(self, ns: int) -> Period:
        return next((p for p in self.periods if p.since_ns <= ns), self.periods[-1])


def cost_of(rates: Rates, usage: Mapping[str, int], at_ns: int) -> dict[str, Decimal] | None:
    """USD by usage part with their `total`; None where no part has a price.

    A part without a price of its own costs as much as its side (input, output); a price for
    `total` alone decides the total.
    """
    units = rates.at(at_ns).units_for(usage)
    priced = {
        part: unit * count
        for part, count in usage.items()
        if (unit := _unit(units, part)) is not None
    }
    if not priced:
        return None
    total = priced.pop("total", None)
    if total is None:
        total = sum(priced.values())
    return {**{part: amount(n) for part, n in priced.items()}, "total": amount(total)}


def _unit(units: Mapping[str, int], part: str) -> int | None:
    for name in (part, ALIASES.get(part)):
        if name is None:
            continue
        if name in units:
            return units[name]
        if name.startswith(_SIDES):
            side = units.get(name.partition("_")[0])
            if side is not None:
                return side
    return None


def amount(units: int) -> Decimal:
    """Units as USD, without trailing zeros."""
    whole, part = divmod(units, 10**DECIMALS)
    return Decimal(f"{whole}.{part:0{DECIMALS}}".rstrip("0").rstrip("."))


def units_of(price: Decimal) -> int:
    """A price in USD as units, rounded half even; raises ValueError where it is no price."""
    if not price.is_finite() or price < 0 or price > MAX_UNITS // 10**DECIMALS:
        raise ValueError(f"price: got {price}, want 0 to {MAX_UNITS // 10**DECIMALS} USD")
    return int(price.scaleb(DECIMALS).to_integral_value())
