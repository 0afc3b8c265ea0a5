"""One call told twice: by the gateway that served it and by the client that made it.

The gateway's observation of a call names the client's span that it was made in. Where that span,
or one above it with plain spans between, tells tokens or cost itself, these are its to tell: the
gateway's then keeps what it knows among its attributes and counts nothing. Which of the two came
first is no matter, because the account is a function of what is stored.
"""

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from hone.traces.core.dialects.usage import cost_flat
from hone.traces.core.dialects.values import whole
from hone.traces.core.span import TYPES
from hone.traces.core.text import json_text
from hone.traces.core.tokens import side_of

CALLER: Final = "hone.gateway.caller"  # the client's span, 16 hex digits
TYPE: Final = "hone.gateway.type"
USAGE: Final = "hone.gateway.usage"
COST: Final = "hone.gateway.cost"
PLAIN: Final = ("span", "event")  # looked through on the way up
CALLS: Final = ("generation", "embedding")


@dataclass(frozen=True, slots=True)
class Account:
    """What an observation tells of a call, as its row holds it: JSON texts."""

    type: str
    usage: str | None
    cost: str | None
    attributes: str | None


@dataclass(frozen=True, slots=True)
class Teller:
    """The nearest span above that is more than a plain one, or that tells tokens."""

    type: str
    tells_usage: bool
    tells_cost: bool


def account_beside(account: Account, teller: Teller | None) -> Account:
    """The account as it is to stand below `teller`; alone, all of it counts."""
    told = _with_hidden(account)
    if teller is None:
        return told
    hidden: dict[str, Any] = {}
    if teller.tells_usage or teller.type in CALLS:
        hidden[TYPE], told = told.type, replace(told, type="span")
    if teller.tells_usage and told.usage:
        hidden[USAGE], told = json.loads(told.usage), replace(told, usage=None)
    if teller.tells_cost and told.cost:
        hidden[COST], told = json.loads(told.cost), replace(told, cost=None)
    if not hidden:
        return told
    return replace(told, attributes=json_text(_read(told.attributes) | hidden))


def counts_of(account: Account) -> tuple[int | None, int | None, int | None, Decimal | None]:
    """Input, output and total tokens and the cost in USD, each None where it tells none."""
    cost = cost_flat(_read(account.cost))
    total = cost["total"] if cost else None
    if not account.usage:
        return None, None, None, total
    usage: dict[str, int] = _read(account.usage)
    given, answer = (
        sum(count for part, count in usage.items() if side_of(part) == side)
        for side in ("input", "output")
    )
    return given, answer, usage.get("total", given + answer), total


def _with_hidden(account: Account) -> Account:
    """The account with what was hidden put back."""
    attributes = _read(account.attributes)
    kind, usage, cost = (attributes.get(name) for name in (TYPE, USAGE, COST))
    if kind in TYPES:
        attributes.pop(TYPE)
        account = replace(account, type=kind)
    if isinstance(usage, dict) and usage and all(whole(n) == n for n in usage.values()):
        attributes.pop(USAGE)
        account = replace(account, usage=json_text(usage))
    if isinstance(cost, dict) and "total" in cost and cost_flat(cost):
        attributes.pop(COST)
        account = replace(account, cost=json_text(cost))
    return replace(account, attributes=json_text(attributes) if attributes else None)


def _read(text: str | None) -> dict[str, Any]:
    # Not orjson: it refuses the lone surrogates that attributes may spell.
    found: dict[str, Any] = json.loads(text) if text else {}
    return found
