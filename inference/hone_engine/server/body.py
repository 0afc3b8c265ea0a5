"""Reading a request's body: bounded, JSON, an object."""

import asyncio
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hone_engine.server.errors import ApiError

MAX_BODY_LEN = 8 * 2**20  # bytes
LINGER_S = 5.0


class BodyTooLargeError(ApiError):
    """More bytes than are taken."""

    def __init__(self) -> None:
        super().__init__(
            413,
            f"the request's body is larger than {MAX_BODY_LEN} bytes",
            code="request_too_large",
            headers={"connection": "close"},
        )

    def response(self) -> Response:
        return TooLargeResponse(
            orjson.dumps(self.body), self.status, self.headers, "application/json"
        )


class DisconnectedError(Exception):
    """The client has gone; there is nobody to answer."""


async def json_body(request: Request) -> dict[str, Any]:
    """The JSON object a request carries; raises ApiError 413 or 400."""
    data = await _read(request)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        message = f"the request's body is not valid JSON: {error}"
        raise ApiError(400, message, code="invalid_json") from None
    if not isinstance(value, dict):
        raise ApiError(400, "the request's body must be a JSON object", code="invalid_json")
    return value


async def _read(request: Request) -> bytes:
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated) > MAX_BODY_LEN:
        raise BodyTooLargeError
    parts: list[bytes] = []
    num_bytes = 0
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        parts.append(message.get("body", b""))
        num_bytes += len(parts[-1])
        if num_bytes > MAX_BODY_LEN:
            raise BodyTooLargeError
        more = message.get("more_body", False)
    return b"".join(parts)


class TooLargeResponse(Response):
    """The answer to a body too large. It is sent at once, then the rest of the body passes by for
    a while: a client still writing would see its connection break instead of the answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        if b"expect" not in dict(scope["headers"]):  # then the client has not begun to write
            await _linger(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _linger(receive: Receive) -> None:
    """Let the rest of a body pass by, keeping nothing, for `LINGER_S` seconds at most."""
    try:
        async with asyncio.timeout(LINGER_S):
            while True:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
    except TimeoutError:
        return


async def disconnected(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
