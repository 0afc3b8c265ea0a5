"""The built-in prices: builtin.json, made by scripts/build_prices.py from genai-prices (MIT)."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

import orjson

from hone.traces.core.prices.match import matches
from hone.traces.core.prices.rates import Condition, Period, Rates, Tier

_NAME_LEN: Final = 200
_DAY_NS: Final = 86_400 * 10**9


@lru_cache(maxsize=1)
def _providers() -> list[dict[str, Any]]:
    text = files("hone.traces.core.prices").joinpath("builtin.json").read_bytes()
    providers: list[dict[str, Any]] = orjson.loads(text)["providers"]
    return providers


def builtin_rates(model: str) -> Rates | None:
    """The list price of a model by its name; `provider/model` is understood too. None: unknown."""
    name = model[:_NAME_LEN].lower()
    for provider in _providers():
        if provider["match"] and matches(provider["match"], name):
            found = _model(provider, name)
            if found is not None:
                return found
    prefix, _, rest = name.partition("/")
    if rest:
        named = [(p, rest) for p in _providers() if p["id"] == prefix]
    else:  # a vendor's model whose name does not tell the vendor
        named = [(p, name) for p in _providers() if p["match"]]
    return next((found for p, n in named if (found := _model(p, n)) is not None), None)


def _model(provider: Mapping[str, Any], name: str) -> Rates | None:
    for model in provider["models"]:
        if matches(model["match"], name):
            return Rates(tuple(_period(given) for given in reversed(model["prices"])))
    return None


def _period(given: Mapping[str, Any]) -> Period:
    return Period(
        since_ns=given.get("since", 0) * _DAY_NS,
        units=given["units"],
        tiers=tuple(_tiers(given.get("tiers", ()))),
    )


def _tiers(given: Iterable[tuple[int, dict[str, int]]]) -> Iterable[Tier]:
    """Tiers by input tokens, the highest first."""
    for start, units in sorted(given, key=lambda tier: -tier[0]):
        yield Tier((Condition(_is_input, "gt", start),), units)


def _is_input(part: str) -> bool:
    return part.startswith("input")
