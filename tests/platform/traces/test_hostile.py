"""What nobody should send: refused whole, or stored faithfully; never a crash, never a flood."""

import gzip
import json
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pytest_django import Settings

from hone.traces import ingest
from hone.traces.core import wire
from hone.traces.core.prices import Book
from hone.traces.ingest import application

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
NOW_NS = 1_796_000_000 * 10**9

pytestmark = pytest.mark.django_db


@pytest.fixture
def post(asgi: Any, api_key: Any) -> Callable[..., Any]:
    def call(body: bytes, headers: dict[str, str] = PROTOBUF, **extra: str) -> Any:
        given = {**api_key.bearer, **headers, **extra}
        return asgi(application, "POST", "/v1/traces", body=body, headers=given)

    return call


def stored(*columns: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(columns)} FROM traces_observation ORDER BY span_id")
        return list(cursor.fetchall())


def as_json(base_ns: int, text: str, **fields: Any) -> bytes:
    """An export in JSON of one span; `text` is its attribute "k", already written in JSON."""
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "n", "startTimeUnixNano": base_ns}
    attributes = [{"key": "k", "value": {"stringValue": "HERE"}}]
    spans = [span | {"attributes": attributes} | fields]
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    return body.replace('"HERE"', text).encode()


def test_a_million_attributes_are_stored(post, base_ns: int) -> None:
    pairs = b"".join(
        b"\x4a\x0d\x0a\x07%07d\x12\x02\x18\x01" % number for number in range(1_000_000)
    )
    assert post(one_span(base_ns, pairs)).status == 200
    [(attributes,)] = stored("attributes")
    assert len(json.loads(attributes)) == 1_000_000


def test_keys_that_never_come_twice_do_not_fill_the_memory(export) -> None:
    """Every span has keys of its own: few are learned, the rest goes through the reference."""
    book, learned = Book(), []
    spans = [{"attributes": {f"key-{number}": 1}} for number in range(500)]
    found = wire.parts_decode(export(*spans), 1, book, NOW_NS, (0, 2**62))
    assert found is not None
    parts, rest = found
    learned = sum(len(encoded) for _, encoded, _ in parts)
    assert 0 < learned <= 64
    left = ExportTraceServiceRequest.FromString(rest).resource_spans[0].scope_spans[0].spans
    assert learned + len(left) == 500


def test_bombs_in_several_members_are_refused(post, settings: Settings) -> None:
    settings.HONE_TRACES_MAX_INFLATED_BYTES = 1_000_000
    bomb = gzip.compress(bytes(400_000)) * 4
    answer = post(bomb, **{"content-encoding": "gzip"})
    assert answer.status == 413


@pytest.mark.parametrize("name", ["__proto__", "constructor", "__class__", "prototype.polluted"])
def test_keys_of_other_languages_are_only_names(post, export, name: str) -> None:
    indexed = f"llm.input_messages.0.message.{name}"
    assert post(export({"attributes": {name: "x", indexed: "y"}})).status == 200
    [(attributes, given)] = stored("attributes", "input")
    kept = json.loads(attributes)
    assert kept[name] == "x"
    assert kept.get(indexed, "y") == "y"
    assert (indexed in kept) != (given is not None)


@pytest.mark.parametrize(("index", "is_rebuilt"), [(10_000, True), (10_001, False), (2**70, False)])
def test_an_index_out_of_reach_stays_an_attribute(
    post, export, index: int, is_rebuilt: bool
) -> None:
    key = f"llm.input_messages.{index}.message.content"
    assert post(export({"attributes": {key: "text"}})).status == 200
    [(given, attributes)] = stored("input", "attributes")
    assert given == ('[{"content":"text"}]' if is_rebuilt else None)
    assert (key in (attributes or "")) != is_rebuilt


def test_ten_thousand_and_one_messages_are_rebuilt_or_kept(post, export) -> None:
    attributes = {f"llm.input_messages.{n}.message.content": str(n) for n in range(10_002)}
    assert post(export({"attributes": attributes})).status == 200
    [(given, kept)] = stored("input", "attributes")
    assert given is None
    assert json.loads(kept) == attributes


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"\\u0000"', '{"k":"\\u0000"}'),
        ('"\\ud800"', '{"k":"\\ud800"}'),
        ('"\\udfff\\ud800"', '{"k":"\\udfff\\ud800"}'),
    ],
)
def test_what_utf8_cannot_say_is_kept_as_its_escape(
    post, base_ns: int, text: str, wanted: str
) -> None:
    assert post(as_json(base_ns, text), JSON).status == 200
    assert stored("attributes") == [(wanted,)]


