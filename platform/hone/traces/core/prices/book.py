"""The prices of one project: its own first, the built-in ones behind them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hone.traces.core.prices.builtin import builtin_rates
from hone.traces.core.prices.rates import EVER_FLAT, Period, cost_of
from hone.traces.core.prices.rates import Rates as Priced
from hone.traces.core.span import Span
from hone.traces.core.wire import Rates, is_built, rates_new

_MAX_MODELS: Final = 4096  # remembered; names are the senders'


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """A project's price of the models whose names a pattern (of re2) finds."""

    pattern: Any
    period: Period


class Book:
    """Prices by model, each looked up once. Own ones come the newest first."""

    def __init__(self, own: Sequence[OwnPrice] = ()) -> None:
        self.own = own
        self.known: dict[str, Priced | None] = {}
        self.native: Rates | None = rates_new() if is_built() else None

    def rates(self, model: str) -> Priced | None:
        """The price of a model, None where it is unknown."""
        if model not in self.known:
            if len(self.known) >= _MAX_MODELS:
                self.known.clear()
            self.known[model] = self._found(model)
        return self.known[model]

    def _found(self, model: str) -> Priced | None:
        own = [price.period for price in self.own if price.pattern.search(model) is not None]
        return Priced(tuple(own)) if own else builtin_rates(model)

    def teach(self, model: str) -> None:
        """Tell the extension what it may price itself: prices that hold now, up to their tiers."""
        assert self.native is not None
        rates = self.rates(model)
        if rates is None:
            self.native.put(model, EVER_FLAT, 0, {})
            return
        newest = rates.periods[0]
        since_ns = newest.since_ns if len(rates.periods) > 1 else 0
        self.native.put(model, newest.flat_up_to(), since_ns, newest.units)

    def priced(self, span: Span) -> Span:
        """The span with its cost, where the sender gave none and the price is known."""
        if span.cost or not span.usage or not span.model:
            return span
        rates = self.rates(span.model)
        cost = rates and cost_of(rates, span.usage, span.start_ns)
        return replace(span, cost=cost) if cost else span
