"""Datasets, items, runs and experiments in the shapes of the public API."""

from collections.abc import Collection, Mapping
from typing import Any

from rest_framework.request import Request

from hone.common.public import stamp
from hone.evals.models import Dataset, DatasetItem, DatasetRun, DatasetRunItem
from hone.evals.selectors.executions import Execution
from hone.evals.services.items import PAYLOADS
from hone.traces.api.media_public import media_body
from hone.traces.api.score_shapes import score_body_v3
from hone.traces.core.media import tokens_in
from hone.traces.core.text import payload_text
from hone.traces.models import Media
from hone.traces.selectors.external_ids import external_ids
from hone.traces.selectors.media import media_known

Names = Mapping[str, str]


def dataset_body(dataset: Dataset, project: str) -> dict[str, Any]:
    return {
        "id": dataset.key,
        "projectId": project,
        "name": dataset.name,
        "description": dataset.description or None,
        "metadata": dataset.metadata,
        "inputSchema": dataset.input_schema,
        "expectedOutputSchema": dataset.output_schema,
        "createdAt": stamp(dataset.created_at),
        "updatedAt": stamp(dataset.updated_at),
    }


def item_bodies(
    request: Request, project_id: int, items: list[DatasetItem]
) -> list[dict[str, Any]]:
    """The items, with the files that their payloads name."""
    tokens = {
        (item.key, said): tokens_in(getattr(item, field))
        for item in items
        for field, said in PAYLOADS.items()
    }
    keys = {token.key for found in tokens.values() for token in found}
    files = media_known(project_id, keys) if keys else {}
    ids = {i for item in items for i in (item.source_trace_id, item.source_observation_id) if i}
    names = external_ids(project_id, ids)
    bodies = []
    for item in items:
        references = [
            _reference(request, said, token, files[token.key])
            for said in PAYLOADS.values()
            for token in tokens[item.key, said]
            if token.key in files
        ]
        bodies.append({**_item(item, names), "mediaReferences": references})
    return bodies


def _reference(request: Request, said: str, token: Any, media: Media) -> dict[str, Any]:
    return {
        "field": said,
        "referenceString": token.text,
        "jsonPath": token.path,
        "media": media_body(request, media),
    }


def _item(item: DatasetItem, names: Names) -> dict[str, Any]:
    observation = item.source_observation_id
    return {
        "id": item.key,
        "status": item.status,
        "input": item.input,
        "expectedOutput": item.expected_output,
        "metadata": item.metadata,
        "sourceTraceId": names.get(item.source_trace_id, item.source_trace_id) or None,
        "sourceObservationId": names.get(observation, observation) or None,
        "datasetId": item.dataset.key,
        "datasetName": item.dataset.name,
        "version": stamp(item.valid_from),
        "createdAt": stamp(item.created_at),
        "updatedAt": stamp(item.valid_from),
    }


def run_body(run: DatasetRun, dataset: Dataset) -> dict[str, Any]:
    return {
        "id": run.key,
        "name": run.name,
        "description": run.description or None,
        "metadata": run.metadata,
        "datasetId": dataset.key,
        "datasetName": dataset.name,
        "createdAt": stamp(run.created_at),
        "updatedAt": stamp(run.updated_at),
    }


def run_item_body(item: DatasetRunItem, names: Names) -> dict[str, Any]:
    return {
        "id": item.key,
        "datasetRunId": item.run.key,
        "datasetRunName": item.run.name,
        "datasetItemId": item.item_key,
        "traceId": names.get(item.trace_id, item.trace_id),
        "observationId": names.get(item.observation_id, item.observation_id) or None,
        "createdAt": stamp(item.created_at),
        "updatedAt": stamp(item.updated_at),
    }


def experiment_body(run: DatasetRun, item_count: int, groups: Collection[str]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": run.key,
        "name": run.name,
        "description": run.description or None,
        "startTime": stamp(run.started_at),
        "endTime": stamp(run.ended_at),
        "itemCount": item_count,
        "datasetId": run.dataset_key or None,
    }
    if "metadata" in groups:
        body["metadata"] = _object(run.metadata)
    return body


def execution_body(
    found: Execution, project: str, groups: Collection[str], names: Names
) -> dict[str, Any]:
    """An experiment's item: one execution; `groups` names what beside the core is wanted."""
    row = found.row
    trace_id = names.get(row.trace_id, row.trace_id)
    body: dict[str, Any] = {
        "id": names.get(row.observation_id, row.observation_id) or trace_id,
        "traceId": trace_id,
        "startTime": stamp(found.started_at),
        "endTime": stamp(found.ended_at),
        "level": found.level,
        "environment": found.environment,
        "experimentId": row.run.key,
        "experimentName": row.run.name,
        "experimentItemId": row.item_key,
        "experimentDatasetId": row.run.dataset_key or None,
        "experimentItemVersion": stamp(row.item_version),
        "experimentDescription": row.run.description or None,
    }
    if "io" in groups:
        body["input"] = payload_text(found.input)
        body["output"] = payload_text(found.output)
        body["expectedOutput"] = found.expected_output
    if "metadata" in groups:
        body["metadata"] = found.metadata
    if "itemMetadata" in groups:
        body["experimentItemMetadata"] = _object(found.item_metadata)
    if "experimentMetadata" in groups:
        body["experimentMetadata"] = _object(row.run.metadata)
    if "scores" in groups:
        details = ("details", "subject")
        body["scores"] = [score_body_v3(score, project, details, names) for score in found.scores]
    return body


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {} if value is None else {"value": value}