def test_nul_in_every_text_of_a_span(post, export) -> None:
    attributes = {"session.id": "s\x00", "user.id": "\x00", "input.value": "i\x00", "own": "\x00"}
    span = {"name": "n\x00", "attributes": attributes}
    assert post(export(span)).status == 200
    [found] = stored("name", "session_id", "user_id", "input")
    assert found == ("n\\u0000", "s\\u0000", "\\u0000", "i\\u0000")
    [(kept,)] = stored("attributes")
    assert kept == '{"session.id":"s\\u0000","user.id":"\\u0000","own":"\\u0000"}'


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_cannot_say_become_their_names(post, base_ns: int, number: str) -> None:
    value = [{"key": "k", "value": {"doubleValue": float(number.replace("Infinity", "inf"))}}]
    body = as_json(base_ns, "", attributes=value)
    assert number.encode() in body
    assert post(body, JSON).status == 200
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.start_time_unix_nano = b"t" * 16, b"\xee" * 8, base_ns
    span.attributes.add(key="k").value.double_value = float(number.replace("Infinity", "inf"))
    assert post(request.SerializeToString()).status == 200
    assert [row[0] for row in stored("attributes")] == [f'{{"k":"{number}"}}'] * 2


@pytest.mark.parametrize(
    ("trace_id", "span_id"),
    [("", "cd" * 8), ("00" * 16, "cd" * 8), ("zz" * 16, "cd" * 8), ("ab" * 16, "cd" * 9)],
)
def test_a_wrong_id_refuses_the_export_whole(
    post, base_ns: int, trace_id: str, span_id: str
) -> None:
    bad = {"traceId": trace_id, "spanId": span_id, "name": "bad", "startTimeUnixNano": base_ns}
    body = json.loads(as_json(base_ns, '"x"'))
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].append(bad)
    answer = post(json.dumps(body).encode(), JSON)
    assert (answer.status, stored("name")) == (400, [])
    assert "Id '" in answer.json()["message"]


def test_nesting_as_deep_as_the_wire_allows(post, base_ns: int) -> None:
    """Deeper than protobuf itself allows is refused whole, less is stored."""
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.start_time_unix_nano = b"t" * 16, b"s" * 8, base_ns
    value = span.attributes.add(key="k").value
    for _ in range(40):
        value = value.array_value.values.add()
    value.string_value = "deep"
    assert post(request.SerializeToString()).status == 200
    inner = b"\x0a\x01x"
    for _ in range(5000):
        inner = field(5, field(1, inner))
    attribute = field(9, field(1, b"k") + field(2, inner))
    answer = post(one_span(base_ns, attribute))
    assert answer.status == 400
    assert len(stored("name")) == 1


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field of a protobuf message."""
    length, head = len(data), bytearray([number << 3 | 2])
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*head, length]) + data


def one_span(start_ns: int, attributes: bytes) -> bytes:
    """An export of one span with these fields."""
    start = b"\x39" + struct.pack("<Q", start_ns)
    span = field(1, b"t" * 16) + field(2, b"d" * 8) + start + attributes
    return field(1, field(2, field(2, span)))


@pytest.mark.parametrize("member", [b"", b"x"])
def test_a_body_of_a_million_members_is_refused_at_once(post, member: bytes) -> None:
    """Each member was once fed all that follows: an hour of copying for 20 MB."""
    began = time.monotonic()
    body = gzip.compress(member) * 1_000_000
    assert post(body, **{"content-encoding": "gzip"}).status == 400
    assert time.monotonic() - began < 5


def test_members_that_a_sender_makes_by_flushing_are_read(post, export) -> None:
    body = export({"name": "a" * 300_000}, {"name": "b"})
    pieces = [body[at : at + 1000] for at in range(0, len(body), 1000)]
    packed = b"".join(gzip.compress(piece) for piece in pieces)
    assert len(pieces) > 300
    assert post(packed, **{"content-encoding": "gzip"}).status == 200
    assert [name for (name,) in stored("name")] == ["a" * 500, "b"]
    assert post(packed[:-9], **{"content-encoding": "gzip"}).status == 400
    assert post(packed + b"rest", **{"content-encoding": "gzip"}).status == 400


@pytest.mark.django_db(transaction=True)
async def test_pieces_without_end_are_cut_off(
    api_key: Any, settings: Settings, monkeypatch: pytest.MonkeyPatch, broker_closed: None
) -> None:
    settings.HONE_TRACES_MAX_BODY_BYTES = 100_000
    monkeypatch.setattr(ingest, "_BODY_S", 5)
    pieces, sent = 0, []

    async def receive() -> Any:
        nonlocal pieces
        pieces += 1
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    given = {**PROTOBUF, **api_key.bearer, "transfer-encoding": "chunked"}
    scope = {
        **{"type": "http", "method": "POST", "path": "/v1/traces"},
        "headers": [(key.encode(), value.encode()) for key, value in given.items()],
    }
    await application(scope, receive, send)
    assert (sent[0]["status"], pieces) == (413, 101)
    assert ingest._pending.num_bytes == 0


@pytest.mark.parametrize("length", ["-1", "abc", "1e9", "٣", "9" * 400])
def test_lengths_that_are_none_are_refused_or_passed_over(post, export, length: str) -> None:
    """Ours is not the server that speaks HTTP: whatever it lets through must not break the door."""
    answer = post(export({"name": "a"}), **{"content-length": length})
    assert answer.status in (200, 400, 413, 503)
