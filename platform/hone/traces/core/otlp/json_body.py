"""OTLP/JSON: ids are hex, 64-bit integers may be numbers or decimal strings."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from hone.traces.core.otlp.raw import (
    MAX_NS,
    Decoded,
    Malformed,
    RawSpan,
    Scope,
    id_problem,
    ids_check,
    times_settled,
)
from hone.traces.core.span import Event
from hone.traces.core.text import number_named

Integer = int | str | None


class _Value(msgspec.Struct, rename="camel"):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: Integer = None
    double_value: float | str | None = None
    array_value: "_Array | None" = None
    kvlist_value: "_Pairs | None" = None
    bytes_value: str | None = None


class _Array(msgspec.Struct):
    values: list[_Value | None] = []


class _Pair(msgspec.Struct):
    key: str = ""
    value: _Value | None = None


class _Pairs(msgspec.Struct):
    values: list[_Pair] = []


class _Event(msgspec.Struct, rename="camel"):
    time_unix_nano: Integer = 0
    name: str | None = None
    attributes: list[_Pair] | None = None


class _Link(msgspec.Struct, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    attributes: list[_Pair] | None = None


class _Status(msgspec.Struct):
    code: Integer = 0
    message: str | None = None


class _Span(msgspec.Struct, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str | None = None
    name: str | None = None
    kind: Integer = 0
    start_time_unix_nano: Integer = 0
    end_time_unix_nano: Integer = 0
    attributes: list[_Pair] | None = None
    events: list[_Event] | None = None
    links: list[_Link] | None = None
    status: _Status | None = None


class _Scope(msgspec.Struct):
    name: str | None = None
    version: str | None = None
    attributes: list[_Pair] | None = None


class _ScopeSpans(msgspec.Struct):
    scope: _Scope | None = None
    spans: list[_Span] | None = None


class _Resource(msgspec.Struct):
    attributes: list[_Pair] | None = None


class _ResourceSpans(msgspec.Struct, rename="camel"):
    resource: _Resource | None = None
    scope_spans: list[_ScopeSpans] | None = None


class _Request(msgspec.Struct, rename="camel"):
    resource_spans: list[_ResourceSpans] | None = None
    resource_logs: Any = None  # of exporters that were given the wrong address
    resource_metrics: Any = None


_DECODER: Final = msgspec.json.Decoder(_Request)
_STATUS_NAMES: Final = {"STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}


def decode_json(body: bytes, now_ns: int) -> Decoded:
    """The spans of an OTLP/JSON export.

    Raises Malformed, with the place, when the body is no such thing or a span has a wrong id.
    """
    decoded = Decoded()
    request = _request(body)
    if request.resource_logs or request.resource_metrics:
        raise Malformed("body holds logs or metrics; this address takes resourceSpans")
    for of_resource in request.resource_spans or ():
        resource = _attributes(of_resource.resource.attributes if of_resource.resource else None)
        for of_scope in of_resource.scope_spans or ():
            scope = _scope(of_scope.scope)
            for span in of_scope.spans or ():
                _take(decoded, span, resource, scope, now_ns)
    return decoded


def _request(body: bytes) -> _Request:
    try:
        return _DECODER.decode(body)
    except msgspec.ValidationError as error:
        raise Malformed(f"body is not OTLP/JSON: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _request_lenient(body)


def _request_lenient(body: bytes) -> _Request:
    """Reads what strict JSON refuses but senders write: NaN, Infinity, lone surrogates."""
    try:
        return msgspec.convert(json.loads(body), _Request)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"body is not OTLP/JSON: {error}") from None


def _take(
    decoded: Decoded, span: _Span, resource: dict[str, object], scope: Scope, now_ns: int
) -> None:
    trace_id, span_id = span.trace_id.lower(), span.span_id.lower()
    ids_check(trace_id, span_id)
    start, end = _integer(span.start_time_unix_nano), _integer(span.end_time_unix_nano)
    if not (0 <= start <= MAX_NS and 0 <= end <= MAX_NS):
        decoded.refused.append(
            f"span {span_id}: a time that is negative, over 2^63 ns or no number"
        )
        return
    start, end = times_settled(start, end, now_ns)
    parent = (span.parent_span_id or "").lower()
    status = span.status or _Status()
    decoded.spans.append(
        RawSpan(
            trace_id,
            span_id,
            parent if id_problem(trace_id, parent) is None else None,
            span.name or "",
            _integer(span.kind),
            start,
            end,
            _status_code(status.code),
            status.message or "",
            _attributes(span.attributes),
            _events(span.events),
            _links(span.links),
            resource,
            scope,
        )
    )


def _integer(value: Integer) -> int:
    """The integer that `value` writes, 0 for none, -1 for what is no integer."""
    if isinstance(value, int):
        return value
    if not value:
        return 0
    return int(value) if len(value) < 21 and value.isdecimal() and value.isascii() else -1


def _status_code(value: Integer) -> int:
    return _STATUS_NAMES.get(value, 0) if isinstance(value, str) else value or 0


def _attributes(pairs: Iterable[_Pair] | None) -> dict[str, object]:
    return {pair.key: _value(pair.value) for pair in pairs or ()}


def _value(value: _Value | None) -> object:
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.int_value is not None:
        return _int_value(value.int_value)
    if value.double_value is not None:
        return _double_value(value.double_value)
    if value.bool_value is not None:
        return value.bool_value
    return _nested(value)


def _nested(value: _Value) -> object:
    if value.array_value is not None:
        return [_value(item) for item in value.array_value.values]
    if value.kvlist_value is not None:
        return _attributes(value.kvlist_value.values)
    return value.bytes_value


def _int_value(value: int | str) -> object:
    if isinstance(value, int):
        return value
    digits = value.removeprefix("-")
    is_integer = len(digits) < 20 and digits.isdecimal() and digits.isascii()
    return int(value) if is_integer else value


def _double_value(value: float | str) -> object:
    try:
        return number_named(float(value))
    except ValueError:
        return value


def _scope(scope: _Scope | None) -> Scope:
    if scope is None:
        return Scope("", "", {})
    return Scope(scope.name or "", scope.version or "", _attributes(scope.attributes))


def _events(events: Sequence[_Event] | None) -> Sequence[Event]:
    return [
        Event(
            event.name or "",
            min(max(_integer(event.time_unix_nano), 0), MAX_NS),
            _attributes(event.attributes),
        )
        for event in events or ()
    ]


def _links(links: Sequence[_Link] | None) -> Sequence[dict[str, object]]:
    return [
        {
            "trace_id": link.trace_id,
            "span_id": link.span_id,
            "attributes": _attributes(link.attributes),
        }
        for link in links or ()
    ]
