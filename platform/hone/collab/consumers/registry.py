"""The rooms that are open in this process, and the round that looks after them."""

import asyncio
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID
from weakref import WeakKeyDictionary

import structlog

from hone.collab.consumers.client import DRAFT_CLOSED
from hone.collab.consumers.room import Room
from hone.collab.consumers.writer import ERRORS
from hone.collab.selectors import seqs_of
from hone.collab.services.here import here_tell
from hone.common.database import database_call

log = structlog.get_logger(__name__)
LINGER_S: Final = 10.0  # an empty room stays open so long: reloads are cheap
ROUND_S: Final = 5.0
SETTLE_S: Final = 0.5


@dataclass(slots=True)
class Registry:
    """The rooms of one event loop."""

    rooms: dict[UUID, Room] = field(default_factory=dict)
    patrol: asyncio.Task[None] | None = None
    leaving: set[asyncio.Task[None]] = field(default_factory=set)

    def room(self, draft_id: UUID, project_id: int) -> Room:
        room = self.rooms.get(draft_id)
        if room is None:
            room = self.rooms[draft_id] = Room(draft_id, project_id)
        if self.patrol is None or self.patrol.done():
            self.patrol = asyncio.create_task(self.go_round())
        return room

    async def go_round(self) -> None:
        """Whatever Redis lost and whoever fell silent is noticed here, for all rooms at once."""
        while self.rooms:
            await asyncio.sleep(ROUND_S - SETTLE_S)
            await tell_here(*self.rooms.values())
            opened = [room for room in self.rooms.values() if room.document is not None]
            try:
                latest = await database_call(seqs_of, [room.draft_id for room in opened])
            except ERRORS as error:
                log.warning("rooms_not_checked", error=str(error)[:200])
                continue
            await asyncio.sleep(SETTLE_S)  # what is under way lands meanwhile
            for room in opened:
                if room.draft_id not in latest:
                    room.lost(DRAFT_CLOSED, "The draft is closed")
                else:
                    await room.look_after(latest[room.draft_id])

    async def leave(self, room: Room) -> None:
        await asyncio.sleep(LINGER_S)
        if not room.clients and self.rooms.get(room.draft_id) is room:
            del self.rooms[room.draft_id]
            await room.close()


async def tell_here(*rooms: Room) -> None:
    """Let the pages that list drafts know who is in them."""
    await here_tell(
        {
            (room.project_id, room.draft_id): [client.person for client in room.clients]
            for room in rooms
        }
    )


_registries: WeakKeyDictionary[asyncio.AbstractEventLoop, Registry] = WeakKeyDictionary()


def registry() -> Registry:
    """The registry of the running event loop."""
    return _registries.setdefault(asyncio.get_running_loop(), Registry())


def room_of(draft_id: UUID, project_id: int) -> Room:
    """The draft's room in this process."""
    return registry().room(draft_id, project_id)


def leave_later(room: Room) -> None:
    """Close the room in a while, if nobody comes back to it."""
    here = registry()
    task = asyncio.create_task(here.leave(room))
    here.leaving.add(task)
    task.add_done_callback(here.leaving.discard)
