"""Group commit of edits: those that wait at the same time, of all rooms, share a transaction.

A room shows an edit that nothing can refuse before it is in the log (ADR 37): whoever sees it holds
it, too. What the room answers, tells other processes and compacts is in the log.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

import psycopg
import structlog
from django.db import Error as DjangoError
from psycopg_pool import PoolTimeout

from hone.collab.consumers.client import DRAFT_CLOSED, TRY_AGAIN, Client
from hone.collab.consumers.ledger import Ledger
from hone.collab.services import Edit, Refused

log = structlog.get_logger(__name__)
BATCH_EDITS: Final = 2000
TRIES: Final = 6  # over about five seconds
ERRORS: Final = (DjangoError, psycopg.Error, PoolTimeout)


@dataclass(frozen=True, slots=True)
class Landed:
    """An edit that is in the log. `shown_in`: the document that had it before, and everybody."""

    seq: int
    update: bytes
    by: Client | None
    shown_in: Any = None


class Sender(Protocol):
    """A room as the writer sees it."""

    def landed(self, edits: list[Landed]) -> None: ...
    def settled(self, is_shown: bool) -> None: ...
    def full(self, by: Client) -> None: ...
    def lost(self, code: int, reason: str) -> None: ...


@dataclass(slots=True)
class _Waiting:
    room: Sender
    edit: Edit
    by: Client
    shown_in: Any


@dataclass(slots=True)
class Writer:
    """The writer of one event loop."""

    waiting: deque[_Waiting] = field(default_factory=deque)
    ledger: Ledger = field(default_factory=Ledger)
    task: asyncio.Task[None] | None = None

    def add(
        self, room: Sender, edit: Edit, by: Client, shown_in: Any = None
    ) -> Awaitable[None] | None:
        """Queue an edit; the room hears when it has landed. What to wait for when it sends much."""
        by.num_unsettled += 1
        self.waiting.append(_Waiting(room, edit, by, shown_in))
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.run())
        return by.keep_pace() if by.is_ahead else None

    async def run(self) -> None:
        while self.waiting:
            taken = [self.waiting.popleft() for _ in range(min(len(self.waiting), BATCH_EDITS))]
            # What builds on an edit that was refused would wait for it in the document for ever.
            group = [entry for entry in taken if not entry.by.is_refused]
            try:
                if group:
                    await self._write(group)
            except Exception:
                log.exception("edits_failed", num_edits=len(group))
                _lose(group, "Something went wrong on our side")
            for entry in taken:
                entry.by.settle()
                entry.room.settled(entry.shown_in is not None)

    async def _write(self, group: list[_Waiting]) -> None:
        try:
            numbers = await self._append([entry.edit for entry in group])
        except ERRORS as error:
            log.warning("edits_not_written", num_edits=len(group), error=str(error)[:200])
            _lose(group, "The database does not answer")
        else:
            _tell(group, numbers)

    async def _append(self, edits: list[Edit]) -> list[int | Refused]:
        """A database that is away for a moment is tried again."""
        for attempt in range(TRIES):
            try:
                return await self.ledger.append(edits)
            except ERRORS:
                if attempt == TRIES - 1:
                    raise
                await asyncio.sleep(0.1 * 2**attempt)
        raise AssertionError("unreachable")


def _lose(group: list[_Waiting], reason: str) -> None:
    for room in {id(entry.room): entry.room for entry in group}.values():
        room.lost(TRY_AGAIN, reason)


def _tell(group: list[_Waiting], numbers: list[int | Refused]) -> None:
    landed: defaultdict[int, list[Landed]] = defaultdict(list)
    rooms: dict[int, Sender] = {}
    for entry, seq in zip(group, numbers, strict=True):
        if isinstance(seq, int):
            rooms[id(entry.room)] = entry.room
            landed[id(entry.room)].append(Landed(seq, entry.edit.update, entry.by, entry.shown_in))
        elif seq is Refused.FULL:
            entry.room.full(entry.by)
        else:
            entry.room.lost(DRAFT_CLOSED, "The draft is closed")
    for key, edits in landed.items():
        rooms[key].landed(edits)


_writers: WeakKeyDictionary[asyncio.AbstractEventLoop, Writer] = WeakKeyDictionary()


def writer() -> Writer:
    """The writer of the running event loop."""
    return _writers.setdefault(asyncio.get_running_loop(), Writer())
