"""A finished call as spans: gateway > generation > queue, prefill, decode."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hone.gateway.core.request import Annotations
from hone.prompts.core.split import Assignment
from hone.traces.core.echo import CALLER
from hone.traces.core.span import Span
from hone.traces.core.text import payload_text

SCOPE = "hone.gateway"
FREE: Mapping[str, Decimal] = {"input": Decimal(0), "output": Decimal(0), "total": Decimal(0)}
PHASES = (
    ("queue", "queued_at", "started_at"),
    ("prefill", "started_at", "first_token_at"),
    ("decode", "first_token_at", "finished_at"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """Everything the trace of one call is made of; times in unix nanoseconds."""

    trace_id: str
    root_id: str
    parent_span_id: str | None = None
    name: str = "chat completion"
    start_ns: int
    end_ns: int
    model: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    input: object = None
    output: object = None
    usage: Mapping[str, Any] | None = None
    timings: Mapping[str, Any] | None = None
    first_token_ns: int | None = None
    finish_reason: str | None = None
    error: str | None = None
    aborted: bool = False
    connection: str | None = None
    is_local: bool = False
    reached_model: bool = True
    prompt: tuple[str, int] | None = None
    assignment: Assignment | None = None  # where the prompt's label is split
    annotations: Annotations = field(default_factory=Annotations)
    attributes: Mapping[str, object] = field(default_factory=dict)


def span_id(trace_id: str, root_id: str, name: str) -> str:
    """The id of a child span; the same call always gives the same one."""
    return hashlib.sha256(f"{trace_id}:{root_id}:{name}".encode()).hexdigest()[:16]


def usage_parts(usage: Mapping[str, Any] | None) -> dict[str, int] | None:
    """OpenAI's `usage` in disjoint parts: input without what was cached, output, total."""
    if not usage:
        return None
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    details = usage.get("prompt_tokens_details")
    cached = min(_count(details, "cached_tokens"), prompt) if isinstance(details, dict) else 0
    parts = {"input": prompt - cached, "output": completion, "total": prompt + completion}
    return parts | ({"input_cached_tokens": cached} if cached else {})


def _count(values: Mapping[str, Any], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def spans_of(record: CallRecord) -> list[Span]:
    """The spans of one call, root first."""
    root = _root(record)
    if not record.reached_model:
        return [root]
    generation = _generation(record)
    return [root, generation, *_phases(record, generation)]


def _root(record: CallRecord) -> Span:
    notes = record.annotations
    attributes = {"finish_reason": record.finish_reason, "aborted": record.aborted or None}
    attributes |= _assigned(record)
    known = {name: value for name, value in attributes.items() if value is not None}
    return Span(
        trace_id=record.trace_id,
        span_id=record.root_id,
        parent_span_id=record.parent_span_id,
        name=record.name,
        start_ns=record.start_ns,
        end_ns=record.end_ns,
        input=payload_text(record.input),
        output=payload_text(record.output),
        metadata=dict(notes.metadata),
        attributes={**record.attributes, **known},
        session_id=notes.session_id,
        user_id=notes.user_id,
        environment=notes.environment,
        tags=notes.tags,
        trace_name=notes.trace_name,
        scope=SCOPE,
        **_outcome(record),
    )


def _generation(record: CallRecord) -> Span:
    return Span(
        trace_id=record.trace_id,
        span_id=span_id(record.trace_id, record.root_id, "generation"),
        parent_span_id=record.root_id,
        name="generation",
        type="generation",
        start_ns=record.start_ns,
        end_ns=record.end_ns,
        model=record.model,
        model_parameters=record.parameters,
        input=payload_text(record.input),
        output=payload_text(record.output),
        attributes=_call_attributes(record),
        usage=usage_parts(record.usage),
        cost=FREE if record.is_local else None,
        first_token_ns=_first_token_ns(record),
        prompt_name=record.prompt[0] if record.prompt else None,
        prompt_version=record.prompt[1] if record.prompt else None,
        session_id=record.annotations.session_id,
        user_id=record.annotations.user_id,
        environment=record.annotations.environment,
        scope=SCOPE,
        **_outcome(record),
    )


def _call_attributes(record: CallRecord) -> dict[str, object]:
    # With the client's span named, the call counts once whether the client tells of it or not.
    named = {"connection": record.connection, CALLER: record.parent_span_id}
    return {name: value for name, value in named.items() if value} | _assigned(record)


def _assigned(record: CallRecord) -> dict[str, Any]:
    """Which version of a split label this call got, and by what."""
    found = record.assignment
    if found is None:
        return {}
    return {
        "prompt.split.label": found.label,
        "prompt.split.version": found.version,
        "prompt.split.by": found.by or "nobody",
        "prompt.split.arms": found.spelled,
    }


def _outcome(record: CallRecord) -> dict[str, Any]:
    if record.error is not None:
        return {"status": "error", "level": "ERROR", "status_message": record.error}
    if record.aborted:
        text = "The client hung up before the answer was complete"
        return {"status": "ok", "level": "WARNING", "status_message": text}
    return {"status": "ok"}


def _first_token_ns(record: CallRecord) -> int | None:
    found = record.first_token_ns or _nanoseconds(record.timings, "first_token_at")
    return None if found is None else _within(found, record.start_ns, record.end_ns)


def _phases(record: CallRecord, generation: Span) -> list[Span]:
    spans = []
    low = record.start_ns
    for name, begin, end in PHASES:
        start, stop = _nanoseconds(record.timings, begin), _nanoseconds(record.timings, end)
        if start is None or stop is None:
            continue
        # Two clocks meet here, the engine's and ours: a child never leaves its parent.
        start = _within(start, low, record.end_ns)
        stop = low = _within(stop, start, record.end_ns)
        spans.append(
            Span(
                trace_id=record.trace_id,
                span_id=span_id(record.trace_id, record.root_id, name),
                parent_span_id=generation.span_id,
                name=name,
                start_ns=start,
                end_ns=stop,
                attributes=_phase_attributes(name, record),
                environment=record.annotations.environment,
                status="ok",
                scope=SCOPE,
            )
        )
    return spans


def _phase_attributes(name: str, record: CallRecord) -> dict[str, object]:
    timings = record.timings or {}
    wanted = {
        "queue": (),
        "prefill": ("cached_tokens", "prompt_tokens_per_second"),
        "decode": ("tokens_per_second",),
    }[name]
    return {key: timings[key] for key in wanted if timings.get(key) is not None}


def _nanoseconds(timings: Mapping[str, Any] | None, name: str) -> int | None:
    value = (timings or {}).get(name)
    return int(value * 1e9) if isinstance(value, int | float) and value > 0 else None


def _within(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))
