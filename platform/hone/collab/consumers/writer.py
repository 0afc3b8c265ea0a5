"""Group commit of edits: those that wait at the same time, of all rooms, share a transaction.

A room shows an edit that nothing can refuse before it is in the log (ADR 37): whoever sees it holds
it, too. What the room answers, tells other processes and compacts is in the log. An edit that
nobody waits for is written a moment later, with those that come meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
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
BATCH_BYTES: Final = 32 * 1024 * 1024
TRIES: Final = 6  # over about five seconds
GATHER_S: Final = 0.01  # how long an edit waits for others, where nobody waits for it
ERRORS: Final = (DjangoError, psycopg.Error, PoolTimeout)


class Sender(Protocol):
    """A room as the writer sees it."""

    def landed(self, edits: "list[Sent]") -> None: ...
    def settled(self, num: int, num_hidden: int) -> None: ...
    def full(self, client: Client) -> None: ...
    def lost(self, code: int, reason: str) -> None: ...


@dataclass(eq=False, slots=True)
class Sent(Edit):
    """An edit on its way to the log, or from it. `shown_in`: what had it before, and everybody."""

    room: Sender
    by: Client | None = None
    shown_in: Any = None
    seq: int = 0


@dataclass(slots=True)
class Writer:
    """The writer of one event loop."""

    waiting: deque[Sent] = field(default_factory=deque)
    ledger: Ledger = field(default_factory=Ledger)
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None

    def add(self, edit: Sent, *, is_urgent: bool) -> None:
        """Queue an edit; its room hears when it has landed. `is_urgent`: somebody waits for it."""
        if edit.by is not None:
            edit.by.num_unsettled += 1
        self.waiting.append(edit)
        if is_urgent:
            self.hurry()
        elif self.timer is None and (self.task is None or self.task.done()):
            self.timer = asyncio.get_running_loop().call_later(GATHER_S, self.hurry)

    def hurry(self) -> None:
        """Write what waits, now."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.waiting and (self.task is None or self.task.done()):
            self.task = asyncio.create_task(self.run())

    async def run(self) -> None:
        while self.waiting:
            taken = self._taken()
            # What builds on an edit that was refused would wait for it in the document for ever.
            group = [edit for edit in taken if edit.by is None or not edit.by.is_refused]
            try:
                if group:
                    await self._write(group)
            except Exception:
                log.exception("edits_failed", num_edits=len(group))
                _lose(group, "Something went wrong on our side")
            _settle(taken)

    def _taken(self) -> list[Sent]:
        taken: list[Sent] = []
        num_bytes = 0
        while self.waiting and len(taken) < BATCH_EDITS and num_bytes < BATCH_BYTES:
            taken.append(self.waiting.popleft())
            num_bytes += len(taken[-1].update)
        return taken

    async def _write(self, group: list[Sent]) -> None:
        try:
            numbers = await self._append(group)
        except ERRORS as error:
            log.warning("edits_not_written", num_edits=len(group), error=str(error)[:200])
            _lose(group, "The database does not answer")
        else:
            _tell(group, numbers)

    async def _append(self, edits: Sequence[Edit]) -> list[int | Refused]:
        """A database that is away for a moment is tried again."""
        for attempt in range(TRIES):
            try:
                return await self.ledger.append(edits)
            except ERRORS:
                if attempt == TRIES - 1:
                    raise
                await asyncio.sleep(0.1 * 2**attempt)
        raise AssertionError("unreachable")


def _settle(taken: list[Sent]) -> None:
    for room, edits in _by_room(taken).items():
        for edit in edits:
            if edit.by is not None:
                edit.by.settle()
        room.settled(len(edits), sum(edit.shown_in is None for edit in edits))


def _by_room(edits: list[Sent]) -> dict[Sender, list[Sent]]:
    found: dict[Sender, list[Sent]] = {}
    for edit in edits:
        if edit.room in found:
            found[edit.room].append(edit)
        else:
            found[edit.room] = [edit]
    return found


def _lose(group: list[Sent], reason: str) -> None:
    for room in _by_room(group):
        room.lost(TRY_AGAIN, reason)


def _tell(group: list[Sent], numbers: list[int | Refused]) -> None:
    landed: list[Sent] = []
    for edit, seq in zip(group, numbers, strict=True):
        if isinstance(seq, int):
            edit.seq = seq
            landed.append(edit)
        elif seq is Refused.FULL and edit.by is not None:
            edit.room.full(edit.by)
        else:
            edit.room.lost(DRAFT_CLOSED, "The draft is closed")
    for room, edits in _by_room(landed).items():
        room.landed(edits)


_writers: WeakKeyDictionary[asyncio.AbstractEventLoop, Writer] = WeakKeyDictionary()


def writer() -> Writer:
    """The writer of the running event loop."""
    return _writers.setdefault(asyncio.get_running_loop(), Writer())
