"""`/ws/collab/{draft}`: y-protocols over a WebSocket, by session cookie or by `?token=`.

Close codes: 4401 not signed in, 4403 no right (any more), 4404 no such draft, 4410 the draft is
closed, 1003 a frame that is none, 1009 too large, 1013 come again.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final
from urllib.parse import parse_qs

import structlog

from hone.accounts.core.roles import Role
from hone.accounts.selectors import Access
from hone.collab.consumers.access import RECHECK_S, Entrance, access_of_room
from hone.collab.consumers.client import KEY_REVOKED, TRY_AGAIN, Client
from hone.collab.consumers.registry import leave_later, room_of, tell_here
from hone.collab.consumers.room import Room
from hone.collab.core.frames import (
    ANSWER,
    AWARENESS,
    EDIT,
    EMPTY_UPDATE,
    QUERY,
    STATE,
    SYNC,
    FrameError,
    Reader,
    denied_frame,
)
from hone.collab.core.needs import Needs
from hone.collab.core.shape import update_read
from hone.collab.selectors import person_of
from hone.common.asgi import Receive, Scope, Send
from hone.common.database import database_call
from hone.common.errors import HoneError
from hone.common.rest import as_hone_error
from hone.common.websocket import EXTENSION

log = structlog.get_logger(__name__)
PREFIX: Final = "/ws/collab"
QUESTION: Final = bytes((SYNC, STATE))  # its answer reads the log first
KEYSTROKE: Final = bytes((SYNC, EDIT))
SHORT: Final = 128  # a frame whose length takes one byte
UPDATES: Final = (bytes((SYNC, ANSWER)), bytes((SYNC, EDIT)))
MAX_FRAME_BYTES: Final = 2 * 1024 * 1024
MAX_STATES_BYTES: Final = 256 * 1024  # of an awareness message
QUICK_BYTES: Final = 16 * 1024  # a longer edit is looked through beside the event loop
NOT_A_FRAME, TOO_LARGE, NO_RIGHT = 1003, 1009, 4403
CODES: Final = {401: 4401, 403: NO_RIGHT, 404: 4404, 409: TRY_AGAIN, 503: TRY_AGAIN}


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The door; a refusal accepts the socket first, so that a browser learns the reason."""
    if (await receive())["type"] != "websocket.connect":
        return
    await send({"type": "websocket.accept"})
    draft = scope["path"].removeprefix(PREFIX).strip("/")
    token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
    entrance = Entrance(scope, draft, token)
    try:
        access = await database_call(access_of_room, entrance)
        room = room_of(entrance.draft_id, access.project.pk)
        client = _client(entrance, access)
        await room.join(client)
        room.spawn(tell_here(room))
        if client.socket is not None:
            client.socket.on_message = _quickly(room, client)
    except Exception as error:
        problem = as_hone_error(error)
        if problem is None:
            log.exception("room_failed", draft=draft)
        await send(_refusal(problem))
        return
    await _serve(room, client, receive, send)


def _refusal(problem: HoneError | None) -> dict[str, object]:
    code = TRY_AGAIN if problem is None else CODES.get(problem.status, NOT_A_FRAME)
    reason = "Something went wrong on our side" if problem is None else str(problem)
    return {"type": "websocket.close", "code": code, "reason": reason[:120]}


def _client(entrance: Entrance, access: Access) -> Client:
    async def recheck(client: Client) -> None:
        try:
            now = await database_call(access_of_room, entrance)
        except Exception as error:
            problem = as_hone_error(error)
            if problem is None or problem.status >= 500:
                return  # a database that is down takes access from nobody
            why = str(problem)
            if problem.status == 401:
                is_key = client.person.user_id is None
                why = KEY_REVOKED if is_key else "Your sign-in has ended"
            client.close(CODES.get(problem.status, NO_RIGHT), why)
            return
        if now.role.covers(Role.MEMBER) != client.may_write:
            client.close(NO_RIGHT, f"Your role is now {now.role.value}")

    socket = entrance.scope.get("extensions", {}).get(EXTENSION)
    return Client(person_of(access), access.role.covers(Role.MEMBER), recheck, socket)


