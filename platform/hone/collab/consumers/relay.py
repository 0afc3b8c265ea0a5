"""What the rooms of several web processes tell one another, over one Redis subscription.

Messages may be lost: the log is the truth. Each carries the number that the room's log has reached,
and a process that missed some reads the log.
"""

import asyncio
import contextlib
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

import structlog
from redis.asyncio.client import PubSub

from hone.accounts.services.rights import MEMBERS_CHANGED, PROJECT_DELETED
from hone.collab.core.people import key_identity, user_identity
from hone.collab.services.tell import DRAFT_CLOSED
from hone.common import broker
from hone.common.events.publish import channel as project_channel
from hone.common.events.publish import decode

log = structlog.get_logger(__name__)
RETRY_S: Final = 1.0
LOOK_S: Final = 0.05  # how long a room that opens waits for its subscription, at most
EDIT, AWARENESS, WHO = 1, 2, 3
INLINE_LEN: Final = 64 * 1024  # longer updates are read from the log
GONE: Final = (DRAFT_CLOSED, "prompt.deleted", PROJECT_DELETED)  # a draft may be gone with it
_HEAD: Final = struct.Struct(">B8sQ")
_SELF: Final = os.urandom(8)  # this process, whose own messages are not for it


class Listener(Protocol):
    """A room as the relay sees it."""

    draft_id: UUID
    project_id: int

    def heard_edit(self, seq: int, update: bytes) -> None: ...
    def heard_awareness(self, update: bytes) -> None: ...
    def heard_who(self) -> None: ...
    def heard_rights(self, identity: str | None) -> None: ...
    def heard_revoked(self, identity: str) -> None: ...
    def heard_gone(self) -> None: ...
    def reconnected(self) -> None: ...


def room_channel(draft_id: UUID) -> str:
    return broker.key("room", draft_id.hex)


def pack(kind: int, seq: int, data: bytes) -> bytes:
    return _HEAD.pack(kind, _SELF, seq) + data


@dataclass(slots=True)
class Relay:
    """The subscription of one event loop."""

    rooms: dict[UUID, Listener] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    outbox: list[tuple[str, bytes]] = field(default_factory=list)
    posting: asyncio.Task[None] | None = None
    joined: set[str] = field(default_factory=set)  # channels that Redis says we listen to
    alone: set[Listener] = field(default_factory=set)  # rooms that nobody else was listening to

    def add(self, room: Listener) -> None:
        self.rooms[room.draft_id] = room
        self.changed.set()
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.run())

    def remove(self, room: Listener) -> None:
        if self.rooms.get(room.draft_id) is room:
            del self.rooms[room.draft_id]
            self.alone.discard(room)
            self.changed.set()

    def post(self, room: Listener, messages: Iterable[bytes]) -> None:
        """Tell the other processes, without keeping anybody waiting."""
        name = room_channel(room.draft_id)
        self.outbox += [(name, message) for message in messages]
        if self.posting is None or self.posting.done():
            self.posting = asyncio.create_task(self.post_all())

    def has_peers(self, room: Listener) -> bool:
        """Whether another process may have the room; one that opens it says WHO first."""
        return room not in self.alone

    async def post_all(self) -> None:
        while self.outbox:
            batch, self.outbox = self.outbox, []
            joined = set(self.joined)  # before: if we join meanwhile, we count as another
            try:
                async with broker.aclient().pipeline(transaction=False) as pipe:
                    for name, message in batch:
                        pipe.publish(name, message)
                    counts = await pipe.execute()
                self._count(batch, counts, joined)
            except broker.ERRORS as error:
                log.warning("room_not_told", error=type(error).__name__)

    def _count(self, batch: list[tuple[str, bytes]], counts: list[int], joined: set[str]) -> None:
        """Redis says how many listened: one is this process itself, once it has joined."""
        for (name, _), count in zip(batch, counts, strict=True):
            room = self.rooms.get(UUID(name.rpartition(":")[2]))
            if room is None:
                continue
            if name in joined and count == 1:
                self.alone.add(room)
            else:
                self.alone.discard(room)

    async def run(self) -> None:
        while self.rooms:
            try:
                await self.listen()
            except Exception as error:  # every room of this process depends on this task
                log.warning("room_listener_lost", error=repr(error))
                self.alone.clear()
                await asyncio.sleep(RETRY_S)

    async def listen(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(broker.listener())
            pubsub = await stack.enter_async_context(client.pubsub())
            self.joined.clear()
            asked: set[str] = set()
            while self.rooms:
                self.changed.clear()
                asked = await self.join(pubsub, asked)
                while not self.changed.is_set():
                    message = await pubsub.get_message(timeout=LOOK_S)
                    if message is not None:
                        self.take(message["type"], message["channel"].decode(), message["data"])

    def take(self, kind: str, name: str, data: Any) -> None:
        if kind == "message":
            self.deliver(name, data)
        elif kind == "subscribe":
            self.joined.add(name)
        elif kind == "unsubscribe":
            self.joined.discard(name)

    async def join(self, pubsub: PubSub, joined: set[str]) -> set[str]:
        """Make the subscription that of the present rooms; who joined anew looks into its log."""
        by_name = {room_channel(room.draft_id): room for room in self.rooms.values()}
        wanted = {*by_name, *(project_channel(room.project_id) for room in self.rooms.values())}
        if gone := joined - wanted:
            await pubsub.unsubscribe(*gone)
        if new := wanted - joined:
            await pubsub.subscribe(*new)
        for name in by_name.keys() & new:
            by_name[name].reconnected()
        # Rights may have changed unheard, but only of projects that nobody listened to until now.
        for room in list(self.rooms.values()):
            if project_channel(room.project_id) in new:
                room.heard_rights(None)
        return wanted

    def deliver(self, name: str, data: bytes) -> None:
        if not name.startswith(broker.key("room", "")):
            self.deliver_project(int(name.rpartition(":")[2]), data)
            return
        room = self.rooms.get(UUID(name.rpartition(":")[2]))
        kind, sender, seq = _HEAD.unpack_from(data)
        if room is None or sender == _SELF:
            return
        self.alone.discard(room)
        rest = data[_HEAD.size :]
        if kind == EDIT:
            room.heard_edit(seq, rest)
        elif kind == AWARENESS:
            room.heard_awareness(rest)
        elif kind == WHO:
            room.heard_who()

    def deliver_project(self, project_id: int, data: bytes) -> None:
        told = decode(project_id, data)
        if told.kind not in (MEMBERS_CHANGED, *GONE):
            return
        for room in list(self.rooms.values()):
            if room.project_id == project_id:
                _tell_room(room, told.kind, told.payload)


def _tell_room(room: Listener, kind: str, facts: Mapping[str, Any]) -> None:
    if kind != MEMBERS_CHANGED:
        if facts.get("draft") in (None, str(room.draft_id)):
            room.heard_gone()
    elif "key" in facts:
        room.heard_revoked(key_identity(facts["key"]))
    else:
        room.heard_rights(user_identity(facts["user"]) if "user" in facts else None)


_relays: WeakKeyDictionary[asyncio.AbstractEventLoop, Relay] = WeakKeyDictionary()


def relay() -> Relay:
    """The relay of the running event loop."""
    return _relays.setdefault(asyncio.get_running_loop(), Relay())
