"""The public API as an SDK sees it: the whole routing, in this process, with Basic credentials."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
from django.test import Client
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from hone.common import clock
from hone.config import routing

FIXTURES = Path(__file__).parents[2] / "fixtures" / "langfuse"
RECORDED = datetime(2026, 11, 30, 14, tzinfo=UTC)  # an hour after the recordings

KEPT_HEADERS = (
    *("content-type", "content-encoding", "user-agent"),
    *("x-langfuse-sdk-name", "x-langfuse-sdk-version", "x-langfuse-ingestion-version"),
)


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]

    def json(self) -> Any:
        return orjson.loads(self.body)


class Sdk:
    """Sends requests with one key, to a raw door or else to Django, and reads JSON."""

    def __init__(self, asgi: Callable[..., Any], key: Any) -> None:
        pair = f"{key.row.public_key}:{key.secret}".encode()
        self.asgi, self.django = asgi, Client()
        self.headers = {"authorization": f"Basic {base64.b64encode(pair).decode()}"}

    def send(
        self, method: str, path: str, *, body: bytes = b"", query: Any = (), **more: str
    ) -> Answer:
        headers = {"content-type": "application/json", **self.headers, **more}
        pairs = urlencode(query if isinstance(query, dict) else [*map(tuple, query)], doseq=True)
        door = next((d for prefix, d in routing.DOORS if routing.is_below(path, prefix)), None)
        if door is not None:
            raw = self.asgi(door, method, path, body=body, headers=headers, query=pairs)
            return Answer(raw.status, raw.body, raw.headers)
        kind = headers.pop("content-type")
        found = self.django.generic(method, f"{path}?{pairs}", body, kind, headers=headers)
        return Answer(found.status_code, found.content, dict(found.headers))

    def get(self, path: str, **query: Any) -> Any:
        """The JSON of a GET below /api/public that succeeds."""
        answer = self.send("GET", f"/api/public/{path}", query=query)
        assert answer.status == 200, answer.body
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        """The answer to a POST below /api/public."""
        return self.send("POST", f"/api/public/{path}", body=orjson.dumps(body))

    def batch(self, *events: dict[str, Any]) -> Any:
        """Send legacy events; all of them must be taken."""
        answer = self.post("ingestion", {"batch": list(events)})
        assert answer.status == 207, answer.body
        assert answer.json()["errors"] == []
        return answer.json()


@pytest.fixture
def sdk(asgi, api_key) -> Sdk:
    return Sdk(asgi, api_key)


@pytest.fixture
def foreign_sdk(asgi, foreign_key) -> Sdk:
    return Sdk(asgi, foreign_key)


@pytest.fixture
def at_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the hour of the recordings."""
    monkeypatch.setattr(clock, "now", lambda: RECORDED)
    monkeypatch.setattr(clock, "now_ns", lambda: int(RECORDED.timestamp()) * 10**9)


def recorded(name: str) -> list[dict[str, Any]]:
    """The requests of a recording, in order."""
    text = (FIXTURES / f"{name}.json").read_bytes()
    requests: list[dict[str, Any]] = orjson.loads(text)["requests"]
    return requests


def body_of(request: dict[str, Any]) -> bytes:
    """What was on the wire; an export of which only the reading was kept is written again."""
    if raw := request.get("raw_body_b64"):
        return base64.b64decode(raw)
    if request["body"] is None:
        return b""
    if "protobuf" in request["headers"].get("content-type", ""):
        return protobuf_of(request["body"])
    return orjson.dumps(request["body"])


def protobuf_of(body: dict[str, Any]) -> bytes:
    def with_ids(value: Any) -> Any:
        if isinstance(value, list):
            return [with_ids(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: base64.b64encode(bytes.fromhex(item)).decode()
            if key in ("traceId", "spanId", "parentSpanId")
            else with_ids(item)
            for key, item in value.items()
        }

    return ParseDict(with_ids(body), ExportTraceServiceRequest()).SerializeToString()


@pytest.fixture
def replay(sdk: Sdk, at_recording: None) -> Callable[[str], list[tuple[dict[str, Any], Any]]]:
    """`replay("python-5.0.4")` sends all requests of a recording: pairs of request and answer."""

    def send(name: str) -> list[tuple[dict[str, Any], Any]]:
        answers = []
        for request in recorded(name):
            headers = {k: v for k, v in request["headers"].items() if k in KEPT_HEADERS}
            answer = sdk.send(
                request["method"],
                request["path"],
                body=body_of(request),
                query=request["query"],
                **headers,
            )
            answers.append((request, answer))
        return answers

    return send
