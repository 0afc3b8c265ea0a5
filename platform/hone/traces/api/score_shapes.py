"""Scores in the shapes of the public API: v1 and v2 by one table, v3 by another."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from hone.common.public import stamp
from hone.traces.models import Score, ScoreConfig

_TRUTH: Final = [{"label": "True", "value": 1}, {"label": "False", "value": 0}]
Names = Mapping[str, str]  # our id to the one that the client gave


def score_body(score: Score, names: Names) -> dict[str, Any]:
    """As v1 and v2 have it: numbers in `value`, texts in `stringValue`."""
    body: dict[str, Any] = {
        "id": score.key,
        "traceId": names.get(score.trace_id, score.trace_id) or None,
        "observationId": names.get(score.observation_id, score.observation_id) or None,
        "sessionId": score.session_id or None,
        "datasetRunId": score.run_id or None,
        "name": score.name,
        "source": score.source,
        "dataType": score.type,
        "value": score.number if score.number is not None else 0,
        "comment": score.comment or None,
        "metadata": score.metadata if isinstance(score.metadata, dict) else {},
        "configId": score.config.key if score.config else None,
        "queueId": score.queue_id or None,
        "authorUserId": str(score.author_id) if score.author_id else None,
        "environment": score.environment,
        "timestamp": stamp(score.timestamp),
        "createdAt": stamp(score.created_at),
        "updatedAt": stamp(score.updated_at),
    }
    if score.type == "BOOLEAN":
        body["stringValue"] = "True" if score.number else "False"
    elif score.type != "NUMERIC":
        body["stringValue"] = score.text
    return body


def score_value_of(score: Score) -> float | bool | str:
    """The value as its type says."""
    if score.type == "BOOLEAN":
        return bool(score.number)
    return score.number or 0.0 if score.type == "NUMERIC" else score.text


def score_body_v3(
    score: Score, project: str, groups: Collection[str], names: Names
) -> dict[str, Any]:
    """As v3 has it; `groups` names which of details, subject and annotation are wanted."""
    body: dict[str, Any] = {
        "id": score.key,
        "projectId": project,
        "name": score.name,
        "dataType": score.type,
        "value": score_value_of(score),
        "source": score.source,
        "timestamp": stamp(score.timestamp),
        "environment": score.environment,
        "createdAt": stamp(score.created_at),
        "updatedAt": stamp(score.updated_at),
    }
    if "details" in groups:
        body["comment"] = score.comment or None
        body["configId"] = score.config.key if score.config else None
        body["metadata"] = score.metadata if isinstance(score.metadata, dict) else {}
    if "subject" in groups:
        body["subject"] = _subject(score, names)
    if "annotation" in groups:
        body["authorUserId"] = str(score.author_id) if score.author_id else None
        body["queueId"] = score.queue_id or None
    return body


def _subject(score: Score, names: Names) -> dict[str, Any]:
    if score.run_id:
        return {"kind": "experiment", "id": score.run_id}
    if score.session_id:
        return {"kind": "session", "id": score.session_id}
    trace_id = names.get(score.trace_id, score.trace_id)
    if score.observation_id:
        identity = names.get(score.observation_id, score.observation_id)
        return {"kind": "observation", "id": identity, "traceId": trace_id}
    return {"kind": "trace", "id": trace_id}


def config_body(config: ScoreConfig, project: str) -> dict[str, Any]:
    return {
        "id": config.key,
        "projectId": project,
        "name": config.name,
        "dataType": config.type,
        "description": config.description or None,
        "minValue": config.min_value,
        "maxValue": config.max_value,
        "categories": _TRUTH if config.type == "BOOLEAN" else config.categories,
        "isArchived": config.is_archived,
        "createdAt": stamp(config.created_at),
        "updatedAt": stamp(config.updated_at),
    }
