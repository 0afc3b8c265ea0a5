"""What tokens cost: exact amounts, tiers, and the built-in table of prices."""

from hone.traces.core.prices.book import Book, OwnPrice
from hone.traces.core.prices.builtin import builtin_rates
from hone.traces.core.prices.rates import Condition, Period, Rates, Tier, cost_of, units_of

__all__ = [
    "Book",
    "Condition",
    "OwnPrice",
    "Period",
    "Rates",
    "Tier",
    "builtin_rates",
    "cost_of",
    "units_of",
]
