"""Help for raw ASGI routes: bodies with a cap, JSON answers, errors, limits in front of Django."""

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

import orjson
import structlog
from isal import isal_zlib  # zlib's interface, twice as fast

from hone.common import request_id
from hone.common.errors import HoneError, InvalidError, TooLargeError, UnsupportedError
from hone.common.rest import InternalError, as_hone_error

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

log = structlog.get_logger(__name__)


class DisconnectedError(Exception):
    """The client hung up before its request was complete."""


def headers(scope: Scope) -> dict[str, str]:
    """The request's headers by lower-case name; of a repeated one the last."""
    return {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}


def _check_length(scope: Scope, max_bytes: int) -> None:
    declared = next((v for k, v in scope["headers"] if k.lower() == b"content-length"), b"0")
    if declared.isdigit() and int(declared) > max_bytes:
        raise TooLargeError(f"The body has {int(declared)} bytes; at most {max_bytes} are taken")


async def read_body(scope: Scope, receive: Receive, max_bytes: int) -> bytes:
    """The whole body; raises TooLargeError past `max_bytes`, DisconnectedError on a hang-up."""
    _check_length(scope, max_bytes)
    parts: list[bytes] = []
    num_bytes = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        part = message.get("body", b"")
        num_bytes += len(part)
        if num_bytes > max_bytes:
            raise TooLargeError(f"The body has more than {max_bytes} bytes")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def body_parts(receive: Receive) -> AsyncIterator[bytes]:
    """The body piece by piece as it comes; raises DisconnectedError on a hang-up."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


_MAX_MEMBERS: Final = 1000  # of a packed body
_PIECE_BYTES: Final = 64 * 1024


def inflate(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """`body` without its Content-Encoding (gzip, deflate, identity), never more than `max_bytes`.

    Raises UnsupportedError for another encoding, TooLargeError, InvalidError for damaged data.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return body
    if name not in {"gzip", "x-gzip", "deflate"}:
        raise UnsupportedError(f"Content-Encoding: got {encoding!r}, want gzip or deflate")
    window = zlib.MAX_WBITS | (32 if name == "deflate" else 16)
    try:
        stream = isal_zlib.decompressobj(window)
        out: bytes = stream.decompress(body, max_bytes + 1)
        if len(out) > max_bytes:
            del out  # else the error's traceback holds it until it is collected
            raise _too_large(max_bytes)
        if stream.eof and not stream.unused_data:
            return out
        del out  # read again below, and not held twice
        return _members(memoryview(body), window, name, max_bytes)
    except isal_zlib.error as error:  # type: ignore[misc]  # the package has no types
        raise InvalidError(f"The {name} body is damaged: {error}") from None


def _too_large(max_bytes: int) -> TooLargeError:
    return TooLargeError(f"The body inflates to more than {max_bytes} bytes")


def _members(body: memoryview, window: int, name: str, max_bytes: int) -> bytes:
    """All members, of which gzip allows several one after the other, each fed in pieces: what is
    left over of a piece is copied, and a body of a million empty members must cost no more."""
    out = bytearray()
    at, num_members = 0, 0
    stream = None
    while at < len(body):
        if stream is None:
            num_members += 1
            if num_members > _MAX_MEMBERS:
                raise InvalidError(f"The {name} body has more than {_MAX_MEMBERS} members")
            stream = isal_zlib.decompressobj(window)
        piece = body[at : at + _PIECE_BYTES]
        out += stream.decompress(piece, max_bytes + 1 - len(out))
        if len(out) > max_bytes:
            del out
            raise _too_large(max_bytes)
        at += len(piece) - len(stream.unused_data)
        if stream.eof:
            stream = None
    if stream is not None:
        raise InvalidError(f"The {name} body is cut short")
    return bytes(out)


async def send_bytes(
    send: Send,
    status: int,
    body: bytes,
    content_type: str = "application/json",
    headers: Iterable[tuple[str, str]] = (),
    *,
    is_head: bool = False,
) -> None:
    """Answer with `body` in one piece; to a HEAD request with its length alone."""
    pairs = [("content-type", content_type), ("content-length", str(len(body))), *headers]
    encoded = [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in pairs]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": b"" if is_head else body})


async def send_json(
    send: Send, status: int, payload: Any, headers: Iterable[tuple[str, str]] = ()
) -> None:
    """Answer with `payload` as JSON."""
    await send_bytes(send, status, orjson.dumps(payload, default=str), headers=headers)


async def send_error(send: Send, error: HoneError) -> None:
    """Answer with our error body."""
    await send_json(send, error.status, error.body(), error.headers().items())


def limit_body(app: App, max_bytes: int) -> App:
    """`app`, but a body over `max_bytes` is answered with 413 before it is spooled anywhere."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        try:
            body = await read_body(scope, receive, max_bytes)
        except TooLargeError as error:
            return await send_error(send, error)
        except DisconnectedError:
            return None
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return pending.pop() if pending else await receive()

        return await app(scope, replay, send)

    return limited


def outermost(app: App) -> App:
    """`app` with a request id on every answer, and no exception without one."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        given = next((v for k, v in scope["headers"] if k == b"x-request-id"), b"")
        identity = request_id.accept(given.decode("latin-1")).encode()
        started = False

        async def tagged(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-request-id", identity),
                ]
            await send(message)

        try:
            await app(scope, receive, tagged)
        except DisconnectedError:
            return None
        except Exception as error:
            problem = as_hone_error(error)
            if problem is None:
                log.exception("request_failed", path=scope["path"], method=scope["method"])
                problem = InternalError("Something went wrong on our side; the log says what")
            if started:
                raise
            await send_error(tagged, problem)

    return guarded
