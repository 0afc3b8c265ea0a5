"""The decoders: what they read, and that nothing sent makes them fail otherwise than by name."""

import contextlib
import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from hone.traces.core.dialects import span_of
from hone.traces.core.fit import fitted
from hone.traces.core.otlp import Decoded, Malformed, decode
from hone.traces.core.row import row_of
from hone.traces.core.span import Span
from hone.traces.core.summary import summary_of

NOW_NS = 1_800_000_000 * 10**9


def from_json(value: object) -> Decoded:
    return decode(json.dumps(value).encode(), is_json=True, now_ns=NOW_NS)


def one(**fields: Any) -> dict[str, Any]:
    span = {
        "traceId": "5B8EFFF798038103D269B633813FC60C",
        "spanId": "eee19b7ec3c1b174",
        "name": "n",
        "startTimeUnixNano": "1544712660000000000",
        "endTimeUnixNano": 1544712661000000000,
        **fields,
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def attribute(value: dict[str, Any]) -> Any:
    [span] = from_json(one(attributes=[{"key": "k", "value": value}])).spans
    return span.attributes["k"]


def test_json_ids_are_hex_and_times_decimal_strings_or_numbers() -> None:
    [span] = from_json(
        one(parentSpanId="EEE19B7EC3C1B173", status={"code": 2, "message": "m"})
    ).spans
    assert span.trace_id == "5b8efff798038103d269b633813fc60c"
    assert span.parent_span_id == "eee19b7ec3c1b173"
    assert (span.start_ns, span.end_ns) == (1544712660000000000, 1544712661000000000)
    assert (span.status_code, span.status_message) == (2, "m")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"stringValue": "x"}, "x"),
        ({"stringValue": ""}, ""),
        ({"intValue": "-42"}, -42),
        ({"intValue": 7}, 7),
        ({"doubleValue": 0.5}, 0.5),
        ({"doubleValue": "0.5"}, 0.5),
        ({"doubleValue": "NaN"}, "NaN"),
        ({"doubleValue": "-Infinity"}, "-Infinity"),
        ({"boolValue": False}, False),
        ({"bytesValue": "AAE="}, "AAE="),
        ({"arrayValue": {"values": [{"intValue": 1}, {"stringValue": "b"}, None]}}, [1, "b", None]),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": True}}]}}, {"a": True}),
        ({}, None),
        (None, None),
    ],
)  # fmt: skip
def test_json_attribute_values(value: Any, wanted: object) -> None:
    assert attribute(value) == wanted


def test_json_reads_what_strict_json_refuses() -> None:
    text = json.dumps(one(attributes=[{"key": "k", "value": {"stringValue": "\ud800"}}]))
    text = text.replace('"n"', '"n", "x": NaN')
    [span] = decode(text.encode(), is_json=True, now_ns=NOW_NS).spans
    assert span.attributes["k"] == "\ud800"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"traceId": ""}, "traceId ''"),
        ({"traceId": "0" * 32}, "traceId"),
        ({"traceId": "zz" * 16}, "traceId 'zzzz"),
        ({"spanId": "12"}, "spanId '12'"),
        ({"spanId": None}, "spanId"),
    ],
)
def test_a_span_that_cannot_be_named_refuses_the_export(
    fields: dict[str, Any], reason: str
) -> None:
    """Langfuse's rule (§3.1): whoever writes ids wrongly sent something else than traces."""
    with pytest.raises(Malformed, match=reason):
        from_json(one(**fields))


@pytest.mark.parametrize("key", ["resourceLogs", "resourceMetrics"])
def test_logs_and_metrics_at_the_address_of_traces_are_refused(key: str) -> None:
    with pytest.raises(Malformed, match="takes resourceSpans"):
        from_json({key: [{"resource": {}}]})


@pytest.mark.parametrize("name", ["resourceSpans", "scopeSpans", "spans", "attributes", "events"])
@pytest.mark.parametrize("value", [{}, "x", 1, True])
def test_what_should_be_a_list_and_is_none_refuses_the_export(name: str, value: Any) -> None:
    body = one(attributes=[], events=[])
    holders = {
        "resourceSpans": body,
        "scopeSpans": body["resourceSpans"][0],
        "spans": body["resourceSpans"][0]["scopeSpans"][0],
    }
    holder = holders.get(name, body["resourceSpans"][0]["scopeSpans"][0]["spans"][0])
    holder[name] = value
    with pytest.raises(Malformed, match=name):
        from_json(body)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"startTimeUnixNano": "soon"}, "time"),
        ({"startTimeUnixNano": -5}, "time"),
        ({"endTimeUnixNano": 2**64}, "time"),
    ],
)
def test_a_span_that_has_no_time_is_refused_with_a_reason(
    fields: dict[str, Any], reason: str
) -> None:
    decoded = from_json(one(**fields))
    assert decoded.spans == []
    assert reason in decoded.refused[0]


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [(0, 5, (5, 5)), (5, 0, (5, 5)), (0, 0, (NOW_NS, NOW_NS)), (9, 5, (9, 9))],
)
def test_missing_and_backward_times_are_settled(
    start: int, end: int, wanted: tuple[int, int]
) -> None:
    [span] = from_json(one(startTimeUnixNano=start, endTimeUnixNano=end)).spans
    assert (span.start_ns, span.end_ns) == wanted


