"""Dataset runs in the public API, told item by item."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.errors import InvalidError
from hone.common.public import page_body, page_query
from hone.common.schema import read
from hone.evals.api.lookup import dataset_called
from hone.evals.api.public_shapes import Names, run_body, run_item_body
from hone.evals.models import DatasetRunItem
from hone.evals.selectors.datasets import dataset_get
from hone.evals.selectors.runs import run_items, run_named, runs
from hone.evals.services.runs import run_delete, run_item_create
from hone.traces.selectors.external_ids import external_ids


class RunItemCreate(serializers.Serializer[Any]):
    runName = serializers.CharField(max_length=800, trim_whitespace=False)
    runDescription = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    metadata = serializers.JSONField(required=False, allow_null=True)
    datasetItemId = serializers.CharField(max_length=800, trim_whitespace=False)
    traceId = serializers.CharField(required=False, allow_null=True, max_length=800)
    observationId = serializers.CharField(required=False, allow_null=True, max_length=800)
    datasetVersion = serializers.DateTimeField(required=False, allow_null=True)
    createdAt = serializers.DateTimeField(required=False, allow_null=True)


def names_for(project_id: int, rows: Iterable[DatasetRunItem]) -> Names:
    """The ids that clients gave, for what these executions name."""
    return external_ids(project_id, {i for r in rows for i in (r.trace_id, r.observation_id) if i})


class PublicRunItems(PublicView):
    def get(self, request: Request) -> Response:
        params = request.query_params
        query = page_query(params)
        dataset, name = params.get("datasetId"), params.get("runName")
        if not dataset or not name:
            raise InvalidError("datasetId and runName: want both")
        run = run_named(self.project.pk, dataset_get(self.project.pk, dataset).key, name)
        rows = run_items(self.project.pk, run_keys=[run.key])
        page = list(rows.order_by("-id")[query.offset : query.offset + query.limit])
        names = names_for(self.project.pk, page)
        return Response(page_body([run_item_body(r, names) for r in page], query, rows.count()))

    def post(self, request: Request) -> Response:
        fields = read(RunItemCreate, request)
        made = run_item_create(
            project=self.project,
            run_name=fields["runName"],
            description=fields.get("runDescription"),
            metadata=fields.get("metadata"),
            item_key=fields["datasetItemId"],
            trace_id=fields.get("traceId"),
            observation_id=fields.get("observationId"),
            item_version=fields.get("datasetVersion"),
            created_at=fields.get("createdAt"),
        )
        return Response(run_item_body(made, names_for(self.project.pk, [made])))


class PublicRuns(PublicView):
    def get(self, request: Request, name: str) -> Response:
        query = page_query(request.query_params)
        dataset = dataset_called(self.project.pk, name)
        rows = runs(self.project.pk, dataset_keys=[dataset.key])
        page = rows.order_by("-id")[query.offset : query.offset + query.limit]
        return Response(page_body([run_body(row, dataset) for row in page], query, rows.count()))


class PublicRun(PublicView):
    def get(self, request: Request, name: str, run: str) -> Response:
        dataset = dataset_called(self.project.pk, name)
        found = run_named(self.project.pk, dataset.key, run)
        rows = list(run_items(self.project.pk, run_keys=[found.key]).order_by("id"))
        names = names_for(self.project.pk, rows)
        bodies = [run_item_body(row, names) for row in rows]
        return Response({**run_body(found, dataset), "datasetRunItems": bodies})

    def delete(self, request: Request, name: str, run: str) -> Response:
        dataset = dataset_called(self.project.pk, name)
        found = run_named(self.project.pk, dataset.key, run)
        run_delete(project_id=self.project.pk, key=found.key)
        return Response({"message": "Dataset run successfully deleted"})
