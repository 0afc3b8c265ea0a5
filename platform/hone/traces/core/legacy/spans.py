"""Folded entities as spans.

A trace that was sent by itself becomes an observation too, the root of those without a parent: it
carries the trace's own name, payloads and metadata. Public reads leave it out again.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from hone.traces.core.dialects.usage import cost_flat, usage_flat
from hone.traces.core.dialects.values import instant_ns, json_mapping, whole
from hone.traces.core.ids import TRACE_SCOPE, root_key, span_key, trace_key
from hone.traces.core.legacy.fold import State, metadata_merged, tags_of, value_of
from hone.traces.core.span import LEVELS, Span
from hone.traces.core.text import json_text, payload_text

SCOPE: Final = "langfuse"
PUBLIC: Final = "langfuse.trace.public"
UNFINISHED: Final = "langfuse.unfinished"  # no end was sent
_USAGE_COSTS: Final = {"inputCost": "input", "outputCost": "output", "totalCost": "total"}
_USAGE_PARTS: Final = {
    "input": "input",
    "output": "output",
    "total": "total",
    "promptTokens": "input",
    "completionTokens": "output",
    "totalTokens": "total",
}


def trace_span(trace_id: str, state: State) -> Span:
    """The observation that stands for a trace; it ends when the last one known does."""
    start_ns: int = instant_ns(value_of(state, "timestamp")) or value_of(state, "at")
    name = _text(state, "name") or ""
    return Span(
        trace_id=trace_id,
        span_id=root_key(trace_id),
        name=name,
        trace_name=name or None,
        start_ns=start_ns,
        end_ns=max(start_ns, value_of(state, "end") or 0),
        input=payload_text(value_of(state, "input")),
        output=payload_text(value_of(state, "output")),
        metadata=metadata_merged(state),
        attributes={PUBLIC: True} if value_of(state, "public") is True else {},
        user_id=_text(state, "userId"),
        session_id=_text(state, "sessionId"),
        release=_text(state, "release"),
        version=_text(state, "version"),
        environment=_text(state, "environment"),
        tags=tags_of(state),
        scope=TRACE_SCOPE,
    )


def observation_span(entity_id: str, state: State) -> Span:
    """An observation; one that names no trace makes a trace of its own."""
    trace_id = trace_key(_text(state, "traceId") or entity_id)
    start_ns: int = instant_ns(value_of(state, "startTime")) or value_of(state, "at")
    end_ns = instant_ns(value_of(state, "endTime"))
    parent = _text(state, "parentObservationId")
    level = (_text(state, "level") or "DEFAULT").upper()
    usage, cost = _counted(state)
    prompt_name = _text(state, "promptName")
    return Span(
        trace_id=trace_id,
        span_id=span_key(entity_id),
        parent_span_id=span_key(parent) if parent else root_key(trace_id),
        name=_text(state, "name") or "",
        type=_text(state, "type") or "span",
        start_ns=start_ns,
        end_ns=max(start_ns, end_ns or 0),
        level=level if level in LEVELS else "DEFAULT",
        status="error" if level == "ERROR" else "unset",
        status_message=_text(state, "statusMessage"),
        model=_text(state, "model"),
        model_parameters=json_mapping(value_of(state, "modelParameters")) or {},
        input=payload_text(value_of(state, "input")),
        output=payload_text(value_of(state, "output")),
        metadata=metadata_merged(state),
        attributes={UNFINISHED: True} if end_ns is None else {},
        usage=usage,
        cost=cost,
        first_token_ns=_first_token_ns(state, start_ns),
        prompt_name=prompt_name,
        prompt_version=whole(value_of(state, "promptVersion")) if prompt_name else None,
        environment=_text(state, "environment"),
        version=_text(state, "version"),
        scope=SCOPE,
    )


def _text(state: State, name: str) -> str | None:
    value = value_of(state, name)
    return value if value is None or isinstance(value, str) else json_text(value)


def _first_token_ns(state: State, start_ns: int) -> int | None:
    at = instant_ns(value_of(state, "completionStartTime"))
    return at if at is not None and at >= start_ns else None


def _counted(state: State) -> tuple[Mapping[str, int] | None, Mapping[str, Decimal] | None]:
    """Tokens and cost, from the detailed fields or from the older `usage`."""
    usage = json_mapping(value_of(state, "usage")) or {}
    details = json_mapping(value_of(state, "usageDetails")) or _renamed(usage)
    costs: dict[str, Any] | None = json_mapping(value_of(state, "costDetails"))
    if costs is None:
        costs = {part: usage[key] for key, part in _USAGE_COSTS.items() if usage.get(key)}
    return usage_flat(details) if details else None, cost_flat(costs) if costs else None


def _renamed(usage: Mapping[str, Any]) -> dict[str, Any]:
    """The older `usage` by the names of parts; one of another shape as it is."""
    if not usage.keys() & _USAGE_PARTS.keys():
        return dict(usage)
    return {part: usage[key] for key, part in _USAGE_PARTS.items() if usage.get(key) is not None}
