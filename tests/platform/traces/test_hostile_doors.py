"""What nobody should send, through the doors of a web process that runs.

Refused in words with nothing stored, or stored and read back as it was sent; either way the next
good request is answered. What the decoders make of damaged bytes is in test_hostile and test_fuzz.
"""

import gzip
import http.client
import json
import math
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson
import pytest
from django.conf import settings
from django.db import connection
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

pytestmark = pytest.mark.django_db(transaction=True)

OTLP, LANGFUSE = "/v1/traces", "/api/public/otel/v1/traces"
BATCH, SCORES, ITEMS = "/api/public/ingestion", "/api/public/scores", "/api/public/dataset-items"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
TRACE, SPAN = "ab" * 16, "cd" * 8
MIB = 1 << 20
DEEP = b"[" * 100_000


@dataclass
class Said:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def words(self) -> str:
        """What it says was wrong: JSON's message, or the status of an answer in protobuf."""
        if JSON in self.headers["content-type"]:
            told = json.loads(self.body)
            error = told.get("error")
            return str(error["message"] if isinstance(error, dict) else told["message"])
        assert self.headers["content-type"] == PROTOBUF
        return self.body.decode(errors="replace")


@dataclass
class Client:
    """Speaks to the process with a key; every request on a connection of its own."""

    port: int
    secret: str
    pid: int
    sent: int = field(default=0)

    def ask(self, method: str, path: str, body: Any = None, kind: str = JSON, **more: str) -> Said:
        """`body` may be an iterator: then it is sent in chunks, without a length."""
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": kind}
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            line.request(
                method, path, body, headers | {k.replace("_", "-"): v for k, v in more.items()}
            )
            answer = line.getresponse()
            given = {name.lower(): value for name, value in answer.getheaders()}
            return Said(answer.status, given, answer.read())
        finally:
            line.close()

    def read(self, trace: str = TRACE, span: str = SPAN) -> dict[str, Any]:
        """What our own API says of an observation."""
        answer = self.ask("GET", f"/api/projects/demo/traces/{trace}/observations/{span}")
        assert answer.status == 200, answer.body
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def memory(self, name: str) -> int:
        """VmRSS (now) or VmHWM (the most so far), in bytes."""
        with open(f"/proc/{self.pid}/status") as lines:
            found = next(line for line in lines if line.startswith(name))
        return int(found.split()[1]) * 1024

    def forget_peak(self) -> int:
        """From now on VmHWM counts anew; what is used at present."""
        with open(f"/proc/{self.pid}/clear_refs", "w") as file:
            file.write("5")
        return self.memory("VmRSS")


@pytest.fixture(scope="module")
def process(make_standing_server: Callable[[str], Any], django_db_setup: None) -> Any:
    parts = urlsplit(settings.DATABASE_URL)
    server = make_standing_server(
        urlunsplit(parts._replace(path=f"/{connection.settings_dict['NAME']}"))
    )
    server.start()
    return server


@pytest.fixture
def web(process: Any, api_key: Any, base_ns: int) -> Iterator[Client]:
    """Whatever a test sends, the process is there afterwards and takes what is good."""
    client = Client(process.port, api_key.secret, process.process.pid)
    yield client
    good = span_json(base_ns, spanId="ef" * 8, name="good")
    assert client.ask("POST", OTLP, good).status == 200
    assert client.read(span="ef" * 8)["name"] == "good"


