"""POST /v1/traces as exporters meet it."""

import asyncio
import base64
import gzip
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import OperationalError, connection
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from pytest_django import Settings

from hone.accounts.services import api_key_revoke
from hone.common.asgi import Receive, Scope, Send
from hone.traces import ingest
from hone.traces.services import writer

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
Export = Callable[..., bytes]


async def door(scope: Scope, receive: Receive, send: Send) -> None:
    """The door, until what it took is announced."""
    await ingest.application(scope, receive, send)
    await writer.writer().told()


@pytest.fixture
def post(asgi: Callable[..., Any], api_key: Any) -> Callable[..., Any]:
    def call(body: bytes, headers: dict[str, str] = PROTOBUF, **extra: str) -> Any:
        given = {**api_key.bearer, **headers, **extra}
        return asgi(door, "POST", "/v1/traces", body=body, headers=given)

    return call


def names() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM traces_observation ORDER BY name")
        return [name for (name,) in cursor.fetchall()]


def as_json(body: bytes) -> dict[str, Any]:
    """The OTLP/JSON spelling: ids are hex where protobuf's own JSON has base64."""
    value: dict[str, Any] = MessageToDict(ExportTraceServiceRequest.FromString(body))
    for of_resource in value["resourceSpans"]:
        for of_scope in of_resource["scopeSpans"]:
            for span in of_scope["spans"]:
                for key in ("traceId", "spanId"):
                    span[key] = base64.b64decode(span[key]).hex()
    return value


def test_a_protobuf_export_is_stored_and_answered_empty(post: Any, export: Export) -> None:
    answer = post(export({"name": "a"}, {"name": "b"}))
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-type"] == "application/x-protobuf"
    assert names() == ["a", "b"]


def test_a_json_export_is_stored_and_answered_in_json(post: Any, export: Export) -> None:
    answer = post(orjson.dumps(as_json(export({"name": "a"}))), JSON)
    assert (answer.status, answer.json()) == (200, {})
    assert names() == ["a"]


def test_gzip_is_read(post: Any, export: Export) -> None:
    answer = post(gzip.compress(export({"name": "a"})), **{"content-encoding": "gzip"})
    assert answer.status == 200
    assert names() == ["a"]


def test_basic_credentials_are_taken(asgi: Any, export: Export, api_key: Any) -> None:
    pair = base64.b64encode(f"{api_key.row.public_key}:{api_key.secret}".encode()).decode()
    headers = {**PROTOBUF, "authorization": f"Basic {pair}"}
    body = export({"name": "a"})
    assert asgi(door, "POST", "/v1/traces", body=body, headers=headers).status == 200


@pytest.mark.parametrize(
    "authorization", ["", "Bearer ", "Bearer sk-hone-wrong", "Basic !!!", "Basic cGs6c2s="]
)
@pytest.mark.django_db
def test_a_wrong_key_is_refused(asgi: Any, export: Export, authorization: str) -> None:
    headers = {**PROTOBUF, "authorization": authorization}
    body = export({"name": "a"})
    answer = asgi(door, "POST", "/v1/traces", body=body, headers=headers)
    assert answer.status == 401
    assert answer.headers["www-authenticate"]
    assert names() == []


def test_a_revoked_key_is_refused(post: Any, export: Export, api_key: Any) -> None:
    api_key_revoke(project=api_key.row.project, key_id=api_key.row.pk)
    assert post(export({"name": "a"})).status == 401


def test_a_foreign_key_writes_into_its_own_project(
    asgi: Any, export: Export, api_key: Any, foreign_key: Any, as_alice: Any
) -> None:
    headers = {**PROTOBUF, **foreign_key.bearer}
    body = export({"name": "a"})
    assert asgi(door, "POST", "/v1/traces", body=body, headers=headers).status == 200
    assert as_alice.get("/api/projects/demo/traces").json()["data"] == []


def test_refused_spans_are_told_and_the_rest_is_stored(post: Any, export: Export) -> None:
    body = export({"name": "a"}, {"start_ns": 5}, {"start_ns": 6})
    answer = post(body)
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert answer.status == 200
    assert partial.rejected_spans == 2
    assert "out of range" in partial.error_message
    assert names() == ["a"]


def test_refused_spans_are_told_in_json(post: Any, export: Export) -> None:
    value = as_json(export({"name": "a"}, {"name": "b", "start_ns": 5}))
    answer = post(orjson.dumps(value), JSON)
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"


