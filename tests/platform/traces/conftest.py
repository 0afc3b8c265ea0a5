import http.client
import inspect
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from hone.common import clock
from hone.traces.core.span import Span
from hone.traces.services import erasing, spans_ingest, writer
from hone.traces.services.intake import intake_forget

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0
TRACE = "ab" * 16
SECOND_NS = 10**9


@pytest.fixture(autouse=True)
def fresh_intake() -> None:
    """Prices and masks of another test's project are not this test's."""
    intake_forget()


@pytest.fixture
def base_ns() -> int:
    """A whole second, an hour ago."""
    return (clock.now_ns() // SECOND_NS - 3600) * SECOND_NS


@pytest.fixture
def make_span(base_ns: int) -> Callable[..., Span]:
    """`make_span(3, name="x")`: span 3 of a trace, a second after span 2; span 0 is the root."""

    def make(number: int = 0, **values: Any) -> Span:
        given: dict[str, Any] = {
            "trace_id": TRACE,
            "span_id": f"{number + 1:016x}",
            "parent_span_id": None if number == 0 else f"{1:016x}",
            "name": f"step {number}",
            "start_ns": base_ns + number * SECOND_NS,
            "end_ns": base_ns + number * SECOND_NS + SECOND_NS // 2,
        }
        return Span(**(given | values))

    return make


def export_of(
    spans: Sequence[dict[str, Any]], base_ns: int, resource: dict[str, str] | None = None
) -> ExportTraceServiceRequest:
    """An OTLP export of spans given as field values; attributes are strings or integers."""
    request = ExportTraceServiceRequest()
    of_resource = request.resource_spans.add()
    for key, text in (resource or {}).items():
        pair = of_resource.resource.attributes.add(key=key)
        pair.value.string_value = text
    scope_spans = of_resource.scope_spans.add()
    for number, values in enumerate(spans):
        message = scope_spans.spans.add(
            trace_id=bytes.fromhex(values.get("trace_id", TRACE)),
            span_id=bytes.fromhex(values.get("span_id", f"{number + 1:016x}")),
            name=values.get("name", f"step {number}"),
            start_time_unix_nano=values.get("start_ns", base_ns),
            end_time_unix_nano=values.get("end_ns", base_ns + SECOND_NS),
        )
        for key, value in values.get("attributes", {}).items():
            pair = message.attributes.add(key=key)
            if isinstance(value, int):
                pair.value.int_value = value
            else:
                pair.value.string_value = value
    return request


@pytest.fixture
def export(base_ns: int) -> Callable[..., bytes]:
    """`export({"name": "x", "attributes": {...}}, ...)`: a serialized OTLP request."""

    def make(*spans: dict[str, Any], resource: dict[str, str] | None = None) -> bytes:
        return export_of(spans, base_ns, resource).SerializeToString()

    return make


@pytest.fixture(autouse=True)
def settled_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test in one transaction is itself a writer that an erasure would wait for in vain."""
    marker = request.node.get_closest_marker("django_db")
    if marker is not None and not marker.kwargs.get("transaction", False):
        monkeypatch.setattr(erasing, "SETTLE_S", 0.0)


@pytest.fixture
async def announced() -> AsyncIterator[None]:
    """What the test wrote is announced before its event loop ends."""
    yield
    await writer.writer().told()


@pytest.fixture(autouse=True)
def announced_after_async_tests(request: pytest.FixtureRequest) -> None:
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("broker_closed")  # later: fixtures end in reverse order
        request.getfixturevalue("announced")


@dataclass
class Server:
    """A web process that can be killed and started again."""

    port: int
    database_url: str
    process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PGOPTIONS": "-c synchronous_commit=off",  # must not make a 200 a lie
            "DJANGO_SETTINGS_MODULE": "hone.config.settings.prod",
            "PYTHONPATH": f"{ROOT / 'platform'}",
            "DATABASE_URL": self.database_url,
            "REDIS_URL": settings.REDIS_URL,
            "HONE_REDIS_PREFIX": settings.HONE_REDIS_PREFIX,
            "HONE_SERVER_SECRET": settings.SECRET_KEY,
            "HONE_LOG_LEVEL": "CRITICAL",
        }

    def start(self) -> None:
        app = "hone.config.asgi:application"
        command = [sys.executable, "-m", "uvicorn", app, "--lifespan", "off"]
        options = ["--port", str(self.port), "--log-level", "error"]
        self.process = subprocess.Popen([*command, *options], env=self.environment)
        deadline = time.monotonic() + PATIENCE_S
        while not self.answers():
            assert self.process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE_S)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/traces"


@contextmanager
def servers_made() -> Iterator[Callable[[str], Server]]:
    """Makes web processes on free ports; they end with the block."""
    started: list[Server] = []

    def make(database_url: str) -> Server:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        started.append(Server(port, database_url))
        return started[-1]

    yield make
    for server in started:
        server.kill()


@pytest.fixture
def make_server() -> Iterator[Callable[[str], Server]]:
    """`make_server(database_url)`: a web process that answers; it ends with the test."""
    with servers_made() as make:
        yield make


@pytest.fixture(scope="module")
def make_standing_server() -> Iterator[Callable[[str], Server]]:
    """As `make_server`, for all tests of a module."""
    with servers_made() as make:
        yield make


@dataclass
class Sender(threading.Thread):
    """Posts one span after the other and retries each until it is acknowledged."""

    server: Server
    secret: str
    export: Callable[..., bytes]
    number: int
    stop: threading.Event = field(default_factory=threading.Event)
    acknowledged: list[str] = field(default_factory=list)
    failures: Counter[int | str] = field(default_factory=Counter)  # status or exception

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        sent = 0
        while not self.stop.is_set():
            span_id = f"{self.number + 1:08x}{sent + 1:08x}"
            # Ten spans a trace, so that batches also meet traces that exist already.
            trace_id = f"{self.number + 1:016x}{sent // 10 + 1:016x}"
            body = self.export({"span_id": span_id, "trace_id": trace_id, "name": "x" * 500})
            while (outcome := self.posted(body)) != 200:
                self.failures[outcome] += 1
                time.sleep(0.02)
            self.acknowledged.append(span_id)
            sent += 1

    def posted(self, body: bytes) -> int | str:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=40)
        headers = {
            "Content-Type": "application/x-protobuf",
            "Authorization": f"Bearer {self.secret}",
        }
        try:
            connection.request("POST", "/v1/traces", body, headers)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        finally:
            connection.close()


class Load:
    """Four senders at once."""

    def __init__(self, senders: list[Sender]) -> None:
        self.senders = senders
        for sender in senders:
            sender.start()

    def acknowledged(self) -> list[str]:
        return sorted(span_id for sender in self.senders for span_id in sender.acknowledged)

    def failures(self) -> Counter[int | str]:
        return sum((sender.failures for sender in self.senders), Counter())

    def wait_for(self, more: int) -> None:
        """Until `more` spans have been acknowledged from now on."""
        known, deadline = len(self.acknowledged()), time.monotonic() + PATIENCE_S
        while len(self.acknowledged()) < known + more:
            assert time.monotonic() < deadline, self.failures()
            time.sleep(0.005)

    def end(self) -> None:
        for sender in self.senders:
            sender.stop.set()
        for sender in self.senders:
            sender.join(PATIENCE_S)


@pytest.fixture
def make_load(export: Callable[..., bytes]) -> Iterator[Callable[[Server, str], Load]]:
    """`make_load(server, secret_key)`: senders that retry until acknowledged."""
    made: list[Load] = []

    def make(server: Server, secret: str) -> Load:
        made.append(Load([Sender(server, secret, export, number) for number in range(4)]))
        return made[-1]

    yield make
    for load in made:
        load.end()


@pytest.fixture
def make_trace(project: Any, make_span: Callable[..., Span]) -> Callable[..., None]:
    """`make_trace(trace_id, span_id=…)` stores a trace of one span in Alice's project."""

    def make(trace_id: str, **values: Any) -> None:
        spans_ingest(project_id=project.pk, spans=[make_span(trace_id=trace_id, **values)])

    return make
