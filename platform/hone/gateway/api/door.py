"""`/v1/*`: OpenAI-style requests of programs with a key, as a raw ASGI application."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from django.conf import settings

from hone.accounts.api.authentication import credentials
from hone.accounts.services import KeyScope, key_resolve_async
from hone.common.asgi import (
    DisconnectedError,
    Message,
    Receive,
    Scope,
    Send,
    headers,
    read_body,
    send_bytes,
    send_json,
)
from hone.common.database import database_call
from hone.common.errors import HoneError, TooLargeError
from hone.common.rest import DATABASE_DOWN, json_loads
from hone.gateway.core.errors import GatewayError
from hone.gateway.core.request import PATHS
from hone.gateway.selectors import models_list
from hone.gateway.services.calls import Reply
from hone.gateway.services.completions import completion_open

T = TypeVar("T")
COMPLETIONS = {"/v1" + path: kind for kind, path in PATHS.items()}
DRAIN_S = 10.0
DRAIN_BYTES = 512 * 1024 * 1024


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Route, authorize, answer; every failure has OpenAI's shape."""
    body_ended = False

    async def watched() -> Message:
        nonlocal body_ended
        message = await receive()
        body_ended = body_ended or not message.get("more_body")
        return message

    try:
        await _answer(scope, watched, send)
    except TooLargeError as error:
        if not body_ended:
            # A client that is still sending would see a broken connection, not the answer.
            await _drain(receive)
        problem = GatewayError(error.status, error.message, code=error.code)
        await _send_problem(send, problem)
    except HoneError as error:
        await _send_problem(send, GatewayError(error.status, error.message, code=error.code))
    except GatewayError as error:
        await _send_problem(send, error)
    except DATABASE_DOWN:
        text = "The database does not answer at present"
        await _send_problem(send, GatewayError(503, text, code="unavailable", retry_after_s=1))


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    path, method = scope["path"].rstrip("/"), scope["method"]
    kind = COMPLETIONS.get(path)
    wanted = "POST" if kind else "GET" if path == "/v1/models" else None
    if wanted is None:
        raise GatewayError(404, f"There is nothing at {path}", code="not_found")
    if method != wanted:
        raise GatewayError(405, f"{path} takes {wanted}, not {method}", code="method_not_allowed")
    key = await _key(scope)
    if kind is None:
        return await _models(key, send)
    body = json_loads(await read_body(scope, receive, settings.HONE_GATEWAY_MAX_BODY_BYTES))
    opening = completion_open(key.project_id, kind, body, headers(scope))
    reply = await _unless_gone(opening, receive)
    try:
        await _send_reply(reply, receive, send)
    finally:
        await reply.close()


async def _key(scope: Scope) -> KeyScope:
    found = credentials(headers(scope).get("authorization", ""))
    if found is None:
        text = "No API key: send Authorization: Bearer SECRET_KEY"
        raise GatewayError(401, text, code="missing_api_key")
    key = await key_resolve_async(*found)
    if key is None:
        raise GatewayError(401, "The API key is unknown or revoked", code="invalid_api_key")
    return key


async def _models(key: KeyScope, send: Send) -> None:
    rows = await database_call(models_list, key.project_id)
    data = [
        {
            "id": row.id,
            "object": "model",
            "created": 0,
            "owned_by": row.connection,
            "context_length": row.context_length,
        }
        for row in rows
        if row.status == "ready"
    ]
    await send_json(send, 200, {"object": "list", "data": data})


async def _send_reply(reply: Reply, receive: Receive, send: Send) -> None:
    if reply.stream is None:
        pairs = [(name, value) for name, value in reply.headers.items() if name != "content-type"]
        return await send_bytes(send, reply.status, reply.body, headers=pairs)
    encoded = [(name.encode(), value.encode()) for name, value in reply.headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": encoded})

    async def pump() -> None:
        assert reply.stream is not None
        async for data in reply.stream:
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    await _unless_gone(pump(), receive)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _unless_gone(work: Coroutine[Any, Any, T], receive: Receive) -> T:
    """The result of `work`; it is canceled when the client hangs up (DisconnectedError)."""
    working = asyncio.create_task(work)
    watching = asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise DisconnectedError
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _drain(receive: Receive) -> None:
    num_bytes = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            while num_bytes < DRAIN_BYTES:
                message = await receive()
                num_bytes += len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return


async def _send_problem(send: Send, problem: GatewayError) -> None:
    await send_json(send, problem.status, problem.body(), problem.headers().items())
