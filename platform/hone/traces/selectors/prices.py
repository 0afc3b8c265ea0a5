"""Which prices a model has here: the project's own, the newest first, and the built-in ones."""

from dataclasses import dataclass

from django.db.models import F

from hone.traces.core.masks import rule_of
from hone.traces.core.prices import Rates, builtin_rates
from hone.traces.models import ModelPrice


@dataclass(frozen=True, slots=True)
class Found:
    """The first of `own` that was in force counts; without one the built-in price does."""

    own: list[ModelPrice]
    builtin: Rates | None


def prices_for(project_id: int, model: str) -> Found:
    """What is known about a model's price; both may be empty."""
    newest_first = (F("starts_at").desc(nulls_last=True), "-id")
    prices = ModelPrice.objects.filter(project_id=project_id).order_by(*newest_first)
    own = [price for price in prices if rule_of(price.pattern, "").pattern.search(model)]
    return Found(own, builtin_rates(model))
