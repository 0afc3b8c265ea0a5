"""A project's own prices."""

import datetime
from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.accounts.core.roles import Role
from hone.common.paging import paginate
from hone.common.schema import page_of, read
from hone.traces.api import intake_bodies as bodies
from hone.traces.api.params import PAGE_PARAMETERS
from hone.traces.core.prices import Period
from hone.traces.core.prices.rates import amount
from hone.traces.models import ModelPrice
from hone.traces.selectors.prices import prices_for
from hone.traces.services.prices import price_create, price_delete, price_update


def price_row(price: ModelPrice) -> dict[str, Any]:
    return {
        "id": price.key,
        "name": price.name,
        "pattern": price.pattern,
        "prices": price.prices,
        "tiers": price.tiers,
        "starts_at": price.starts_at,
        "author": price.author_name,
        "created_at": price.created_at,
    }


class Prices(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"POST": Role.ADMIN}

    @extend_schema(parameters=PAGE_PARAMETERS, responses=page_of(bodies.PriceBody))
    def get(self, request: Request, project: str) -> Response:
        rows = ModelPrice.objects.filter(project=self.access.project)
        return Response(paginate(rows, request.query_params, {"id": int}).body(price_row))

    @extend_schema(request=bodies.PriceCreate, responses={201: bodies.PriceBody})
    def post(self, request: Request, project: str) -> Response:
        fields = read(bodies.PriceCreate, request)
        return Response(price_row(price_create(access=self.access, **fields)), status=201)


class PriceDetail(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"PUT": Role.ADMIN, "DELETE": Role.ADMIN}

    @extend_schema(request=bodies.PriceCreate, responses=bodies.PriceBody)
    def put(self, request: Request, project: str, price: str) -> Response:
        fields = read(bodies.PriceCreate, request)
        return Response(price_row(price_update(access=self.access, key=price, **fields)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, price: str) -> Response:
        price_delete(access=self.access, key=price)
        return Response(status=204)


class PriceLookup(ProjectView):
    @extend_schema(parameters=[bodies.PriceAsked], responses=bodies.PriceFound)
    def get(self, request: Request, project: str) -> Response:
        asked = bodies.PriceAsked(data=request.query_params)
        asked.is_valid(raise_exception=True)
        model = asked.validated_data["model"]
        found = prices_for(self.access.project.pk, model)
        builtin = found.builtin and [list_price(period) for period in found.builtin.periods]
        return Response({"model": model, "own": [p.key for p in found.own], "builtin": builtin})


def list_price(period: Period) -> dict[str, Any]:
    """A period of the built-in table; its tiers count the tokens of the input."""
    starts_at = datetime.datetime.fromtimestamp(period.since_ns / 10**9, datetime.UTC)
    return {
        "starts_at": starts_at if period.since_ns else None,
        "prices": _amounts(period.units),
        "tiers": [
            {
                "name": "",
                "conditions": [
                    {"usage_pattern": "^input", "operator": c.operator, "value": c.value}
                    for c in tier.conditions
                ],
                "prices": _amounts(tier.units),
            }
            for tier in period.tiers
        ],
    }


def _amounts(units: Mapping[str, int]) -> dict[str, str]:
    return {part: f"{amount(price):f}" for part, price in units.items()}
