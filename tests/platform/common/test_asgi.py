import asyncio
import gzip
import zlib

import pytest

from hone.common.asgi import (
    DisconnectedError,
    Receive,
    Scope,
    Send,
    inflate,
    limit_body,
    outermost,
    read_body,
    send_json,
)
from hone.common.errors import InvalidError, TooLargeError, UnavailableError, UnsupportedError


async def echo_length(scope: Scope, receive: Receive, send: Send) -> None:
    body = await read_body(scope, receive, 100)
    await send_json(send, 200, {"length": len(body)})


def test_a_body_arrives_whole(asgi) -> None:
    assert asgi(outermost(echo_length), "POST", "/", body=b"x" * 100).json() == {"length": 100}


@pytest.mark.parametrize("declared", ["101", "1", "nonsense", "99999999999999999999"])
def test_a_long_body_is_refused_whatever_its_header_says(asgi, declared: str) -> None:
    headers = {"content-length": declared}
    answer = asgi(outermost(echo_length), "POST", "/", body=b"x" * 101, headers=headers)
    assert (answer.status, answer.json()["error"]["code"]) == (413, "too_large")


def test_django_sees_no_body_over_the_limit(asgi) -> None:
    reached = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(await read_body(scope, receive, 1000))
        await send_json(send, 200, {})

    assert asgi(limit_body(app, 10), "POST", "/", body=b"x" * 11).status == 413
    assert reached == []
    assert asgi(limit_body(app, 10), "POST", "/", body=b"x" * 10).status == 200
    assert reached == [b"x" * 10]


async def test_a_hang_up_ends_the_reading() -> None:
    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    with pytest.raises(DisconnectedError):
        await read_body({"headers": []}, receive, 10)


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("identity", bytes),
        ("", bytes),
    ],
)
def test_bodies_are_inflated(encoding: str, pack) -> None:
    assert inflate(pack(b"hello" * 1000), encoding, 5000) == b"hello" * 1000


def test_members_of_a_gzip_file_are_joined() -> None:
    assert inflate(gzip.compress(b"a") + gzip.compress(b"b"), "gzip", 10) == b"ab"


def test_a_bomb_is_stopped_at_the_cap() -> None:
    with pytest.raises(TooLargeError):
        inflate(gzip.compress(b"\0" * 50_000_000), "gzip", 1_000_000)
    with pytest.raises(TooLargeError):
        inflate(gzip.compress(b"\0" * 600) * 2, "gzip", 1000)


@pytest.mark.parametrize(
    "body", [b"not gzip", gzip.compress(b"hello")[:-9], gzip.compress(b"x")[:5]]
)
def test_damaged_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidError):
        inflate(body, "gzip", 1000)


def test_another_encoding_is_refused() -> None:
    with pytest.raises(UnsupportedError):
        inflate(b"", "br", 10)


def test_every_answer_has_a_request_id(asgi) -> None:
    given = asgi(outermost(echo_length), "POST", "/", headers={"x-request-id": "abc-1"})
    assert given.headers["x-request-id"] == "abc-1"
    strange = asgi(outermost(echo_length), "POST", "/", headers={"x-request-id": "a b\t"})
    assert len(strange.headers["x-request-id"]) == 32


def test_a_known_failure_is_told_and_a_bug_is_not(asgi) -> None:
    async def down(scope: Scope, receive: Receive, send: Send) -> None:
        raise UnavailableError("The engine is starting", retry_after_s=7)

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise KeyError("secret detail")

    told = asgi(outermost(down), "GET", "/")
    assert (told.status, told.headers["retry-after"]) == (503, "7")
    hidden = asgi(outermost(broken), "GET", "/")
    assert hidden.status == 500
    assert "secret detail" not in hidden.body.decode()


def test_a_failure_after_the_start_breaks_the_answer_off(asgi) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise KeyError("late")

    with pytest.raises(KeyError):
        asgi(outermost(broken), "GET", "/")


async def test_a_slow_body_is_read_to_its_end() -> None:
    parts = [b"a", b"b", b"c"]

    async def receive() -> dict[str, object]:
        await asyncio.sleep(0)
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    assert await read_body({"headers": []}, receive, 3) == b"abc"