async def _serve(room: Room, client: Client, receive: Receive, send: Send) -> None:
    tasks = [
        asyncio.create_task(client.pump(send)),
        asyncio.create_task(_listen(room, client, receive)),
        asyncio.create_task(_watch(client)),
    ]
    try:
        await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
        if tasks[1].done() and client.closing is not None and not tasks[0].done():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(tasks[0]), 2)
    finally:
        room.leave(client)
        room.spawn(tell_here(room))
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception) and not isinstance(result, OSError):
                log.info("socket_ended", error=repr(result))
        if not room.clients:
            leave_later(room)


async def _watch(client: Client) -> None:
    while True:
        await asyncio.sleep(RECHECK_S)
        await client.check()


def _quickly(room: Room, client: Client) -> Callable[[bytes], bool]:
    """Takes what nobody needs to wait for straight from the socket (hone.common.websocket)."""

    def take(data: bytes) -> bool:
        if client.closing is not None:
            return True
        if client.is_behind or len(data) > QUICK_BYTES or client.is_ahead:
            client.is_behind = True
            return False
        if data[:2] == QUESTION:
            return False
        try:
            if data[:2] == KEYSTROKE and client.may_write and len(data) == data[2] + 3 < SHORT:
                room.edit(client, data[3:], update_read(data[3:]))
                return True
            answer = _take(room, client, data)
        except ValueError as error:
            client.close(NOT_A_FRAME, str(error))
        else:
            if answer is not None:  # a question in an unusual spelling
                room.spawn(answer)
        return True

    return take


async def _listen(room: Room, client: Client, receive: Receive) -> None:
    """Take frames one after the other, so that a flood waits at its own socket."""
    while client.closing is None:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        data = message.get("bytes")
        if data is None:
            client.close(NOT_A_FRAME, "Frames are binary (y-protocols)")
        elif len(data) > MAX_FRAME_BYTES:
            client.close(TOO_LARGE, f"A frame has at most {MAX_FRAME_BYTES} bytes")
        else:
            try:
                await _take_in_turn(room, client, data)
            except ValueError as error:  # FrameError is one
                client.close(NOT_A_FRAME, str(error))
        client.is_behind = False


async def _take_in_turn(room: Room, client: Client, data: bytes) -> None:
    """Take a frame and wait until the next one may be."""
    needs = None
    if len(data) > QUICK_BYTES and client.may_write and data[:2] in UPDATES:
        needs = await asyncio.to_thread(update_read, Reader(data, 2).bytes())
    answer = _take(room, client, data, needs)
    if answer is not None:
        await answer
    await client.keep_pace()


def _take(
    room: Room, client: Client, data: bytes, needs: Needs | None = None
) -> Coroutine[Any, Any, None] | None:
    """Take a frame; the answer to a question is under way. `needs`: of its update, if known."""
    reader = Reader(data)
    kind = reader.number()
    if kind == SYNC:
        return _sync(room, client, reader.number(), reader.bytes(), needs)
    if kind == AWARENESS:
        if len(data) > MAX_STATES_BYTES:
            client.close(TOO_LARGE, f"An awareness message has at most {MAX_STATES_BYTES} bytes")
            return None
        room.crowd.hear(client, reader.bytes())
    elif kind == QUERY:
        room.crowd.greet(client)
    else:
        raise FrameError(f"a message of kind {kind} is not known here")
    client.count_heard(len(data))
    return None


def _sync(
    room: Room, client: Client, step: int, data: bytes, needs: Needs | None
) -> Coroutine[Any, Any, None] | None:
    if step == STATE:
        return room.answer(client, data)
    if step not in (ANSWER, EDIT):
        raise FrameError(f"a sync message of kind {step} is not known here")
    if data == EMPTY_UPDATE:
        client.count_heard(0)
    elif not client.may_write:
        client.send(denied_frame("Your role may read this draft, not write"))
        client.count_heard(len(data))
    else:
        room.edit(client, data, needs or update_read(data))
    return None
