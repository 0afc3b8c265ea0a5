"""ExportTraceServiceRequest on the wire, walked into raw spans."""

from collections.abc import Iterable, Sequence
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Message

from hone.traces.core.otlp.raw import (
    MAX_NS,
    Decoded,
    Malformed,
    RawSpan,
    Scope,
    ids_check,
    times_settled,
)
from hone.traces.core.span import Event
from hone.traces.core.text import number_named

_NO_EVENTS: Final[Sequence[Event]] = ()


def decode_protobuf(body: bytes, now_ns: int) -> Decoded:
    """The spans of a serialized export.

    Raises Malformed when the bytes are no ExportTraceServiceRequest, or a span has a wrong id.
    """
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise Malformed(f"body is not an OTLP ExportTraceServiceRequest: {error}") from None
    decoded = Decoded()
    for of_resource in request.resource_spans:
        resource = _attributes(of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            scope = _scope(of_scope.scope)
            for message in of_scope.spans:
                _take(decoded, message, resource, scope, now_ns)
    return decoded


def _take(
    decoded: Decoded, message: Message, resource: dict[str, object], scope: Scope, now_ns: int
) -> None:
    # Each access to a field of a message costs as much as a dozen lines of Python: once each.
    trace_id, span_id, parent = message.trace_id, message.span_id, message.parent_span_id
    start, end = message.start_time_unix_nano, message.end_time_unix_nano
    if len(trace_id) != 16 or len(span_id) != 8 or not any(trace_id) or not any(span_id):
        ids_check(trace_id.hex(), span_id.hex())
    if start > MAX_NS or end > MAX_NS:
        decoded.refused.append(f"span {span_id.hex()}: a time over 2^63 ns")
        return
    start, end = times_settled(start, end, now_ns)
    status, events, links = message.status, message.events, message.links
    decoded.spans.append(
        RawSpan(
            trace_id.hex(),
            span_id.hex(),
            parent.hex() if len(parent) == 8 and any(parent) else None,
            message.name,
            message.kind,
            start,
            end,
            status.code,
            status.message,
            _attributes(message.attributes),
            _events(events) if events else _NO_EVENTS,
            _links(links) if links else (),
            resource,
            scope,
        )
    )


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, object]:
    found: dict[str, object] = {}
    for pair in pairs:
        value = pair.value
        # Most values are non-empty strings, and asking which field is set is the slow call.
        found[pair.key] = value.string_value or _value(value)
    return found


def _value(value: AnyValue) -> object:
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "int_value":
            return value.int_value
        case "double_value":
            return number_named(value.double_value)
        case "bool_value":
            return value.bool_value
        case "array_value":
            return [_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return _attributes(value.kvlist_value.values)
        case "bytes_value":
            return value.bytes_value.hex()
    return None


def _scope(message: InstrumentationScope) -> Scope:
    return Scope(message.name, message.version, _attributes(message.attributes))


def _events(messages: Iterable[Message.Event]) -> list[Event]:
    return [
        Event(event.name, min(event.time_unix_nano, MAX_NS), _attributes(event.attributes))
        for event in messages
    ]


def _links(messages: Iterable[Message.Link]) -> list[dict[str, object]]:
    return [
        {
            "trace_id": link.trace_id.hex(),
            "span_id": link.span_id.hex(),
            "attributes": _attributes(link.attributes),
        }
        for link in messages
    ]
