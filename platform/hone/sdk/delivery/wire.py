"""Finished spans as OTLP over HTTP in JSON.

JSON, because the standard library writes it in C: protobuf would bring five more packages.
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

import gzip
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from opentelemetry.sdk.trace import Event, ReadableSpan

PATH: Final = "/v1/traces"
HEADERS: Final = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
_INT64: Final = 2**63
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
Mask = Callable[[str], str]


def span_text(span: ReadableSpan, mask: Mask) -> str:
    """One span as JSON; every text of it has gone through `mask`."""
    context, parent = span.get_span_context(), span.parent
    assert context is not None
    found: dict[str, Any] = {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "name": mask(span.name),
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": _pairs(span.attributes or {}, mask),
        "status": {"code": span.status.status_code.value},
    }
    if parent is not None:
        found["parentSpanId"] = f"{parent.span_id:016x}"
    if context.trace_state:
        found["traceState"] = context.trace_state.to_header()
    if span.status.description:
        found["status"]["message"] = mask(span.status.description)
    if span.events:
        found["events"] = [_event(event, mask) for event in span.events]
    if span.links:
        found["links"] = [
            {
                "traceId": f"{link.context.trace_id:032x}",
                "spanId": f"{link.context.span_id:016x}",
                "attributes": _pairs(link.attributes or {}, mask),
            }
            for link in span.links
        ]
    if span.dropped_attributes:
        found["droppedAttributesCount"] = span.dropped_attributes
    return _encode(found)


def body_of(
    spans: Iterable[tuple[ReadableSpan, str]], extra: Mapping[str, int] | None = None
) -> bytes:
    """The gzipped export of encoded spans; `extra` goes to the attributes of each resource."""
    groups: dict[tuple[int, int], tuple[ReadableSpan, list[str]]] = {}
    for span, text in spans:
        key = (id(span.resource), id(span.instrumentation_scope))
        groups.setdefault(key, (span, []))[1].append(text)
    parts = ",".join(_resource_spans(span, texts, extra or {}) for span, texts in groups.values())
    # A lone surrogate is no character and would spoil the whole export.
    return gzip.compress(f'{{"resourceSpans":[{parts}]}}'.encode("utf-8", "replace"), 1)


def _resource_spans(span: ReadableSpan, texts: list[str], extra: Mapping[str, int]) -> str:
    resource = {"attributes": _pairs({**span.resource.attributes, **extra}, str)}
    scope: dict[str, Any] = {}
    if span.instrumentation_scope is not None:
        given = span.instrumentation_scope
        scope = {"name": given.name, "version": given.version or ""}
        scope["attributes"] = _pairs(given.attributes or {}, str)
    spans = ",".join(texts)
    return (
        f'{{"resource":{_encode(resource)},'
        f'"scopeSpans":[{{"scope":{_encode(scope)},"spans":[{spans}]}}]}}'
    )


def _event(event: Event, mask: Mask) -> dict[str, Any]:
    return {
        "name": event.name,
        "timeUnixNano": str(event.timestamp),
        "attributes": _pairs(event.attributes or {}, mask),
    }


def _pairs(attributes: Mapping[str, Any], mask: Mask) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value, mask)} for key, value in attributes.items()]


def _value(value: Any, mask: Mask) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": mask(value)}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        in_range = -_INT64 <= value < _INT64
        return {"intValue": str(value)} if in_range else {"stringValue": hex(value)}
    if isinstance(value, float):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return {"doubleValue": value if math.isfinite(value) else name}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": _pairs(value, mask)}}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return {"arrayValue": {"values": [_value(item, mask) for item in value]}}
    return {"stringValue": mask(str(value))}
