"""The middleware in Django itself, sync and async."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIHandler
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import AsyncClient, Client
from django.urls import path
from pytest_django import Settings

import hone.sdk as hone

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def shop(request: HttpRequest, number: int) -> HttpResponse:
    with hone.span("view"):
        return HttpResponse(f"shop {number}")


async def shop_async(request: HttpRequest, number: int) -> HttpResponse:
    async with hone.span("view"):
        await asyncio.sleep(0)
    return HttpResponse(f"shop {number}")


def stream(request: HttpRequest) -> StreamingHttpResponse:
    def parts() -> Iterator[str]:
        for number in range(3):
            with hone.span(f"part {number}"):
                yield "x"

    return StreamingHttpResponse(parts())


async def stream_async(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[str]:
        for number in range(3):
            async with hone.span(f"part {number}"):
                await asyncio.sleep(0)
                yield "x"

    return StreamingHttpResponse(parts())


async def endless(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[str]:
        while True:
            yield "x"
            await asyncio.sleep(0.001)

    return StreamingHttpResponse(parts())


def me(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(request.user.is_authenticated))


def fails(request: HttpRequest) -> HttpResponse:
    raise LookupError("in the view")


def missing(request: HttpRequest) -> HttpResponse:
    raise Http404("nothing here")


urlpatterns = [
    path("shop/<int:number>", shop),
    path("shop-async/<int:number>", shop_async),
    path("stream", stream),
    path("stream-async", stream_async),
    path("endless", endless),
    path("me", me),
    path("fails", fails),
    path("missing", missing),
]


@pytest.fixture
def django(settings: Settings, sent: Any) -> Any:
    """The collector of a Django that has the middleware first and these addresses."""
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = ["hone.sdk.middleware.django.middleware"]
    return sent


def test_a_request_is_a_trace_with_its_route(django: Any) -> None:
    answer = Client().get("/shop/7?q=secret", headers={"traceparent": PARENT})
    assert answer.content == b"shop 7"
    request, view = django.named("GET /shop/<int:number>"), django.named("view")
    assert (request.trace_id, request.parent_id) == (PARENT[3:35], PARENT[36:52])
    assert view.parent_id == request.id
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["url.path"] == "/shop/7"
    assert "secret" not in str(request)
    assert answer.headers["traceresponse"].split("-")[2] == request.id


async def test_an_async_request_is_a_trace(django: Any) -> None:
    answer = await AsyncClient().get("/shop-async/7")
    assert answer.content == b"shop 7"
    spans = await asyncio.to_thread(lambda: {span.name: span for span in django.spans})
    assert spans["view"].parent_id == spans["GET /shop-async/<int:number>"].id


def test_a_view_that_raises_is_an_error_with_its_message(django: Any) -> None:
    answer = Client(raise_request_exception=False).get("/fails")
    assert answer.status_code == 500
    span = django.named("GET /fails")
    assert span.said("status_message") == "LookupError: in the view"
    assert span.said("level") == "ERROR"


def test_what_is_not_there_is_no_error(django: Any) -> None:
    assert Client().get("/missing").status_code == 404
    span = django.named("GET /missing")
    assert span.attributes["http.response.status_code"] == 404
    assert span.said("level") is None


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
def test_a_stream_ends_with_its_last_piece(django: Any) -> None:
    answer: Any = Client().get("/stream")
    assert not [span for span in django.spans if span.name == "GET /stream"]
    assert b"".join(answer.streaming_content) == b"xxx"
    request = django.named("GET /stream")
    assert [django.named(f"part {n}").parent_id for n in range(3)] == [request.id] * 3
    assert request.said("level") is None


async def test_an_async_stream_ends_with_its_last_piece(django: Any) -> None:
    answer: Any = await AsyncClient().get("/stream-async")
    assert b"".join([piece async for piece in answer.streaming_content]) == b"xxx"
    spans = await asyncio.to_thread(lambda: {span.name: span for span in django.spans})
    request = spans["GET /stream-async"]
    assert [spans[f"part {n}"].parent_id for n in range(3)] == [request.id] * 3
    assert request.said("level") is None


async def test_a_client_that_hangs_up_is_a_warning(django: Any) -> None:
    pieces: list[Any] = []
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if not pieces and not gone.is_set():
            pieces.append(None)
            return {"type": "http.request", "body": b"", "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pieces.append(message)
        if len(pieces) > 5:
            gone.set()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/endless",
        "headers": [(b"host", b"testserver")],
        "query_string": b"",
    }
    handler: Callable[..., Any] = ASGIHandler()
    await asyncio.wait_for(handler(scope, receive, send), 20)
    span = await asyncio.to_thread(django.named, "GET /endless")
    assert span.said("status_message") == "the client disconnected"
    assert span.said("level") == "WARNING"


def test_the_user_is_named_only_where_somebody_looked_already(
    django: Any, settings: Settings, alice: Any
) -> None:
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE,
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ]
    client = Client()
    client.force_login(alice)
    client.get("/shop/1")
    client.get("/me")
    assert "user.id" not in django.named("GET /shop/<int:number>").attributes
    assert django.named("GET /me").attributes["user.id"] == str(alice.pk)
