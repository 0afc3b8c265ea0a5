"""The stream of one browser tab or program."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Final

from hone.accounts.api.scope import access_of_scope
from hone.common.asgi import Receive, Scope, Send, headers
from hone.common.database import database_call
from hone.common.rest import MethodError, as_hone_error
from hone.traces.consumers.feed import Queue, listening, news, traces_frame
from hone.traces.core.sse import CONTENT_TYPE, PING, frame
from hone.traces.selectors import horizon

HEARTBEAT_S: Final = 15.0
CHECKED_S: Final = 60.0  # so often it is asked again whether the listener may still listen
MISSED: Final = 500  # newest changes that a client is told of when it comes back
_PATH: Final = re.compile(r"/api/projects/([-\w]+)/live")
_HEADERS: Final = [
    (b"content-type", CONTENT_TYPE.encode()),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


def is_live(path: str) -> bool:
    """Whether a path is this door's."""
    return path.endswith("/live") and _PATH.fullmatch(path) is not None


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The door; a refusal is raised before anything is sent."""
    found = _PATH.fullmatch(scope["path"])
    assert found is not None, scope["path"]
    if scope["method"] != "GET":
        raise MethodError(f"This address takes GET, got {scope['method']}")
    access = await database_call(access_of_scope, scope, found[1])
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    streaming = asyncio.create_task(_stream(scope, access.project.id, found[1], send))
    leaving = asyncio.create_task(_left(receive))
    try:
        done, _ = await asyncio.wait({streaming, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if streaming in done:
            await streaming
    finally:
        streaming.cancel()
        leaving.cancel()
        await asyncio.gather(streaming, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    """Wait until the client hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stream(scope: Scope, project_id: int, slug: str, send: Send) -> None:
    seen = headers(scope).get("last-event-id", "")
    known = int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 18 else None
    start = await database_call(horizon)
    async with listening(project_id, start) as queue:
        await _send(send, frame("hello", {"seq": start}, start))
        if known is not None and known < start:
            number, missed = await database_call(news, project_id, known, MISSED)
            if missed:
                await _send(send, traces_frame(number, missed))
        async for data in _frames(queue, scope, slug):
            await _send(send, data)
    await send({"type": "http.response.body", "body": b""})


async def _frames(queue: Queue, scope: Scope, slug: str) -> AsyncIterator[bytes]:
    """Frames as they come and a sign of life in between, while the listener may listen."""
    loop = asyncio.get_running_loop()
    checked_at = loop.time()
    while True:
        try:
            data = await asyncio.wait_for(queue.get(), HEARTBEAT_S)
        except TimeoutError:
            data = PING
        if data is None:
            return
        if loop.time() - checked_at >= CHECKED_S:
            if not await _may_listen(scope, slug):
                return
            checked_at = loop.time()
        yield data


async def _may_listen(scope: Scope, slug: str) -> bool:
    """Whether the listener still has access; a database that is down takes it from nobody."""
    try:
        await database_call(access_of_scope, scope, slug)
    except Exception as error:
        known = as_hone_error(error)
        if known is None:
            raise
        return known.status >= 500
    return True


async def _send(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})
