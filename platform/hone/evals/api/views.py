"""Datasets, their items, their runs, and runs side by side."""

from datetime import datetime
from typing import Final

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.common.errors import InvalidError, NotFoundError
from hone.common.paging import Page, paginate
from hone.common.schema import page_of, read
from hone.evals.api import bodies
from hone.evals.api.encode import compared_row, dataset_row, item_row, run_row
from hone.evals.models import Dataset, DatasetItem
from hone.evals.selectors.comparison import rows_compared, summaries
from hone.evals.selectors.datasets import counts, dataset_get, datasets, item_get, items
from hone.evals.selectors.runs import run_get, runs
from hone.evals.services.datasets import dataset_create, dataset_delete, dataset_update
from hone.evals.services.items import item_delete, item_upsert
from hone.evals.services.runs import run_delete
from hone.traces.api.params import PAGE_PARAMETERS

MOST_RUNS: Final = 6  # side by side
RUNS_PAGE: Final = 50
_NEWEST_ITEMS: Final = {"-created_at": datetime, "-id": int}


def _text(request: Request, name: str) -> str:
    value = request.query_params.get(name, "")
    if "\x00" in value:
        raise InvalidError(f"{name}: holds a NUL character", field=name)
    return value


class DatasetView(ProjectView):
    """What the endpoints of datasets share."""

    @property
    def project_id(self) -> int:
        return self.access.project.pk

    def dataset(self, key: str) -> Dataset:
        return dataset_get(self.project_id, key)

    def full(self, dataset: Dataset) -> dict[str, object]:
        return dataset_row(dataset, counts(self.project_id, [dataset.key])[dataset.key])


class Datasets(DatasetView):
    @extend_schema(
        parameters=[OpenApiParameter("q", str), OpenApiParameter("folder", str), *PAGE_PARAMETERS],
        responses=page_of(bodies.DatasetBody),
    )
    def get(self, request: Request, project: str) -> Response:
        rows = datasets(self.project_id, q=_text(request, "q"), folder=_text(request, "folder"))
        page = paginate(rows, request.query_params, {"name": str})
        counted = counts(self.project_id, [row.key for row in page.rows])
        return Response(page.body(lambda row: dataset_row(row, counted[row.key])))

    @extend_schema(request=bodies.DatasetCreate, responses={201: bodies.DatasetBody})
    def post(self, request: Request, project: str) -> Response:
        fields = read(bodies.DatasetCreate, request)
        dataset = dataset_create(project=self.access.project, **fields)
        return Response(self.full(dataset), status=201)


class DatasetDetail(DatasetView):
    @extend_schema(responses=bodies.DatasetBody)
    def get(self, request: Request, project: str, dataset: str) -> Response:
        return Response(self.full(self.dataset(dataset)))

    @extend_schema(request=bodies.DatasetUpdate, responses=bodies.DatasetBody)
    def patch(self, request: Request, project: str, dataset: str) -> Response:
        fields = read(bodies.DatasetUpdate, request)
        changed = dataset_update(project_id=self.project_id, key=dataset, **fields)
        return Response(self.full(changed))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, dataset: str) -> Response:
        dataset_delete(project_id=self.project_id, key=dataset)
        return Response(status=204)


class Items(DatasetView):
    @extend_schema(
        parameters=[
            OpenApiParameter("q", str, description="Text in an input or expectation, or an id"),
            OpenApiParameter("status", str, enum=bodies.STATUSES),
            *PAGE_PARAMETERS,
        ],
        responses=page_of(bodies.DatasetItemBody),
    )
    def get(self, request: Request, project: str, dataset: str) -> Response:
        rows = items(
            self.project_id,
            dataset=self.dataset(dataset),
            status=_text(request, "status"),
            q=_text(request, "q"),
        )
        return Response(paginate(rows, request.query_params, _NEWEST_ITEMS).body(item_row))

    @extend_schema(request=bodies.DatasetItemCreate, responses={201: bodies.DatasetItemBody})
    def post(self, request: Request, project: str, dataset: str) -> Response:
        fields = read(bodies.DatasetItemCreate, request)
        key = fields.pop("id", None)
        item = item_upsert(dataset=self.dataset(dataset), key=key, **fields)
        return Response(item_row(item), status=201)


class ItemDetail(DatasetView):
    def item(self, dataset: str, key: str) -> DatasetItem:
        found = item_get(self.project_id, key)
        if found.dataset.key != dataset:
            raise NotFoundError(f"There is no dataset item {key!r}")
        return found

    @extend_schema(responses=bodies.DatasetItemBody)
    def get(self, request: Request, project: str, dataset: str, item: str) -> Response:
        return Response(item_row(self.item(dataset, item)))

    @extend_schema(request=bodies.DatasetItemUpdate, responses=bodies.DatasetItemBody)
    def patch(self, request: Request, project: str, dataset: str, item: str) -> Response:
        fields = read(bodies.DatasetItemUpdate, request)
        found = self.item(dataset, item)
        return Response(item_row(item_upsert(dataset=found.dataset, key=found.key, **fields)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, dataset: str, item: str) -> Response:
        item_delete(project_id=self.project_id, key=self.item(dataset, item).key)
        return Response(status=204)


class Runs(DatasetView):
    @extend_schema(parameters=PAGE_PARAMETERS, responses=page_of(bodies.DatasetRunBody))
    def get(self, request: Request, project: str, dataset: str) -> Response:
        rows = runs(self.project_id, dataset_keys=[self.dataset(dataset).key])
        params = request.query_params.copy()
        params.setdefault("limit", str(RUNS_PAGE))
        page = paginate(rows, params, {"-started_at": datetime, "-id": int})
        found = summaries(self.project_id, page.rows)
        body = Page(page.rows, page.next_cursor).body(lambda row: row)
        return Response({**body, "data": [run_row(summary) for summary in found]})


class RunDetail(DatasetView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, dataset: str, run: str) -> Response:
        found = run_get(self.project_id, run)
        if found.dataset_key != self.dataset(dataset).key:
            raise NotFoundError(f"There is no run {run!r}")
        run_delete(project_id=self.project_id, key=run)
        return Response(status=204)


class Comparison(DatasetView):
    """Items with their executions in the runs `?runs=a,b`, which belong to the dataset."""

    @extend_schema(
        parameters=[
            OpenApiParameter("runs", str, required=True, description="Up to 6 ids, with commas"),
            *PAGE_PARAMETERS,
        ],
        responses=page_of(bodies.ComparedItemBody),
    )
    def get(self, request: Request, project: str, dataset: str) -> Response:
        keys = [key for key in _text(request, "runs").split(",") if key]
        if not 1 <= len(keys) <= MOST_RUNS:
            raise InvalidError(f"runs: got {len(keys)}, want 1 to {MOST_RUNS}", field="runs")
        found = self.dataset(dataset)
        known = {run.key: run for run in runs(self.project_id, keys=keys)}
        if missing := [k for k in keys if k not in known or known[k].dataset_key != found.key]:
            raise NotFoundError(f"There is no run {missing[0]!r}", field="runs")
        rows = items(self.project_id, dataset=found)
        page = paginate(rows, request.query_params, _NEWEST_ITEMS)
        compared = rows_compared(self.project_id, page.rows, [known[key] for key in keys])
        data = [compared_row(row) for row in compared]
        return Response({"data": data, "next_cursor": page.next_cursor})