@pytest.mark.parametrize("at", [0, 3])
def test_a_wrong_id_refuses_the_export_whole(post: Any, export: Export, at: int) -> None:
    spans = [{"name": f"{number}"} for number in range(4)]
    spans[at] |= {"span_id": "00" * 8}
    answer = post(export(*spans))
    assert answer.status == 400
    assert b"spanId '0000000000000000'" in answer.body
    assert names() == []


@pytest.mark.parametrize("version", ["5", "4.0", "newest", "-1", "٣"])
def test_a_way_of_writing_that_is_not_known_is_refused(
    post: Any, export: Export, version: str
) -> None:
    given = {**PROTOBUF, "x-langfuse-ingestion-version": version}
    answer = post(export({"name": "a"}), given)
    assert (answer.status, names()) == (400, [])
    assert b"x-langfuse-ingestion-version" in answer.body


def test_an_export_of_refused_spans_only_is_400(post: Any, export: Export) -> None:
    assert post(export({"start_ns": 5})).status == 400


def test_an_empty_export_is_fine(post: Any) -> None:
    assert post(b"").status == 200
    assert post(b"{}", JSON).json() == {}


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"\xff\xff\xff", PROTOBUF),
        (b"{", JSON),
        (b'{"resourceSpans": 3}', JSON),
        (b'{"resourceSpans": [{"scopeSpans": {}}]}', JSON),
        (b"[" * 100_000, JSON),
        (b'{"resourceSpans":' * 5000, JSON),
        (b"\x80", JSON),
    ],
)
def test_what_is_no_export_is_refused_whole(
    post: Any, body: bytes, headers: dict[str, str]
) -> None:
    answer = post(body, headers)
    assert answer.status == 400
    assert b"body is not" in answer.body


def test_a_truncated_export_is_refused_whole(post: Any, export: Export) -> None:
    body = export({"name": "a"}, {"name": "b"})
    for length in range(1, len(body) - 1, 7):
        assert post(body[:length]).status in (200, 400)
    assert post(body[:-3]).status == 400
    assert post(gzip.compress(body)[:-9], **{"content-encoding": "gzip"}).status == 400


def test_other_content_types_are_415(post: Any) -> None:
    assert post(b"x", {"content-type": "text/plain"}).status == 415
    assert post(b"x", **{"content-encoding": "br"}).status == 415


def test_a_large_body_is_413(post: Any, settings: Settings) -> None:
    settings.HONE_TRACES_MAX_BODY_BYTES = 1000
    assert post(b"x" * 1001).status == 413


def test_a_bomb_is_413(post: Any, settings: Settings) -> None:
    settings.HONE_TRACES_MAX_INFLATED_BYTES = 1_000_000
    bomb = gzip.compress(bytes(50_000_000))
    assert post(bomb, **{"content-encoding": "gzip"}).status == 413


def test_it_only_allows_post(asgi: Any, api_key: Any) -> None:
    answer = asgi(door, "GET", "/v1/traces", headers=api_key.bearer)
    assert answer.status == 405
    answer = asgi(door, "POST", "/v1/traces/x", headers=api_key.bearer)
    assert answer.status == 404


def test_too_many_exports_at_once_are_503(
    post: Any, export: Export, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest._pending, "num_bytes", settings.HONE_TRACES_PENDING_BYTES)
    answer = post(export({"name": "a"}))
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")


def test_a_database_that_is_down_is_503(
    post: Any, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(writer, "parts_write", down)
    answer = post(export({"name": "a"}))
    assert answer.status == 503
    assert answer.headers["retry-after"]
    assert b"database" in answer.body


def test_ten_megabytes_in_one_span_work(post: Any, export: Export, as_alice: Any) -> None:
    text = "long " * 2_000_000
    assert post(export({"name": "a", "attributes": {"input.value": text}})).status == 200
    trace_id = as_alice.get("/api/projects/demo/traces").json()["data"][0]["id"]
    detail = as_alice.get(f"/api/projects/demo/traces/{trace_id}").json()
    assert detail["trace"]["input"] == text


@pytest.mark.django_db(transaction=True)
async def test_a_sender_that_stalls_is_sent_off(
    api_key: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_BODY_S", 0.05)
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {**PROTOBUF, **api_key.bearer, "content-length": "10"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/traces",
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
    }
    await ingest.application(scope, receive, send)
    assert sent[0]["status"] == 408
    assert ingest._pending.num_bytes == 0
