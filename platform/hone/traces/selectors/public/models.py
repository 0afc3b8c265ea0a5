"""A project's own prices of models. The built-in ones are patterns, not a list of names."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from hone.traces.models import ModelPrice


@dataclass(frozen=True, slots=True)
class PublicModel:
    """One model; `prices` are USD a token by usage part."""

    id: str
    name: str
    pattern: str
    starts_at: datetime | None
    created_at: datetime
    prices: Mapping[str, float]


def models_page(project_id: int, *, limit: int, offset: int) -> tuple[list[PublicModel], int]:
    """A page of the project's models, newest first, and how many there are."""
    rows = _rows(project_id).order_by("-created_at", "-id")
    return [*map(_model, rows[offset : offset + limit])], rows.count()


def model_find(project_id: int, key: str) -> PublicModel | None:
    """One model."""
    row = _rows(project_id).filter(key=key).first()
    return None if row is None else _model(row)


def _rows(project_id: int) -> QuerySet[ModelPrice, ModelPrice]:
    return ModelPrice.objects.filter(project_id=project_id)


def _model(row: ModelPrice) -> PublicModel:
    prices = {part: float(price) for part, price in row.prices.items()}
    return PublicModel(row.key, row.name, row.pattern, row.starts_at, row.created_at, prices)
