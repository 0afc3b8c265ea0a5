"""What columns of filters mean: for observations (`o`, with their trace `t`) and traces (`t`)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hone.common.conditions import Column
from hone.traces.core.ids import TRACE_SCOPE, span_key, trace_key
from hone.traces.selectors.rows import DEFAULT_ENVIRONMENT

# The id of the observation that stands for a trace (core.ids.root_key).
_ROOT_KEY: Final = (
    "substring(sha256(convert_to('trace ' || encode(o.trace_id, 'hex'), 'UTF8')) FROM 1 FOR 8)"
)
IS_ROOT: Final = (
    f"(o.parent_span_id IS NULL OR o.parent_span_id = {_ROOT_KEY}"
    " OR coalesce(o.attributes LIKE '%%\"langfuse.internal.as_root\":true%%', FALSE)"
    " OR coalesce(o.attributes LIKE '%%\"langfuse.internal.is_app_root\":true%%', FALSE))"
)
IS_SENT: Final = f"o.scope IS DISTINCT FROM '{TRACE_SCOPE}'"  # it does not stand for a trace
_SECONDS: Final = "extract(epoch FROM o.end_time - o.start_time)"


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _of_text(read: Callable[[str], str]) -> Callable[[Any], Any]:
    return lambda value: read(value) if isinstance(value, str) else value


_TRACE_ID: Final = Column("encode(t.trace_id, 'hex')", read=_of_text(trace_key))
OBSERVATION_COLUMNS: Final[Mapping[str, Column]] = {
    "id": Column("encode(o.span_id, 'hex')", read=_of_text(span_key)),
    "traceId": _TRACE_ID,
    "parentObservationId": Column("encode(o.parent_span_id, 'hex')", read=_of_text(span_key)),
    "type": Column("o.type", read=_lower),
    "name": Column("o.name", term="name"),
    "startTime": Column("o.start_time", "time"),
    "endTime": Column("o.end_time", "time"),
    "environment": Column(f"coalesce(o.environment, t.environment, '{DEFAULT_ENVIRONMENT}')"),
    "level": Column("o.level"),
    "statusMessage": Column("o.status_message"),
    "version": Column("coalesce(o.version, t.version)", term="version"),
    "release": Column("coalesce(o.release, t.release)", term="release"),
    "userId": Column("coalesce(o.user_id, t.user_id)", term="user"),
    "sessionId": Column("coalesce(o.session_id, t.session_id)", term="session"),
    "traceName": Column("t.name", term="name"),
    "tags": Column("t.tags", "array"),
    "traceTags": Column("t.tags", "array"),
    "isRootObservation": Column(IS_ROOT, "flag"),
    "hasParent": Column(f"coalesce(o.parent_span_id <> {_ROOT_KEY}, FALSE)", "flag"),
    "latency": Column(_SECONDS, "number"),
    "timeToFirstToken": Column("extract(epoch FROM o.first_token_at - o.start_time)", "number"),
    "tokensPerSecond": Column(f"o.output_tokens / nullif({_SECONDS}, 0)", "number"),
    "inputTokens": Column("o.input_tokens", "number"),
    "outputTokens": Column("o.output_tokens", "number"),
    "totalTokens": Column("o.total_tokens", "number"),
    "tokens": Column("o.total_tokens", "number"),
    "inputCost": Column("(o.cost_details::json ->> 'input')::numeric", "number"),
    "outputCost": Column("(o.cost_details::json ->> 'output')::numeric", "number"),
    "totalCost": Column("o.cost", "number"),
    "model": Column("o.model", term="model"),
    "providedModelName": Column("o.model", term="model"),
    "promptName": Column("o.prompt_name"),
    "promptVersion": Column(
        "CASE WHEN o.prompt_version ~ '^[0-9]{1,9}$' THEN o.prompt_version::int END", "number"
    ),
    "input": Column("o.input", term="*"),
    "output": Column("o.output", term="*"),
    "metadata": Column("o.metadata", "json"),
}
TRACE_COLUMNS: Final[Mapping[str, Column]] = {
    "id": _TRACE_ID,
    "name": Column("t.name"),
    "timestamp": Column("t.started_at", "time"),
    "startTime": Column("t.started_at", "time"),
    "userId": Column("t.user_id"),
    "sessionId": Column("t.session_id"),
    "environment": Column(f"coalesce(t.environment, '{DEFAULT_ENVIRONMENT}')"),
    "version": Column("t.version"),
    "release": Column("t.release"),
    "tags": Column("t.tags", "array"),
    "latency": Column("extract(epoch FROM t.ended_at - t.started_at)", "number"),
    "inputTokens": Column("t.input_tokens", "number"),
    "outputTokens": Column("t.output_tokens", "number"),
    "totalTokens": Column("t.total_tokens", "number"),
    "totalCost": Column("t.cost", "number"),
    "errorCount": Column("t.error_count", "number"),
}
