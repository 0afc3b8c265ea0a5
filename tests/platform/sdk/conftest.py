"""A collector that records what the SDK sends. These tests need no Django: they also run without
the folder above (`--confcutdir=tests/platform/sdk`), on any Python that Hone supports."""

import gzip
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import hone.sdk as hone

PATIENCE_S = 20.0


def value_of(value: dict[str, Any]) -> Any:
    """An OTLP attribute value as Python's."""
    ((kind, inner),) = value.items()
    if kind == "arrayValue":
        return [value_of(item) for item in inner["values"]]
    if kind == "kvlistValue":
        return pairs_of(inner["values"])
    return int(inner) if kind == "intValue" else inner


def pairs_of(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    return {pair["key"]: value_of(pair["value"]) for pair in pairs}


@dataclass(frozen=True)
class Sent:
    """A span as it arrived."""

    name: str
    trace_id: str
    id: str
    parent_id: str | None
    attributes: dict[str, Any]
    resource: dict[str, Any]
    status: dict[str, Any]
    kind: int
    events: list[dict[str, Any]]

    def said(self, key: str) -> Any:
        """An attribute of the observation, JSON decoded where it is."""
        value = self.attributes.get(f"langfuse.observation.{key}")
        try:
            return json.loads(value)
        except (TypeError, ValueError):
            return value


def spans_in(body: Any) -> list[Sent]:
    return [
        Sent(
            name=span["name"],
            trace_id=span["traceId"],
            id=span["spanId"],
            parent_id=span.get("parentSpanId"),
            attributes=pairs_of(span["attributes"]),
            resource=pairs_of(group["resource"]["attributes"]),
            status=span["status"],
            kind=span["kind"],
            events=span.get("events", []),
        )
        for group in body["resourceSpans"]
        for scope in group["scopeSpans"]
        for span in scope["spans"]
    ]


@dataclass
class Collector:
    """`answers` are given one by one, (status, headers, body); then every request succeeds."""

    url: str = ""
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    prompts: dict[str, tuple[int, Any]] = field(default_factory=dict)
    other: Callable[[str, Any], tuple[dict[str, str], bytes] | None] | None = None

    @property
    def spans(self) -> list[Sent]:
        """Everything delivered so far."""
        hone.flush(PATIENCE_S)
        exports = [body for _, path, body in self.requests if path == "/v1/traces"]
        return [span for body in exports for span in spans_in(body)]

    @property
    def scores(self) -> list[Any]:
        hone.flush(PATIENCE_S)
        return [s for _, path, body in self.requests if path == "/api/public/scores" for s in body]

    def named(self, name: str) -> Sent:
        found = [span for span in self.spans if span.name == name]
        assert len(found) == 1, f"{len(found)} spans {name!r} among {[s.name for s in self.spans]}"
        return found[0]

    def take(self, method: str, path: str, raw: bytes, headers: dict[str, str]) -> Any:
        """What to answer to one request."""
        raw = gzip.decompress(raw) if headers.get("Content-Encoding") == "gzip" else raw
        body = json.loads(raw) if raw else None
        if path in self.prompts:
            status, answer = self.prompts[path]
            self.requests.append((method, path, body))
            return status, {"Content-Type": "application/json"}, json.dumps(answer).encode()
        if self.other is not None and (found := self.other(path, body)) is not None:
            self.headers.append(headers)
            return 200, *found
        if self.answers:
            answer = self.answers.pop(0)
            if answer[0] != 200:
                return answer
        else:
            answer = (200, {}, b"{}")
        self.headers.append(headers)
        self.requests.append((method, path, body))
        return answer


def handler_of(collector: Collector) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, body = collector.take(
                self.command, self.path, raw, dict(self.headers.items())
            )
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A server that answers as Hone does; nothing is recorded yet."""
    made = Collector()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(made))
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.answers.clear()
    hone.shutdown()
    server.shutdown()
    server.server_close()


@pytest.fixture
def start(collector: Collector) -> Callable[..., Collector]:
    """`start(mask=...)`: the SDK records into the collector."""

    def begin(**options: Any) -> Collector:
        given = {"secret_key": "sk-test", "set_global": False, "flush_interval_s": 0.02}
        assert hone.init(collector.url, **{**given, **options})
        return collector

    return begin


@pytest.fixture
def sent(start: Callable[..., Collector]) -> Collector:
    """The collector, with the SDK recording into it."""
    return start()


@pytest.fixture
def wait_for() -> Callable[[Callable[[], Any]], Any]:
    """The first true answer to a question."""

    def wait(question: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while not (answer := question()):
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.01)
        return answer

    return wait
