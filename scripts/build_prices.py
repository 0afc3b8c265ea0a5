"""Write the built-in price table from the installed genai-prices.

Kept are prices a token, by usage part, with their dates and tiers. Prices by the hour of the day,
by the request or by another unit than tokens are left out: unknown is better than wrong.
"""

import importlib.metadata
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from genai_prices.data import providers

OUT = Path(__file__).parents[1] / "platform/hone/traces/core/prices/builtin.json"
PARTS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "input_cached_tokens",
    "cache_write_mtok": "input_cache_creation",
    "cache_write_1h_mtok": "input_cache_creation_1h",
    "input_audio_mtok": "input_audio_tokens",
    "cache_audio_read_mtok": "input_cached_audio_tokens",
    "input_image_mtok": "input_image_tokens",
    "input_video_mtok": "input_video_tokens",
    "output_audio_mtok": "output_audio_tokens",
    "output_image_mtok": "output_image_tokens",
    "output_video_mtok": "output_video_tokens",
    "output_reasoning_mtok": "output_reasoning_tokens",
}
UNITS_PER_USD = 10**15
EPOCH = date(1970, 1, 1)


def clause_of(clause: Any) -> dict[str, Any]:
    """A clause as {kind: what}."""
    [(name, value)] = vars(clause).items()
    many = isinstance(value, list)
    return {name.rstrip("_"): [clause_of(one) for one in value] if many else value}


def units(price: Decimal) -> int:
    """USD a million as units a token; what binary fractions left behind is rounded away."""
    return int((price * UNITS_PER_USD / 1_000_000).to_integral_value())


def period_of(prices: Any, since: date | None) -> dict[str, Any] | None:
    """One set of prices: units a token, and where input grows the tiers as [start, units]."""
    given = {part: vars(prices).get(key) for key, part in PARTS.items()}
    known = {part: price for part, price in given.items() if price is not None}
    if not known:
        return None
    starts = sorted(
        {tier.start for price in known.values() for tier in getattr(price, "tiers", ())}
    )
    period: dict[str, Any] = {
        "units": {part: units(at(price, None)) for part, price in known.items()}
    }
    if since is not None:
        period["since"] = (since - EPOCH).days
    if starts:
        period["tiers"] = [
            [start, {part: units(at(price, start)) for part, price in known.items()}]
            for start in starts
        ]
    return period


def at(price: Any, start: int | None) -> Decimal:
    """A price in USD a million, where the input is over `start` tokens."""
    if isinstance(price, Decimal):
        return price
    found = [tier.price for tier in price.tiers if start is not None and tier.start <= start]
    return found[-1] if found else price.base


def periods_of(prices: Any) -> list[dict[str, Any]]:
    if not isinstance(prices, list):
        period = period_of(prices, None)
        return [period] if period else []
    dated = [(p.prices, getattr(p.constraint, "start_date", None), p.constraint) for p in prices]
    kept = [period_of(p, since) for p, since, limit in dated if limit is None or since is not None]
    return [period for period in kept if period]


def table() -> dict[str, Any]:
    """The whole table."""
    found = []
    for provider in providers:
        models = [
            {"match": clause_of(model.match), "prices": periods}
            for model in provider.models
            if (periods := periods_of(model.prices))
        ]
        match = clause_of(provider.model_match) if provider.model_match else None
        found.append({"id": provider.id, "match": match, "models": models})
    version = importlib.metadata.version("genai-prices")
    return {"source": f"genai-prices {version}, MIT, Pydantic Services Inc.", "providers": found}


def main() -> None:
    """Write the file, one provider a line."""
    made = table()
    lines = ",\n".join(json.dumps(p, separators=(",", ":")) for p in made["providers"])
    OUT.write_text(f'{{"source":{json.dumps(made["source"])},"providers":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
