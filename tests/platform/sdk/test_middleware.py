"""A trace for each request of any application, from its first byte to its last."""

import asyncio
import socket
import threading
import wsgiref.util
from collections.abc import AsyncIterator, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

import hone.sdk as hone
from hone.sdk.middleware import asgi, wsgi

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def scope(path: str = "/shop/7", **more: Any) -> dict[str, Any]:
    headers = [(b"traceparent", PARENT.encode()), (b"cookie", b"secret=1")]
    return {"type": "http", "method": "GET", "path": path, "headers": headers, **more}


class Template:
    path = "/shop/{number}"


class User:
    is_authenticated = True
    display_name = "alice"


async def ask(app: Any, given: dict[str, Any], *, gone_after: int | None = None) -> list[Any]:
    """Call an ASGI application; the client hangs up after that many messages."""
    messages: list[Any] = []
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)
        if gone_after is not None and len(messages) >= gone_after:
            gone.set()

    await app(given, receive, send)
    return messages


async def answer(send: Any, *parts: bytes, status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"a", b"b")]})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
        await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def spans_of(sent: Any) -> list[Any]:
    return await asyncio.to_thread(lambda: sent.spans)  # type: ignore[no-any-return]


async def test_a_request_is_a_trace_that_goes_on_where_the_caller_is(sent: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["route"], scope["user"] = Template(), User()
        with hone.span("inside"):
            await answer(send, b"x")
        with hone.span("background"):
            await asyncio.sleep(0)

    messages = await ask(asgi.HoneMiddleware(app), scope())
    spans = {span.name: span for span in await spans_of(sent)}
    request = spans["GET /shop/{number}"]
    assert (request.trace_id, request.parent_id) == (PARENT[3:35], PARENT[36:52])
    assert request.kind == 2
    assert request.attributes["http.route"] == "/shop/{number}"
    assert request.attributes["http.request.method"] == "GET"
    assert request.attributes["url.path"] == "/shop/7"
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["user.id"] == "alice"
    assert spans["inside"].parent_id == spans["background"].parent_id == request.id
    assert "secret" not in str(sent.requests)
    header = dict(messages[0]["headers"])[b"traceresponse"].decode()
    assert header.split("-")[1:3] == [request.trace_id, request.id]
    assert (b"a", b"b") in messages[0]["headers"]


async def test_a_stream_ends_with_its_last_byte(sent: Any) -> None:
    ended: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, b"1", b"2", b"3")
        ended.append(len(await spans_of(sent)))  # before the application returns

    messages = await ask(asgi.HoneMiddleware(app), scope())
    assert [m.get("body") for m in messages[1:]] == [b"1", b"2", b"3", b""]
    assert ended == [1]
    assert len(await spans_of(sent)) == 1


