"""Figures: any view by any dimension, and by day."""

from datetime import timedelta
from typing import Any

import orjson
from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common import clock
from hone.common.conditions import Condition, conditions_of
from hone.common.errors import InvalidError
from hone.common.public import (
    moment_of,
    page_body,
    page_query,
    repeated,
)
from hone.common.public.params import moment_read
from hone.traces.core.metrics import metrics_query
from hone.traces.selectors.public import metrics_rows
from hone.traces.selectors.public.daily import daily_rows


class PublicMetrics(PublicView):
    """v1 and v2: one question in JSON in the query string."""

    def get(self, request: Request) -> Response:
        data = _question(request.query_params)
        start, end = (
            moment_read(str(data.get(name) or ""), name)
            for name in ("fromTimestamp", "toTimestamp")
        )
        query = metrics_query(data, start, end)
        filters = data.get("filters") or []
        conditions = conditions_of(orjson.dumps(filters).decode()) if filters else ()
        return Response({"data": metrics_rows(self.project.pk, query, conditions)})


def _question(params: QueryDict) -> dict[str, Any]:
    try:
        data = orjson.loads(params.get("query") or "")
    except orjson.JSONDecodeError:
        data = None
    if not isinstance(data, dict):
        raise InvalidError("query: want a JSON object", field="query")
    return data


class PublicDailyMetrics(PublicView):
    """Counts, tokens and cost a day, newest first, with the models used."""

    def get(self, request: Request) -> Response:
        params = request.query_params
        page = page_query(params)
        end = moment_of(params, "toTimestamp") or clock.now() + timedelta(days=1)
        start = moment_of(params, "fromTimestamp") or end - timedelta(days=31)
        conditions = [
            Condition("string", column, "=", params[name])
            for name, column in (("userId", "userId"), ("traceName", "traceName"))
            if params.get(name)
        ]
        for name, operator, values in (
            ("tags", "all of", repeated(params, "tags")),
            ("environment", "any of", repeated(params, "environment")),
        ):
            if values:
                kind = "arrayOptions" if name == "tags" else "stringOptions"
                conditions.append(Condition(kind, name, operator, values))
        rows = daily_rows(self.project.pk, start, end, conditions)
        return Response(page_body(rows[page.offset : page.offset + page.limit], page, len(rows)))
