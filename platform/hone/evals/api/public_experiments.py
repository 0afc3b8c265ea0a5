"""Experiments in the public API: runs of datasets and of local data alike."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.errors import InvalidError
from hone.common.paging import cursor_decode, cursor_encode
from hone.common.public import comma_list, cursor_body, moment_of, number_of
from hone.evals.api.public_runs import names_for
from hone.evals.api.public_shapes import execution_body, experiment_body
from hone.evals.selectors.executions import executions_of
from hone.evals.selectors.runs import run_items, runs
from hone.traces.api.score_shapes import score_body_v3
from hone.traces.selectors.scores import scores_of_runs

_RUN_GROUPS: Final = ("core", "metadata", "scores")
_ITEM_GROUPS: Final = (
    "core",
    "dataset",
    "io",
    "metadata",
    "itemMetadata",
    "experimentMetadata",
    "scores",
)
MAX_LIMIT: Final = 100


def _groups(params: QueryDict, known: Collection[str]) -> list[str]:
    groups = comma_list(params, "fields")
    if unknown := sorted(set(groups) - set(known)):
        raise InvalidError(f"fields: got {unknown[0]!r}, want {', '.join(known)}", field="fields")
    return groups


def _window(params: QueryDict) -> tuple[datetime, datetime | None]:
    start = moment_of(params, "fromStartTime")
    if start is None:
        raise InvalidError("fromStartTime: wanted", field="fromStartTime")
    return start, moment_of(params, "toStartTime")


def _page(rows: Any, params: QueryDict) -> tuple[list[Any], str | None]:
    """Newest first, from the cursor on; the rows and where the next page begins."""
    limit = number_of(params, "limit", minimum=1, maximum=MAX_LIMIT) or 50
    if cursor := params.get("cursor"):
        moment, after = cursor_decode(cursor, [datetime, int])
        rows = rows.filter(started_at__lte=moment).exclude(started_at=moment, id__gte=after)
    page = list(rows.order_by("-started_at", "-id")[: limit + 1])
    if len(page) <= limit:
        return page, None
    latest = page[limit - 1]
    return page[:limit], cursor_encode([latest.started_at.isoformat(), latest.pk])


class PublicExperiments(PublicView):
    def get(self, request: Request) -> Response:
        params = request.query_params
        groups = _groups(params, _RUN_GROUPS)
        start, end = _window(params)
        rows = runs(
            self.project.pk,
            keys=comma_list(params, "id"),
            names=comma_list(params, "name"),
            dataset_keys=comma_list(params, "datasetId"),
            start=start,
            end=end,
        )
        page, following = _page(rows, params)
        data = [experiment_body(row, row.item_count, groups) for row in page]
        if "scores" in groups:
            most = number_of(params, "scoreLimit", minimum=1, maximum=1000) or 100
            found = scores_of_runs(self.project.pk, [row.key for row in page])
            for body in data:
                scores = found[body["id"]][:most]
                body["scores"] = [
                    score_body_v3(s, self.project.slug, ("details", "subject"), {}) for s in scores
                ]
        return Response(cursor_body(data, following))


class PublicExperimentItems(PublicView):
    def get(self, request: Request) -> Response:
        params = request.query_params
        groups = _groups(params, _ITEM_GROUPS)
        start, end = _window(params)
        rows = run_items(
            self.project.pk,
            run_keys=comma_list(params, "experimentId"),
            run_names=comma_list(params, "experimentName"),
            item_keys=comma_list(params, "experimentItemId"),
            dataset_keys=comma_list(params, "datasetId"),
            start=start,
            end=end,
        )
        page, following = _page(rows, params)
        found = executions_of(self.project.pk, page, with_scores="scores" in groups)
        names = names_for(self.project.pk, page)
        data = [execution_body(one, self.project.slug, groups, names) for one in found]
        return Response(cursor_body(data, following))
