"""A model server that others run (OpenAI's shapes), and a client of the /v1 door."""

import asyncio
import socket
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
import uvicorn
from asgiref.sync import async_to_sync
from django.db import connection as database

from hone.accounts.models import Project
from hone.common import broker
from hone.common.asgi import DisconnectedError, Message, Receive, Scope, Send
from hone.gateway.api import application
from hone.gateway.models import Connection
from hone.gateway.services import calls, connections
from hone.gateway.services.upstream import clients_close
from hone.prompts.services import Author, prompt_create
from hone.traces.services.writer import writer

WORDS = ("The ", "sea ", "is ", "blue.")
USAGE = {
    "prompt_tokens": 12,
    "completion_tokens": 4,
    "total_tokens": 16,
    "prompt_tokens_details": {"cached_tokens": 5},
}


def chunk(text: str | None, finish: str | None = None) -> dict[str, Any]:
    delta = {} if text is None else {"content": text}
    return {
        "id": "c-1",
        "object": "chat.completion.chunk",
        "model": "far",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def timings() -> dict[str, float]:
    now = time.time()
    return {
        "queued_at": now - 0.4,
        "started_at": now - 0.3,
        "first_token_at": now - 0.2,
        "finished_at": now,
        "tokens_per_second": 20.0,
    }


@dataclass
class Far:
    """The server's own view: what it was sent, and whether its clients hung up."""

    url: str = ""
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {k.decode(): v.decode() for k, v in scope["headers"]}
        if scope["path"] == "/v1/models":
            return await self.whole(send, 200, {"data": [{"id": "far"}, {"id": "farther"}]})
        sent = orjson.loads(body)
        self.requests.append((headers, sent))
        await self.behave(sent, receive, send)

    async def behave(self, sent: dict[str, Any], receive: Receive, send: Send) -> None:
        model = sent["model"]
        if model.isdigit():
            error = {"message": f"no, {model}", "type": "t", "param": "p", "code": "c"}
            return await self.whole(send, int(model), {"error": error})
        if model == "hang":
            while (await receive())["type"] != "http.disconnect":
                pass
            self.hung_up.set()
            return None
        if not sent.get("stream"):
            message = {"role": "assistant", "content": "".join(WORDS)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            answer = {"model": "far", "choices": [choice], "usage": USAGE, "timings": timings()}
            return await self.whole(send, 200, answer)
        await self.stream(sent, receive, send)

    async def whole(self, send: Send, status: int, value: object) -> None:
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": orjson.dumps(value)})

    async def stream(self, sent: dict[str, Any], receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

        async def event(value: object) -> None:
            data = b"data: " + orjson.dumps(value) + b"\n\n"
            await send({"type": "http.response.body", "body": data, "more_body": True})

        for word in WORDS:
            await event(chunk(word))
            if sent["model"] == "cut":
                raise RuntimeError("cut")
            if sent["model"] == "endless":
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.hung_up.set()
                return
        await event({**chunk(None, "stop"), "timings": timings()})
        if sent["stream_options"]["include_usage"]:
            await event({"model": "far", "choices": [], "usage": USAGE})
        done = b"data: [DONE]\n\n"
        await send({"type": "http.response.body", "body": done, "more_body": False})


@pytest.fixture(scope="session")
def far_server() -> Iterator[Far]:
    far = Far()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        config = uvicorn.Config(far, lifespan="off", log_config=None, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        far.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        yield far
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def far(far_server: Far) -> Far:
    far_server.requests.clear()
    far_server.hung_up.clear()
    return far_server


@pytest.fixture(autouse=True)
def inner_network_allowed(settings: Any) -> None:
    """The far server is on loopback."""
    settings.HONE_ALLOW_PRIVATE_CONNECTIONS = True


MODELS = ["far", "cut", "endless", "hang", "400", "401", "404", "429", "500", "503"]


@pytest.fixture
def far_connection(project: Project, far: Far) -> Connection:
    connections.upstreams_forget()
    return connections.connection_create(
        project=project, name="far", base_url=far.url, api_key="far-secret-key", models=MODELS
    )


@dataclass
class Reply:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        return self.json()["error"]  # type: ignore[no-any-return]

    def events(self) -> list[Any]:
        """The data of the events; [DONE] as text."""
        data = [part[6:] for part in self.body.split(b"\n\n") if part.startswith(b"data: ")]
        return [part.decode() if part == b"[DONE]" else orjson.loads(part) for part in data]


Ask = Callable[..., Reply]


async def loop_settled() -> None:
    """Nothing of the gateway runs in this event loop any more."""
    await calls.traces_written()
    await clients_close()
    if teller := writer().teller:
        await teller
    await broker.aclose()


@pytest.fixture
def settled() -> Callable[[], Awaitable[None]]:
    """To be awaited at the end of an event loop that called the gateway."""
    return loop_settled


def ask_door(
    path: str = "/v1/chat/completions",
    body: object = None,
    *,
    headers: dict[str, str] | None = None,
    method: str = "POST",
    hang_up: bool | Callable[[], bool] = False,
) -> Reply:
    """One request to the door. `hang_up` True: after the first event; else once it says so."""
    reply = Reply()
    raw = body if isinstance(body, bytes) else orjson.dumps(body)

    async def run() -> None:
        gone = asyncio.Event()
        pending = [{"type": "http.request", "body": raw, "more_body": False}]

        async def receive() -> Message:
            if pending:
                return pending.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                reply.status = message["status"]
                reply.headers = {k.decode(): v.decode() for k, v in message["headers"]}
                return
            reply.body += message.get("body", b"")
            if hang_up is True:
                gone.set()

        async def watch() -> None:
            assert callable(hang_up)
            while not hang_up():
                await asyncio.sleep(0.01)
            gone.set()

        watching = asyncio.create_task(watch()) if callable(hang_up) else None
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()],
        }
        try:
            with suppress(DisconnectedError):
                await application(scope, receive, send)
        finally:
            if watching is not None:
                await watching
            await loop_settled()

    async_to_sync(run)()
    return reply


@pytest.fixture
def ask(api_key: Any) -> Ask:
    """`ask(path, body, headers=…)` with the project's key."""

    def call(path: str = "/v1/chat/completions", body: object = None, **more: Any) -> Reply:
        headers = {**api_key.bearer, **more.pop("headers", {})}
        return ask_door(path, body, headers=headers, **more)

    return call


@pytest.fixture
def ask_with() -> Ask:
    """`ask_with(path, body, headers=…)` with the caller's own headers, or none."""
    return ask_door


def _say(model: str = "far", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "How is the sea?"}], **more}