def rows() -> dict[str, int]:
    """How many rows each table has."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = 'public'::regnamespace"
        )
        tables = [name for (name,) in cursor.fetchall()]
        every = (f"SELECT '{name}', count(*) FROM {name}" for name in tables)
        cursor.execute(" UNION ALL ".join(every))
        return dict(cursor.fetchall())


def span_json(base_ns: int, **fields: Any) -> bytes:
    span = {"traceId": TRACE, "spanId": SPAN, "name": "n", "startTimeUnixNano": str(base_ns)}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span | fields]}]}]}).encode()


def attributes_json(base_ns: int, written: str, key: str = "k") -> bytes:
    """One span whose attribute has a value that is written so in JSON."""
    pair = {"key": key, "value": {"stringValue": "HERE"}}
    return span_json(base_ns, attributes=[pair]).replace(b'"HERE"', written.encode())


def length_delimited(number: int, data: bytes) -> bytes:
    length, head = len(data), bytearray([number << 3 | 2])
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*head, length]) + data


def span_protobuf(base_ns: int, more: bytes = b"", span_id: bytes = b"\xcd" * 8) -> bytes:
    ids = length_delimited(1, b"\xab" * 16) + length_delimited(2, span_id)
    span = ids + b"\x39" + struct.pack("<Q", base_ns) + more
    return length_delimited(1, length_delimited(2, length_delimited(2, span)))


def packed(num_mib: int) -> bytes:
    """A gzip body of so many MiB of zeros, a thousandth of them long."""
    stream = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    piece = bytes(MIB)
    return b"".join([*(stream.compress(piece) for _ in range(num_mib)), stream.flush()])


# Each: the body from a start in ns, its Content-Type, and what the refusal says.
EXPORTS: dict[str, tuple[Callable[[int], bytes], str, str]] = {
    "cut short": (lambda ns: span_protobuf(ns)[:-9], PROTOBUF, "not an OTLP"),
    "noise": (lambda ns: b"\xff" * 1000, PROTOBUF, "not an OTLP"),
    "a length past the end": (lambda ns: b"\x0a\xff\xff\xff\xff\x0f", PROTOBUF, "not an OTLP"),
    "a number that does not end": (lambda ns: b"\x08" + b"\xff" * 20, PROTOBUF, "not an OTLP"),
    "a group that does not end": (lambda ns: b"\x0b" * 500, PROTOBUF, "not an OTLP"),
    "values 5,000 deep": (
        lambda ns: span_protobuf(ns, length_delimited(9, b"\x0a\x01k" + nested(5000))),
        PROTOBUF,
        "not an OTLP",
    ),
    "text that is no UTF-8": (
        lambda ns: span_protobuf(ns, length_delimited(5, b"\xff\xfe")),
        PROTOBUF,
        "not an OTLP",
    ),
    "a short id": (lambda ns: span_protobuf(ns, span_id=b"\xcd" * 7), PROTOBUF, "spanId 'cdcd"),
    "no id": (lambda ns: span_protobuf(ns, span_id=b""), PROTOBUF, "spanId ''"),
    "JSON cut short": (lambda ns: span_json(ns)[:-3], JSON, "not OTLP/JSON"),
    "a list": (lambda ns: b"[]", JSON, "not OTLP/JSON"),
    "a text": (lambda ns: b'"x"', JSON, "not OTLP/JSON"),
    "100,000 brackets": (lambda ns: DEEP, JSON, "not OTLP/JSON"),
    "JSON that is no UTF-8": (lambda ns: b'{"resourceSpans":["\xff"]}', JSON, "not OTLP/JSON"),
    "an id that is no hex": (lambda ns: span_json(ns, traceId="zz" * 16), JSON, "traceId 'zz"),
    "an id of zeros": (lambda ns: span_json(ns, spanId="0" * 16), JSON, "spanId '0000"),
    "attributes that are no list": (lambda ns: span_json(ns, attributes={}), JSON, "attributes"),
    "events that are no list": (lambda ns: span_json(ns, events="x"), JSON, "events"),
    "logs": (lambda ns: b'{"resourceLogs":[{"scopeLogs":[]}]}', JSON, "takes resourceSpans"),
    "protobuf called JSON": (span_protobuf, JSON, "not OTLP/JSON"),
    "JSON called protobuf": (span_json, PROTOBUF, "not an OTLP"),
}


def nested(depth: int) -> bytes:
    """The value of an attribute, lists in lists."""
    value = b"\x0a\x01x"
    for _ in range(depth):
        value = length_delimited(5, length_delimited(1, value))
    return length_delimited(2, value)


@pytest.mark.parametrize("name", EXPORTS)
def test_a_hostile_export_is_refused_whole(web: Client, base_ns: int, name: str) -> None:
    """Plain, packed and in chunks."""
    make, kind, words = EXPORTS[name]
    body, before = make(base_ns), rows()
    answers = [
        web.ask("POST", OTLP, body, kind),
        web.ask("POST", OTLP, gzip.compress(body), kind, content_encoding="gzip"),
        web.ask("POST", LANGFUSE, pieces(body), kind),
    ]
    for answer in answers:
        assert answer.status == 400, answer.body
        assert words in answer.words
    assert rows() == before


def pieces(body: bytes) -> Iterator[bytes]:
    for at in range(0, len(body), 4096):
        yield body[at : at + 4096]


# Bodies that no encoding or kind makes readable: the encoding, the kind, the status, the words.
WRAPPED: dict[str, tuple[bytes, str, str, int, str]] = {
    "gzip that is none": (b"{}" * 99, "gzip", JSON, 400, "gzip body is"),
    "gzip cut short": (gzip.compress(b"{}" * 99)[:-9], "gzip", JSON, 400, "cut short"),
    "a million members": (gzip.compress(b"") * 1_000_000, "gzip", JSON, 400, "members"),
    "another encoding": (b"{}", "br", JSON, 415, "want gzip or deflate"),
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("path", [OTLP, BATCH])
def test_a_wrapping_that_is_wrong_is_told(web: Client, name: str, path: str) -> None:
    body, encoding, kind, status, words = WRAPPED[name]
    before = rows()
    answer = web.ask("POST", path, body, kind, content_encoding=encoding)
    if (name, path) == ("a million members", BATCH):
        assert answer.status in (400, 413)  # whichever limit is met first
    else:
        assert (answer.status, words in answer.words) == (status, True), answer.body
    assert rows() == before


def test_a_kind_of_body_that_is_not_taken_is_named(web: Client, base_ns: int) -> None:
    answer = web.ask("POST", OTLP, span_json(base_ns), "text/plain")
    assert (answer.status, "'text/plain'" in answer.words) == (415, True)


@pytest.mark.parametrize("path", [OTLP, BATCH])
def test_bombs_take_a_bounded_memory(web: Client, path: str) -> None:
    """Eight at once of half a gigabyte each, half a megabyte as sent."""
    bomb, before = packed(512), rows()
    assert len(bomb) < 4 * MIB
    used = web.forget_peak()
    with ExitStack() as stack:
        lines = [
            stack.enter_context(socket.create_connection(("127.0.0.1", web.port), 120))
            for _ in range(8)
        ]
        head = request_head(web, path, len(bomb), "Content-Encoding: gzip\r\n")
        for line in lines:
            line.sendall(head + bomb)
        answers = [status_of(line) for line in lines]
    assert set(answers) <= {413, 503}
    assert 413 in answers
    assert web.memory("VmHWM") - used < 200 * MIB
    assert rows() == before


def request_head(web: Client, path: str, length: int, more: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {web.secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n"
    ).encode()


def status_of(line: socket.socket) -> int:
    return int(line.makefile("rb").readline().split()[1])


def test_chunks_without_end_are_cut_off(web: Client) -> None:
    """At 32 MB, whatever more would come."""

    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield bytes(MIB)

    used, before = web.forget_peak(), rows()
    with suppress(BrokenPipeError, ConnectionResetError):  # it may hang up on what is still sent
        assert web.ask("POST", OTLP, endless(), PROTOBUF).status == 413
    assert web.memory("VmHWM") - used < 150 * MIB
    assert rows() == before


@pytest.mark.parametrize(("path", "number", "length"), [(OTLP, 6, 32 * MIB), (BATCH, 64, 1000)])
def test_more_than_is_held_is_told_to_come_back(
    web: Client, base_ns: int, path: str, number: int, length: int
) -> None:
    """Senders that announce much and send nothing keep others out, and in words; not for long."""
    with ExitStack() as stack:
        for _ in range(number):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", web.port), 120))
            line.sendall(request_head(web, path, length) + b"{")
        body = span_json(base_ns) if path == OTLP else b'{"batch": []}'
        answer = until(lambda: web.ask("POST", path, body), lambda said: said.status == 503)
        assert int(answer.headers["retry-after"]) >= 1
        assert "Too many" in answer.words
    until(lambda: web.ask("POST", path, body), lambda said: said.status in (200, 207))


def until(ask: Callable[[], Said], good: Callable[[Said], bool]) -> Said:
    """The first answer that is good, within a minute; the server reads at its own pace."""
    deadline = time.monotonic() + 60
    while not good(said := ask()):
        assert time.monotonic() < deadline, said
    return said


def test_a_million_attributes_are_read_back(web: Client, base_ns: int) -> None:
    pairs = b"".join(
        b"\x4a\x0d\x0a\x07%07d\x12\x02\x18\x01" % number for number in range(1_000_000)
    )
    body = gzip.compress(span_protobuf(base_ns, pairs), 1)
    assert web.ask("POST", OTLP, body, PROTOBUF, content_encoding="gzip").status == 200
    assert web.read()["attributes"] == {f"{number:07d}": True for number in range(1_000_000)}


# Attributes as their JSON is written, and as they are read back.
VALUES: dict[str, tuple[str, Any]] = {
    "NUL": ('"a\\u0000b"', "a\x00b"),
    "lone surrogates": ('"\\ud800 \\udfff"', "\\ud800 \\udfff"),
    "line ends of JavaScript": ('"\\u2028\\u2029\\u0085"', "\u2028\u2029\x85"),
    "outside of the first plane": ('"\\ud83d\\ude00"', "\U0001f600"),
    "an empty text": ('""', ""),
    "JSON in a text": ('"{\\"__proto__\\": {\\"x\\": 1}}"', '{"__proto__": {"x": 1}}'),
}


@pytest.mark.parametrize("path", [OTLP, LANGFUSE])
@pytest.mark.parametrize("name", VALUES)
def test_strange_text_is_read_back(web: Client, base_ns: int, name: str, path: str) -> None:
    written, wanted = VALUES[name]
    assert web.ask("POST", path, attributes_json(base_ns, written)).status == 200
    assert web.read()["attributes"] == {"k": wanted}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0])
@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
def test_strange_numbers_are_read_back(web: Client, base_ns: int, number: float, kind: str) -> None:
    """Those that JSON cannot say come back as their names."""
    if kind == JSON:
        pair = {"key": "k", "value": {"doubleValue": number}}
        body = span_json(base_ns, attributes=[pair])
    else:
        value = length_delimited(2, b"\x21" + struct.pack("<d", number))
        body = span_protobuf(base_ns, length_delimited(9, b"\x0a\x01k" + value))
    assert web.ask("POST", OTLP, body, kind).status == 200
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    assert web.read()["attributes"] == {"k": names.get(str(number), number)}


@pytest.mark.parametrize("key", ["__proto__", "constructor.prototype", "__class__", "", "a\x00b"])
def test_strange_keys_are_read_back(web: Client, base_ns: int, key: str) -> None:
    indexed = f"llm.input_messages.0.message.{key}"
    pairs = [{"key": k, "value": {"stringValue": "v"}} for k in (key, indexed)]
    assert web.ask("POST", OTLP, span_json(base_ns, attributes=pairs)).status == 200
    found = web.read()
    assert found["attributes"][key] == "v"
    kept = json.dumps([found["attributes"], found["input"]])
    assert json.dumps(key)[1:-1] in kept
    assert kept.count('"v"') + kept.count('\\"v\\"') == 2


@pytest.mark.parametrize("index", [10_001, 2**31, 2**70])
def test_indices_out_of_reach_stay_attributes(web: Client, base_ns: int, index: int) -> None:
    key = f"llm.input_messages.{index}.message.content"
    assert web.ask("POST", OTLP, attributes_json(base_ns, '"text"', key)).status == 200
    found = web.read()
    assert (found["attributes"], found["input"]) == ({key: "text"}, None)


def test_ten_thousand_and_one_indices_are_read_back(web: Client, base_ns: int) -> None:
    keys = [f"llm.input_messages.{n}.message.content" for n in range(10_001)]
    request = ExportTraceServiceRequest()
    span = (
        request.resource_spans.add()
        .scope_spans.add()
        .spans.add(trace_id=b"\xab" * 16, span_id=b"\xcd" * 8, start_time_unix_nano=base_ns)
    )
    for number, key in enumerate(keys):
        span.attributes.add(key=key).value.string_value = str(number)
    assert web.ask("POST", OTLP, request.SerializeToString(), PROTOBUF).status == 200
    given = web.read()["input"]
    messages = json.loads(given) if isinstance(given, str) else given
    assert messages == [{"content": str(number)} for number in range(10_001)]


# What the doors for JSON refuse: the body, and what the refusal says.
BODIES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", ""),
    "a list of nothing": (b"[1]", ""),
    "a text": (b'"x"', ""),
    "JSON cut short": (b'{"batch": [', "valid"),
    "100,000 brackets": (DEEP, "valid"),
    "100,000 objects": (b'{"input":' * 100_000, "valid"),
    "NaN": (b'{"batch": [], "name": "n", "value": NaN}', "valid"),
    "Infinity": (b'{"batch": [], "name": "n", "value": -Infinity}', "valid"),
    "a lone surrogate": (b'{"batch": [], "name": "\\ud800", "datasetName": "d"}', "valid"),
    "no UTF-8": (b'{"batch": [], "name": "\xff"}', "valid"),
}


@pytest.mark.parametrize("name", BODIES)
def test_hostile_json_is_refused_whole(web: Client, name: str) -> None:
    body, words = BODIES[name]
    before = rows()
    for path in (BATCH, SCORES, ITEMS):
        answer = web.ask("POST", path, body)
        if (name, path) == ("a list of nothing", SCORES):
            assert answer.status == 207
            assert json.loads(answer.body)["rejected"] == 1
        else:
            assert answer.status == 400, answer.body
            assert words in answer.words or "Invalid request data" in answer.words
    assert rows() == before


def test_one_bad_event_is_refused_by_name_and_the_others_are_read_back(
    web: Client, base_ns: int
) -> None:
    """A batch is no export: each event is answered for (§4)."""
    at = "2026-11-30T12:00:00Z"
    bad = {"id": "bad", "type": "span-create", "timestamp": at, "body": {"id": 5}}
    body = {"id": "good", "name": "a\x00b", "input": {"__proto__": ["\x00", 1e308]}}
    good = {"id": "e", "type": "trace-create", "timestamp": at, "body": body}
    answer = web.ask("POST", BATCH, orjson.dumps({"batch": [bad, good, 7, None]}))
    assert answer.status == 207
    told = json.loads(answer.body)
    assert [done["id"] for done in told["successes"]] == ["e"]
    assert [(e["id"], e["status"]) for e in told["errors"]] == [("bad", 400), ("", 400), ("", 400)]
    assert all(error["message"] for error in told["errors"])
    found = json.loads(web.ask("GET", "/api/public/traces/good").body)
    assert found["input"] == {"__proto__": ["\x00", 1e308]}
    assert found["name"] == "a\\u0000b"
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM traces_observation")
        assert cursor.fetchall() == [(1,)]


@pytest.mark.parametrize("path", [SCORES, ITEMS])
def test_nul_is_refused_where_it_cannot_be_kept(web: Client, path: str) -> None:
    made = web.ask("POST", "/api/public/v2/datasets", b'{"name": "d"}')
    assert made.status == 200
    before = rows()
    score = {"traceId": TRACE, "name": "n", "value": 1}
    base: dict[str, Any] = score if path == SCORES else {"datasetName": "d"}
    field_of = "metadata" if path == SCORES else "input"
    for value in ("\x00", {"k": ["\x00"]}, {"\x00": 1}):
        answer = web.ask("POST", path, orjson.dumps(base | {field_of: value}))
        assert (answer.status, "NUL" in answer.words) == (400, True), answer.body
    assert rows() == before
    strange = {"__proto__": {"x": 1}, "constructor": None, "n": [1e308, -0.0]}
    assert web.ask("POST", path, orjson.dumps(base | {"id": "s", field_of: strange})).status == 200
    read = "/api/public/v2/scores/s" if path == SCORES else f"{ITEMS}/s"
    assert json.loads(web.ask("GET", read).body)[field_of] == strange