async def test_a_client_that_hangs_up_is_a_warning_and_no_error(sent: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def stream() -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
                await asyncio.sleep(0)

        streaming = asyncio.create_task(stream())
        while (await receive())["type"] != "http.disconnect":
            pass
        streaming.cancel()

    await ask(asgi.HoneMiddleware(app), scope(), gone_after=5)
    (span,) = await spans_of(sent)
    assert (span.said("level"), span.said("status_message")) == (
        "WARNING",
        "the client disconnected",
    )
    assert span.status["code"] == 0


async def test_a_server_that_raises_because_the_client_has_gone_is_a_warning(sent: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ConnectionResetError("peer")

    with pytest.raises(ConnectionResetError):
        await ask(asgi.HoneMiddleware(app), scope())
    (span,) = await spans_of(sent)
    assert span.said("level") == "WARNING"


async def test_an_applications_error_is_recorded_and_raised(sent: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise ZeroDivisionError("in the view")

    with pytest.raises(ZeroDivisionError):
        await ask(asgi.HoneMiddleware(app), scope())
    (span,) = await spans_of(sent)
    assert span.said("status_message") == "ZeroDivisionError: in the view"
    assert hone.current().id is None


@pytest.mark.parametrize(("status", "level"), [(404, None), (500, "ERROR")])
async def test_only_a_servers_fault_is_an_error(sent: Any, status: int, level: str | None) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, status=status)

    await ask(asgi.HoneMiddleware(app), scope())
    (span,) = await spans_of(sent)
    assert span.said("level") == level
    assert span.name == "GET /shop/7"


async def test_sockets_lifespan_and_skipped_paths_pass_through_untouched(start: Any) -> None:
    sent = start(skip_paths=("/health", "/static/"))
    seen: list[Any] = []

    async def app(*given: Any) -> None:
        seen.append(given)

    traced = asgi.HoneMiddleware(app)
    receive, send = object(), object()
    for given in (
        {"type": "websocket", "path": "/ws", "headers": []},
        {"type": "lifespan"},
        scope("/health"),
        scope("/health/db"),
        scope("/static/x.js"),
    ):
        await traced(given, receive, send)  # type: ignore[arg-type]
        assert seen[-1] == (given, receive, send)
    await asgi.HoneMiddleware(app, skip_paths=())(scope("/healthy"), receive, send)  # type: ignore[arg-type]
    assert [span.name for span in await spans_of(sent)] == ["GET /healthy"]


async def test_requests_at_once_do_not_mix(sent: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0)
        with hone.span("work", input=scope["path"]):
            await asyncio.sleep(0)
        await answer(send, b"x")

    traced = asgi.HoneMiddleware(app)
    given = [{**scope(f"/{n}"), "headers": []} for n in range(20)]
    await asyncio.gather(*(ask(traced, one) for one in given))
    spans = await spans_of(sent)
    requests = {span.id: span.name for span in spans if span.kind == 2}
    assert len(requests) == 20
    for span in spans:
        if span.name == "work":
            assert requests[span.parent_id] == f"GET {span.said('input')}"


async def test_starlette_names_its_routes_and_streams(sent: Any) -> None:
    async def shop(request: Request) -> Response:
        with hone.span("view"):
            return PlainTextResponse("shop")

    async def stream(request: Request) -> Response:
        async def parts() -> AsyncIterator[str]:
            for number in range(3):
                with hone.span(f"part {number}"):
                    yield "x"

        return StreamingResponse(parts())

    async def endless(request: Request) -> Response:
        async def parts() -> AsyncIterator[str]:
            while True:
                yield "x"
                await asyncio.sleep(0)

        return StreamingResponse(parts())

    app = Starlette(
        routes=[
            Route("/shop/{number:int}/{name}", shop),
            Route("/stream", stream),
            Mount("/sub", routes=[Route("/endless", endless)]),
        ]
    )
    app.add_middleware(asgi.HoneMiddleware)
    more = {"query_string": b"", "http_version": "1.1", "server": ("t", 80), "scheme": "http"}
    await ask(app, scope("/shop/7/bike", **more))
    await ask(app, scope("/stream", **more))
    await ask(app, scope("/sub/endless", **more), gone_after=5)
    await ask(app, scope("/nowhere", **more))
    spans = {span.name: span for span in await spans_of(sent)}
    assert spans["view"].parent_id == spans["GET /shop/{number}/{name}"].id
    assert spans["part 2"].parent_id == spans["GET /stream"].id
    assert spans["GET /stream"].said("level") is None
    assert spans["GET /sub/endless"].said("status_message") == "the client disconnected"
    assert spans["GET /nowhere"].attributes["http.response.status_code"] == 404


def test_a_route_is_put_together_of_parameters_where_nobody_names_it() -> None:
    given = scope("/shop/7/7", endpoint=len, path_params={"number": 7, "page": 7})
    assert asgi.route_of(given) == "/shop/{number}/{page}"
    assert asgi.route_of(scope("/shop/7")) is None


class Served:
    """A WSGI application on a real server, one request at a time."""

    def __init__(self, app: Any) -> None:
        class Quiet(WSGIRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                return

        self.server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def ask(self, *, read: int = -1) -> bytes:
        with socket.create_connection(("127.0.0.1", self.server.server_port), 10) as client:
            client.sendall(f"GET /shop/7 HTTP/1.0\r\ntraceparent: {PARENT}\r\n\r\n".encode())
            if read >= 0:
                return client.recv(read)
            found = b""
            while piece := client.recv(65536):
                found += piece
            return found


@pytest.fixture
def serve() -> Iterator[Any]:
    made: list[Served] = []

    def begin(app: Any) -> Served:
        made.append(Served(app))
        return made[-1]

    yield begin
    for served in made:
        served.server.shutdown()
        served.server.server_close()


def test_a_wsgi_request_is_a_trace(sent: Any, serve: Any) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        environ["REMOTE_USER"], environ["hone.route"] = "bob", "/shop/<number>"
        with hone.span("inside"):
            start_response("201 Created", [("A", "B")])
        return [b"hello"]

    said = serve(wsgi.HoneMiddleware(app)).ask()
    request, inside = sent.named("GET /shop/<number>"), sent.named("inside")
    assert said.endswith(b"\r\n\r\nhello")
    assert b"201 Created" in said
    assert b"A: B" in said
    assert f"traceresponse: 00-{request.trace_id}-{request.id}".encode() in said
    assert b"Content-Length: 5" in said, "the body stayed a list"
    assert (request.trace_id, request.parent_id) == (PARENT[3:35], PARENT[36:52])
    assert request.attributes["http.response.status_code"] == 201
    assert request.attributes["user.id"] == "bob"
    assert inside.parent_id == request.id


def test_a_wsgi_stream_is_inside_to_its_end(sent: Any, serve: Any) -> None:
    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        for number in range(3):
            with hone.span(f"part {number}"):
                yield b"x"

    assert serve(wsgi.HoneMiddleware(app)).ask().endswith(b"xxx")
    request = sent.named("GET /shop/7")
    assert [sent.named(f"part {n}").parent_id for n in range(3)] == [request.id] * 3
    assert request.said("level") is None


def test_a_wsgi_client_that_hangs_up_is_a_warning(sent: Any, wait_for: Any) -> None:
    closed = []

    class Endless:
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b"x" * 1000

        def close(self) -> None:
            closed.append(True)

    def app(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [])
        return Endless()

    environ: dict[str, Any] = {"PATH_INFO": "/x"}
    wsgiref.util.setup_testing_defaults(environ)
    body: Any = wsgi.HoneMiddleware(app)(environ, lambda *given: None)
    assert next(iter(body)) == b"x" * 1000
    assert not sent.spans
    body.close()
    (span,) = sent.spans
    assert span.said("status_message") == "the client disconnected"
    assert closed == [True]


def test_a_wsgi_error_is_recorded_and_raised(sent: Any) -> None:
    def raises(environ: Any, start_response: Any) -> Any:
        raise KeyError("view")

    def streams(environ: Any, start_response: Any) -> Iterator[bytes]:
        yield b"x"
        raise KeyError("stream")

    environ: dict[str, Any] = {}
    wsgiref.util.setup_testing_defaults(environ)
    with pytest.raises(KeyError, match="view"):
        wsgi.HoneMiddleware(raises)(environ, lambda *given: None)
    with pytest.raises(KeyError, match="stream"):
        list(wsgi.HoneMiddleware(streams)(environ, lambda *given: None))
    assert [span.said("status_message") for span in sent.spans] == [
        "KeyError: 'view'",
        "KeyError: 'stream'",
    ]


def test_without_init_nothing_is_between() -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        return [b"x"]

    assert wsgi.HoneMiddleware(app)({"REQUEST_METHOD": "GET"}, lambda *given: None) == [b"x"]
