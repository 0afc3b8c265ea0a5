"""A project's own prices, set and taken back by its admins."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import re2
from django.db import transaction

from hone.accounts.selectors import Access
from hone.common import clock, events
from hone.common.errors import InvalidError, NotFoundError
from hone.traces.core.masks import PatternError, rule_of
from hone.traces.core.prices.rates import OPERATORS
from hone.traces.models import ModelPrice
from hone.traces.services.intake import intake_forget, tier_of, units_from

MAX_PRICES: Final = 500  # of a project
CHANGED: Final = "prices.changed"


@transaction.atomic
def price_create(
    *,
    access: Access,
    name: str,
    pattern: str,
    prices: Mapping[str, str],
    tiers: Sequence[Mapping[str, Any]] = (),
    starts_at: datetime | None = None,
) -> ModelPrice:
    """A price of the models whose names `pattern` finds, USD a token by usage part.

    It holds for spans that are stored from now on. Raises InvalidError.
    """
    _check(pattern, prices, tiers)
    if ModelPrice.objects.filter(project=access.project).count() >= MAX_PRICES:
        raise InvalidError(f"A project has at most {MAX_PRICES} prices")
    price = ModelPrice.objects.create(
        project=access.project,
        key=uuid.uuid4().hex,
        name=name,
        pattern=pattern,
        prices=dict(prices),
        tiers=[dict(tier) for tier in tiers],
        starts_at=starts_at,
        created_at=clock.now(),
        author_name=access.author_name,
    )
    _tell(price, "created")
    return price


@transaction.atomic
def price_update(
    *,
    access: Access,
    key: str,
    name: str,
    pattern: str,
    prices: Mapping[str, str],
    tiers: Sequence[Mapping[str, Any]] = (),
    starts_at: datetime | None = None,
) -> ModelPrice:
    """Another price in the place of one; what was priced with it stays as it is.

    Raises NotFoundError, InvalidError.
    """
    _check(pattern, prices, tiers)
    price = _price(access, key)
    price.name, price.pattern, price.prices = name, pattern, dict(prices)
    price.tiers, price.starts_at = [dict(tier) for tier in tiers], starts_at
    price.author_name = access.author_name
    price.save()
    _tell(price, "updated")
    return price


@transaction.atomic
def price_delete(*, access: Access, key: str) -> None:
    """Take a price back; what was priced with it stays. Raises NotFoundError."""
    price = _price(access, key)
    price.delete()
    _tell(price, "deleted")


def _price(access: Access, key: str) -> ModelPrice:
    rows = ModelPrice.objects.select_for_update().filter(project=access.project, key=key)
    price = rows.first()
    if price is None:
        raise NotFoundError("There is no such price")
    return price


def _check(pattern: str, prices: Mapping[str, str], tiers: Sequence[Mapping[str, Any]]) -> None:
    try:
        rule_of(pattern, "")
    except PatternError as error:
        raise InvalidError(str(error), field="pattern") from None
    if not prices:
        raise InvalidError("prices: want at least one usage part", field="prices")
    try:
        units_from(prices)
        for tier in tiers:
            if any(condition["operator"] not in OPERATORS for condition in tier["conditions"]):
                raise InvalidError(f"operator: want one of {', '.join(OPERATORS)}", field="tiers")
            tier_of(tier)
    except (ValueError, InvalidOperation) as error:
        wanted = f"want decimals of USD a token, such as {Decimal('0.0000025'):f}"
        raise InvalidError(f"prices: {wanted} ({error})", field="prices") from None
    except re2.error:
        raise InvalidError("usage_pattern: want the syntax of RE2", field="tiers") from None


def _tell(price: ModelPrice, what: str) -> None:
    project_id = price.project_id
    intake_forget(project_id)  # in this transaction at once, elsewhere after it
    transaction.on_commit(lambda: intake_forget(project_id))
    events.publish(project_id, CHANGED, {"id": price.key, "name": price.name, "change": what})
