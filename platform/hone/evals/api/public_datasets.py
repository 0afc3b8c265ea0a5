"""Datasets and their items in the public API."""

from typing import Any, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.public import moment_of, page_body, page_query
from hone.common.schema import read
from hone.evals.api.lookup import dataset_called
from hone.evals.api.public_shapes import dataset_body, item_bodies
from hone.evals.selectors.datasets import datasets, item_get, items
from hone.evals.services.datasets import dataset_upsert
from hone.evals.services.items import item_delete, item_upsert
from hone.traces.core.ids import span_key, trace_key

_ITEM_FIELDS: Final = {
    "input": "input",
    "expectedOutput": "expected_output",
    "metadata": "metadata",
    "status": "status",
    "sourceTraceId": "source_trace_id",
    "sourceObservationId": "source_observation_id",
}
_DATASET_FIELDS: Final = {
    "description": "description",
    "metadata": "metadata",
    "inputSchema": "input_schema",
    "expectedOutputSchema": "output_schema",
}


class DatasetCreate(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=255, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    metadata = serializers.JSONField(required=False, allow_null=True)
    inputSchema = serializers.JSONField(required=False, allow_null=True)
    expectedOutputSchema = serializers.JSONField(required=False, allow_null=True)


class ItemCreate(serializers.Serializer[Any]):
    datasetName = serializers.CharField(max_length=255, trim_whitespace=False)
    id = serializers.CharField(required=False, allow_null=True, trim_whitespace=False)
    input = serializers.JSONField(required=False, allow_null=True)
    expectedOutput = serializers.JSONField(required=False, allow_null=True)
    metadata = serializers.JSONField(required=False, allow_null=True)
    status = serializers.CharField(required=False, allow_null=True)
    sourceTraceId = serializers.CharField(required=False, allow_null=True, max_length=800)
    sourceObservationId = serializers.CharField(required=False, allow_null=True, max_length=800)


def given(fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """What a client said; a null says nothing, as SDKs send one for whatever is left out."""
    return {names[n]: value for n, value in fields.items() if n in names and value is not None}


class PublicDatasets(PublicView):
    def get(self, request: Request) -> Response:
        query = page_query(request.query_params)
        rows = datasets(self.project.pk).order_by("-created_at", "-id")
        page = rows[query.offset : query.offset + query.limit]
        data = [dataset_body(row, self.project.slug) for row in page]
        return Response(page_body(data, query, rows.count()))

    def post(self, request: Request) -> Response:
        fields = read(DatasetCreate, request)
        named = given(fields, _DATASET_FIELDS)
        dataset = dataset_upsert(project=self.project, name=fields["name"], **named)
        return Response(dataset_body(dataset, self.project.slug))


class PublicDataset(PublicView):
    def get(self, request: Request, name: str) -> Response:
        return Response(dataset_body(dataset_called(self.project.pk, name), self.project.slug))


class PublicItems(PublicView):
    def get(self, request: Request) -> Response:
        params = request.query_params
        query = page_query(params)
        name = params.get("datasetName")
        trace_id, observation = params.get("sourceTraceId"), params.get("sourceObservationId")
        rows = items(
            self.project.pk,
            dataset=dataset_called(self.project.pk, name) if name else None,
            at=moment_of(params, "version"),
            source_trace_id=trace_key(trace_id) if trace_id else "",
            source_observation_id=span_key(observation) if observation else "",
        )
        ordered = rows.order_by("-created_at", "-id")
        page = list(ordered[query.offset : query.offset + query.limit])
        return Response(page_body(item_bodies(request, self.project.pk, page), query, rows.count()))

    def post(self, request: Request) -> Response:
        fields = read(ItemCreate, request)
        dataset = dataset_called(self.project.pk, fields["datasetName"])
        item = item_upsert(dataset=dataset, key=fields.get("id"), **given(fields, _ITEM_FIELDS))
        return Response(item_bodies(request, self.project.pk, [item])[0])


class PublicItem(PublicView):
    def get(self, request: Request, item: str) -> Response:
        found = item_get(self.project.pk, item)
        return Response(item_bodies(request, self.project.pk, [found])[0])

    def delete(self, request: Request, item: str) -> Response:
        item_delete(project_id=self.project.pk, key=item)
        return Response({"message": "Dataset item successfully deleted"})