CHILDREN = (
    "chat completion",
    "text completion",
    "batch item",
    "generation",
    "queue",
    "prefill",
    "decode",
)


def observations(project: Project) -> list[dict[str, Any]]:
    """The stored spans of a project, the root first, JSON columns decoded."""
    with database.cursor() as cursor:
        cursor.execute(
            "SELECT encode(trace_id, 'hex') AS trace, encode(span_id, 'hex') AS span,"
            " encode(parent_span_id, 'hex') AS parent, name, type, status, level, status_message,"
            " model, model_parameters, input, output, metadata, usage, cost, prompt_name,"
            " prompt_version, session_id, user_id, trace_name, tags, start_time, end_time,"
            " first_token_at FROM traces_observation WHERE project_id = %s",
            [project.pk],
        )
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return sorted(rows, key=lambda row: (row["trace"], CHILDREN.index(row["name"])))


@pytest.fixture
def say() -> Callable[..., dict[str, Any]]:
    """`say(model, **more)`: the body of a small chat request."""
    return _say


@pytest.fixture
def traced(project: Project) -> Callable[[], list[dict[str, Any]]]:
    """The spans stored in Alice's project."""
    return lambda: observations(project)


@pytest.fixture
def greeting(project: Project) -> None:
    """The prompt greet@production."""
    prompt_create(
        project=project,
        author=Author("Alice"),
        name="greet",
        type="chat",
        prompt=[{"role": "system", "content": "Greet {{name}}."}],
        config={"model": "other", "temperature": 0.1, "max_tokens": 7},
        labels=["production"],
    )


@pytest.fixture
def dead_owner() -> str:
    """The name of a process of this host that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return f"{socket.gethostname()}:{process.pid}"
