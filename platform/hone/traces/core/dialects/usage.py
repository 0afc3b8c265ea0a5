"""Tokens and cost as every dialect counts them, in disjoint parts that sum to the total."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from hone.traces.core.dialects.plan import Plan
from hone.traces.core.dialects.values import Attributes, first, json_mapping, money, whole
from hone.traces.core.tokens import side_of

USAGE_DETAILS: Final = "langfuse.observation.usage_details"
COST_DETAILS: Final = "langfuse.observation.cost_details"
MLFLOW_USAGE: Final = "mlflow.chat.tokenUsage"
MLFLOW_COST: Final = "mlflow.llm.cost"
_MLFLOW_PARTS: Final = {
    "input_tokens": "input",
    "output_tokens": "output",
    "total_tokens": "total",
    "cache_read_input_tokens": "input_cached_tokens",
    "cache_creation_input_tokens": "input_cache_creation",
    "input_cost": "input",
    "output_cost": "output",
    "total_cost": "total",
}
_NO_SIDE: Final = 2**63  # larger than any count
# OpenAI's own usage objects (chat, then responses): total key of each side and its details.
OPENAI_USAGE: Final = {
    "prompt_tokens": "input",
    "completion_tokens": "output",
    "input_tokens": "input",
    "output_tokens": "output",
    "total_tokens": "total",
}


def usage_of(attributes: Attributes, plan: Plan) -> dict[str, int] | None:
    """Token counts, None where nothing was counted."""
    given = json_mapping(attributes.get(USAGE_DETAILS))
    if given is not None:
        return usage_flat(given)
    if MLFLOW_USAGE in attributes:
        return _totaled(_plain(_of_mlflow(attributes[MLFLOW_USAGE])))
    if not plan.tokens:
        return None
    found: dict[str, int] = {}
    for part, keys in plan.tokens.items():
        _put(found, part, first(attributes, keys))
    return _totaled(_apart(found) if plan.has_parts else found)


def cost_of(attributes: Attributes, plan: Plan) -> dict[str, Decimal] | None:
    """Cost in USD with its `total`, None where the sender gave none."""
    given = json_mapping(attributes.get(COST_DETAILS))
    if given is None and MLFLOW_COST in attributes:
        given = _of_mlflow(attributes[MLFLOW_COST])
    if given is None:
        if not plan.costs:
            return None
        given = {part: first(attributes, keys) for part, keys in plan.costs.items()}
    return cost_flat(given)


def _of_mlflow(value: object) -> dict[str, object]:
    given = json_mapping(value) or {}
    return {_MLFLOW_PARTS[key]: count for key, count in given.items() if key in _MLFLOW_PARTS}


def usage_flat(given: Mapping[str, object]) -> dict[str, int] | None:
    """Token counts in disjoint parts with their `total`, from OpenAI's usage or from any mapping.

    None where nothing was counted.
    """
    return _totaled(_openai(given) if _is_openai(given) else _plain(given))


def cost_flat(given: Mapping[str, object]) -> dict[str, Decimal] | None:
    """Amounts in USD by part with their `total`; None where none can be read."""
    amounts = {part: money(value) for part, value in given.items()}
    found = {part: amount for part, amount in amounts.items() if amount is not None}
    if found and "total" not in found:
        found["total"] = sum(found.values(), Decimal(0))
    return found or None


def _is_openai(given: Mapping[str, object]) -> bool:
    keys = {key for key in given if not key.endswith("_details")}
    return bool(keys) and keys <= OPENAI_USAGE.keys()


def _openai(given: Mapping[str, object]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in given.items():
        if key in OPENAI_USAGE:
            _put(found, OPENAI_USAGE[key], value)
            continue
        side = "input" if key.startswith(("prompt", "input")) else "output"
        for detail, count in (json_mapping(value) or {}).items():
            _put(found, f"{side}_{detail}", count)
    return _disjoint(found)


def _put(found: dict[str, int], part: str, value: object) -> None:
    count = whole(value)
    if count is not None:
        found[part] = count


def _plain(given: Mapping[str, object]) -> dict[str, int]:
    """Parts under their own names. Where the sides alone make up the total that came with them,
    they include their details, which many senders count twice: then these are taken out."""
    found: dict[str, int] = {}
    for part, value in given.items():
        _put(found, part, value)
    sides = {side: found.get(side, 0) for side in ("input", "output")}
    details = [part for part in found if side_of(part) and part not in sides]
    if not details or sum(sides.values()) != found.get("total"):
        return found
    for side, count in sides.items():
        inside = sum(found[part] for part in details if side_of(part) == side)
        if inside and side in found:
            found[side] = max(0, count - inside)
    return found


def _apart(found: dict[str, int]) -> dict[str, int]:
    """As `_disjoint`, but details that are more than their side were never in it: so Vercel's SDK
    up to 5 and some instrumentations count what Anthropic read from its cache."""
    if all(_details(found, side) <= found.get(side, _NO_SIDE) for side in ("input", "output")):
        return _disjoint(found)
    counted = {part: count for part, count in found.items() if part != "total"}
    for side in ("input", "output"):
        inside = _details(counted, side)
        if side in counted and inside <= counted[side]:
            counted[side] -= inside
    total = found.get("total", 0)
    return {**counted, "total": total} if total >= sum(counted.values()) else counted


def _disjoint(found: dict[str, int]) -> dict[str, int]:
    """Takes the detail parts out of the side that includes them, never below zero."""
    for side in ("input", "output"):
        if side in found:
            found[side] = max(0, found[side] - _details(found, side))
    return found


def _details(found: Mapping[str, int], side: str) -> int:
    return sum(count for part, count in found.items() if part.startswith(side + "_"))


def _totaled(found: dict[str, int]) -> dict[str, int] | None:
    if found and "total" not in found:
        found["total"] = sum(found.values())
    return found or None