def test_protobuf_and_json_say_the_same(export: Callable[..., bytes]) -> None:
    body = export({"name": "x", "attributes": {"a": "b", "n": 3}}, resource={"service.name": "s"})
    [span] = decode(body, is_json=False, now_ns=NOW_NS).spans
    assert (span.name, span.attributes, span.resource) == (
        "x",
        {"a": "b", "n": 3},
        {"service.name": "s"},
    )


def test_protobuf_values_of_every_kind() -> None:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.start_time_unix_nano = b"t" * 16, b"s" * 8, 1
    for key, field, value in (
        ("i", "int_value", -1),
        ("d", "double_value", math.inf),
        ("b", "bool_value", False),
        ("y", "bytes_value", b"\x00\xff"),
        ("s", "string_value", ""),
    ):
        setattr(span.attributes.add(key=key).value, field, value)
    span.attributes.add(key="none")
    span.attributes.add(key="a").value.array_value.values.add().int_value = 4
    span.links.add(trace_id=b"l" * 16, span_id=b"m" * 8)
    event = span.events.add(name="e", time_unix_nano=2)
    event.attributes.add(key="k").value.string_value = "v"
    [raw] = decode(request.SerializeToString(), is_json=False, now_ns=NOW_NS).spans
    assert raw.attributes == {
        "i": -1,
        "d": "Infinity",
        "b": False,
        "y": "00ff",
        "s": "",
        "none": None,
        "a": [4],
    }
    assert raw.links[0]["span_id"] == (b"m" * 8).hex()
    assert raw.events[0].attributes == {"k": "v"}


def stored(decoded: Decoded) -> None:
    """Everything that happens to spans before the database sees them."""
    for raw in decoded.spans:
        span = fitted(span_of(raw))
        assert isinstance(span, Span)
        for value in row_of(1, span):
            assert not isinstance(value, str) or "\x00" not in value.encode().decode()
        summary_of([span])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_named_malformed(body: bytes) -> None:
    for is_json in (True, False):
        with contextlib.suppress(Malformed):
            stored(decode(body, is_json=is_json, now_ns=NOW_NS))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KNOWN_KEYS = st.sampled_from(
    [
        "llm.input_messages.0.message.role",
        "llm.input_messages.0.message.content",
        "llm.input_messages.0.message",
        "llm.input_messages.99999.message.content",
        "llm.input_messages.x",
        "gen_ai.prompt.0.__proto__",
        "gen_ai.input.messages",
        "gen_ai.system_instructions",
        "gen_ai.usage.input_tokens",
        "llm.cost.total",
        "langfuse.observation.usage_details",
        "langfuse.observation.cost_details",
        "langfuse.observation.level",
        "langfuse.observation.type",
        "langfuse.observation.completion_start_time",
        "langfuse.trace.tags",
        "langfuse.environment",
        "metadata",
        "llm.invocation_parameters",
        "gen_ai.response.time_to_first_chunk",
        "openinference.span.kind",
        "ai.operationId",
    ]
)
VALUES = st.one_of(
    st.builds(lambda text: {"stringValue": text}, st.text(max_size=20)),
    st.builds(lambda value: {"stringValue": json.dumps(value)}, ANY_JSON),
    st.builds(lambda number: {"intValue": number}, st.integers(-(2**63), 2**64)),
    st.builds(lambda number: {"doubleValue": str(number)}, st.floats()),
    st.just({"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": 1}]}}),
    st.just({"kvlistValue": {"values": [{"key": "__proto__", "value": {"intValue": 1}}]}}),
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KNOWN_KEYS | st.text(max_size=10), VALUES, max_size=8), st.integers(0, 9))
def test_any_attributes_make_a_span(attributes: dict[str, Any], kind: int) -> None:
    pairs = [{"key": key, "value": value} for key, value in attributes.items()]
    body = json.dumps(one(attributes=pairs, kind=kind)).encode()
    decoded = decode(body, is_json=True, now_ns=NOW_NS)
    assert len(decoded.spans) == 1
    stored(decoded)


@settings(max_examples=100, deadline=None)
@given(ANY_JSON)
def test_any_json_is_read_or_named_malformed(value: object) -> None:
    for shape in (value, {"resourceSpans": value}, {"resourceSpans": [{"scopeSpans": value}]}):
        with contextlib.suppress(Malformed):
            stored(decode(json.dumps(shape).encode(), is_json=True, now_ns=NOW_NS))


def test_a_great_many_attributes_are_read(export: Callable[..., bytes]) -> None:
    attributes = {f"k{number}": number for number in range(200_000)}
    [raw] = decode(export({"attributes": attributes}), is_json=False, now_ns=NOW_NS).spans
    assert len(span_of(raw).attributes) == 200_000
