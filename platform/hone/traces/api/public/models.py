"""Models and their prices."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.errors import NotFoundError
from hone.common.public import page_body, page_query, stamp
from hone.traces.selectors.public.models import PublicModel, model_find, models_page


def model_body(model: PublicModel) -> dict[str, Any]:
    prices = {part: {"price": price} for part, price in model.prices.items()}
    tier = {
        "id": f"{model.id}:default",
        "name": "Standard",
        "isDefault": True,
        "priority": 0,
        "conditions": [],
        "prices": dict(model.prices),
    }
    return {
        "id": model.id,
        "modelName": model.name,
        "matchPattern": model.pattern,
        "startDate": stamp(model.starts_at),
        "unit": "TOKENS",
        "inputPrice": model.prices.get("input"),
        "outputPrice": model.prices.get("output"),
        "totalPrice": model.prices.get("total"),
        "tokenizerId": None,
        "tokenizerConfig": None,
        "isLangfuseManaged": False,
        "createdAt": stamp(model.created_at),
        "prices": prices,
        "pricingTiers": [tier],
    }


class PublicModels(PublicView):
    def get(self, request: Request) -> Response:
        page = page_query(request.query_params)
        rows, total = models_page(self.project.pk, limit=page.limit, offset=page.offset)
        return Response(page_body([model_body(row) for row in rows], page, total))


class PublicOneModel(PublicView):
    def get(self, request: Request, model: str) -> Response:
        found = model_find(self.project.pk, model)
        if found is None:
            raise NotFoundError(f"Model {model!r} not found")
        return Response(model_body(found))
