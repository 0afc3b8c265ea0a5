"""Observations and traces in the shapes that every generation of clients enforces."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from hone.common.public import stamp
from hone.traces.api.public.names import Names
from hone.traces.api.public.values import (
    amounts_read,
    counts_read,
    json_read,
    mapping_read,
    metadata_read,
)
from hone.traces.core.legacy.spans import PUBLIC, UNFINISHED
from hone.traces.selectors.public import PublicObservation, PublicTrace
from hone.traces.selectors.public.traces import Payloads
from hone.traces.selectors.rows import prompt_version

GROUPS: Final = (
    *("core", "basic", "time", "io", "metadata", "model", "usage", "prompt", "metrics"),
    "trace_context",
)
CUT: Final = 200  # characters of a metadata value, unless it is asked for whole


def seconds_between(start: datetime, end: datetime | None) -> float | None:
    """The time in seconds, to the millisecond."""
    return None if end is None else round((end - start).total_seconds(), 3)


def ended_at(observation: PublicObservation) -> datetime | None:
    """When it ended; a moment's event never does, nor what nobody ended."""
    is_open = observation.type == "event" or UNFINISHED in (observation.attributes or "")
    return None if is_open else observation.ended_at


def observation_body(observation: PublicObservation, names: Names) -> dict[str, Any]:
    """As v1 has it, with payloads as values."""
    o, end = observation, ended_at(observation)
    counts, amounts = counts_read(o.usage), amounts_read(o.cost_details)
    version = prompt_version(o.prompt_version)
    return {
        "id": names.get(o.id, o.id),
        "traceId": names.get(o.trace_id, o.trace_id),
        "parentObservationId": o.parent_id and names.get(o.parent_id, o.parent_id),
        "type": o.type.upper(),
        "name": o.name,
        "startTime": stamp(o.started_at),
        "endTime": stamp(end),
        "completionStartTime": stamp(o.first_token_at),
        "level": o.level,
        "statusMessage": o.status_message,
        "environment": o.environment,
        "version": o.version,
        "input": json_read(o.input),
        "output": json_read(o.output),
        "metadata": metadata_read(o.metadata),
        "model": o.model,
        "modelId": None,
        "modelParameters": mapping_read(o.model_parameters),
        "usage": _usage(counts, amounts),
        "usageDetails": counts,
        "costDetails": amounts,
        "promptId": None,
        "promptName": o.prompt_name,
        "promptVersion": version if isinstance(version, int) else None,
        "inputPrice": None,
        "outputPrice": None,
        "totalPrice": None,
        "calculatedInputCost": amounts.get("input"),
        "calculatedOutputCost": amounts.get("output"),
        "calculatedTotalCost": amounts.get("total"),
        "latency": seconds_between(o.started_at, end),
        "timeToFirstToken": seconds_between(o.started_at, o.first_token_at),
        "createdAt": stamp(o.started_at),
        "updatedAt": stamp(o.ended_at),
    }


def _usage(counts: dict[str, int], amounts: dict[str, float]) -> dict[str, Any]:
    """The older summary: sides with all their parts."""
    sides = {
        side: sum(count for part, count in counts.items() if part.startswith(side))
        for side in ("input", "output")
    }
    return {
        **sides,
        "total": counts.get("total", sum(sides.values())),
        "unit": "TOKENS",
        "inputCost": amounts.get("input"),
        "outputCost": amounts.get("output"),
        "totalCost": amounts.get("total"),
    }


def observation_body_v2(
    observation: PublicObservation,
    project: str,
    names: Names,
    groups: Sequence[str],
    whole: Sequence[str],
) -> dict[str, Any]:
    """As v2 has it: only the groups of fields asked for; `whole` names metadata not to be cut."""
    o = observation
    body = {
        "id": names.get(o.id, o.id),
        "traceId": names.get(o.trace_id, o.trace_id),
        "startTime": stamp(o.started_at),
        "endTime": stamp(ended_at(o)),
        "projectId": project,
        "parentObservationId": o.parent_id and names.get(o.parent_id, o.parent_id),
        "type": o.type.upper(),
    }
    for group in groups:
        body |= _group(group, o, whole)
    return body


def _group(group: str, o: PublicObservation, whole: Sequence[str]) -> dict[str, Any]:
    if group == "basic":
        return {
            "name": o.name,
            "level": o.level,
            "statusMessage": o.status_message,
            "version": o.version,
            "environment": o.environment,
            "bookmarked": False,
            "public": PUBLIC in (o.attributes or "")
            and mapping_read(o.attributes).get(PUBLIC) in (True, "true"),
            "userId": o.user_id,
            "sessionId": o.session_id,
            "isRootObservation": o.is_root,
        }
    if group == "time":
        return {
            "completionStartTime": stamp(o.first_token_at),
            "createdAt": stamp(o.started_at),
            "updatedAt": stamp(o.ended_at),
        }
    if group == "io":
        return {"input": o.input, "output": o.output}
    if group == "metadata":
        return {"metadata": _metadata(o.metadata, whole)}
    return _figures(group, o)


def _figures(group: str, o: PublicObservation) -> dict[str, Any]:
    if group == "model":
        return {
            "model": o.model,
            "providedModelName": o.model,
            "internalModelId": None,
            "modelParameters": mapping_read(o.model_parameters),
            "modelId": None,
            "inputPrice": None,
            "outputPrice": None,
            "totalPrice": None,
        }
    if group == "usage":
        return {
            "usageDetails": counts_read(o.usage),
            "costDetails": amounts_read(o.cost_details),
            "totalCost": None if o.cost is None else float(o.cost),
            "usagePricingTierName": None,
        }
    if group == "prompt":
        version = prompt_version(o.prompt_version)
        return {
            "promptId": None,
            "promptName": o.prompt_name,
            "promptVersion": version if isinstance(version, int) else None,
        }
    if group == "metrics":
        return {
            "latency": seconds_between(o.started_at, ended_at(o)),
            "timeToFirstToken": seconds_between(o.started_at, o.first_token_at),
        }
    if group == "trace_context":
        return {"tags": o.tags, "release": o.release, "traceName": o.trace_name}
    return {}


def _metadata(text: str | None, whole: Sequence[str]) -> dict[str, Any]:
    return {
        key: value[:CUT] if isinstance(value, str) and key not in whole else value
        for key, value in metadata_read(text).items()
    }


def trace_body(trace: PublicTrace, payloads: Payloads | None, names: Names) -> dict[str, Any]:
    """A trace without its observations; without `payloads` where nobody asked for them."""
    given = payloads or Payloads()
    metadata = metadata_read(given.metadata)
    return {
        "id": names.get(trace.id, trace.id),
        "timestamp": stamp(trace.started_at),
        "name": trace.name,
        "input": json_read(given.input),
        "output": json_read(given.output),
        "metadata": metadata,
        "sessionId": trace.session_id,
        "userId": trace.user_id,
        "release": trace.release,
        "version": trace.version,
        "environment": trace.environment,
        "tags": trace.tags,
        "public": mapping_read(given.attributes).get(PUBLIC) in (True, "true"),
        "bookmarked": False,
        "externalId": None,
        "createdAt": stamp(trace.started_at),
        "updatedAt": stamp(trace.ended_at),
    }


def trace_path(project: str, trace_id: str) -> str:
    """Where a person sees the trace."""
    return f"/project/{project}/traces/{trace_id}"
