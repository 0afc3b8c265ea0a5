"""One draft's room in one process: what comes from its sockets, the log and other processes."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import structlog

from hone.collab.consumers.client import (
    DRAFT_CLOSED,
    DRAFT_FULL,
    KEY_REVOKED,
    NOT_AN_EDIT,
    SIGNED_OUT,
    TRY_AGAIN,
    Client,
)
from hone.collab.consumers.crowd import MOST_SOCKETS, Crowd
from hone.collab.consumers.held import Held
from hone.collab.consumers.relay import AWARENESS, EDIT, INLINE_LEN, WHO, Relay, pack, relay
from hone.collab.consumers.writer import ERRORS, Sent, Writer, writer
from hone.collab.core.frames import answer_frame, state_frame
from hone.collab.core.needs import Needs, needs_of
from hone.collab.core.replica import Replica
from hone.collab.selectors import draft_since
from hone.collab.services import draft_compact
from hone.collab.services.log import MOST_BYTES
from hone.common.database import database_call
from hone.common.errors import HoneError

__all__ = ["MOST_SOCKETS", "SHOWN_LEN", "Room"]
log = structlog.get_logger(__name__)
COMPACT_EVERY: Final = 500  # updates
NOT_TAKEN: Final = "The document does not take this edit"
GAP_S: Final = 0.05  # how long a number may be missing before the log is read
SHOWN_LEN: Final = 64 * 1024  # a longer edit is shown when the log has it


@dataclass(eq=False, slots=True)
class Room:
    """Everything about a draft that is open here. Lives in one event loop."""

    draft_id: UUID
    project_id: int
    replica: Replica | None = None
    crowd: Crowd = field(init=False)
    writer: Writer = field(init=False)  # this event loop's
    relay: Relay = field(init=False)
    held: Held = field(default_factory=Held)
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    gap: asyncio.Task[None] | None = None
    news: list[Sent] = field(default_factory=list)  # shown at the end of this turn of the loop
    num_sent: int = 0  # edits given to the writer
    num_settled: int = 0  # those that the log has, or that were refused
    num_hidden: int = 0  # of those under way, how many nobody has seen
    has_settled: asyncio.Event = field(default_factory=asyncio.Event)
    is_compacting: bool = False

    def __post_init__(self) -> None:
        self.crowd = Crowd(self)
        self.writer, self.relay = writer(), relay()

    @property
    def clients(self) -> set[Client]:
        return self.crowd.clients

    @property
    def document(self) -> Any:
        """The document as it is here; None before it was read."""
        return None if self.replica is None else self.replica.document

    @property
    def seq(self) -> int:
        """The number up to which the document has the log."""
        return 0 if self.replica is None else self.replica.seq

    @property
    def num_bytes(self) -> int:
        """How long the document's state and what came since are, at most."""
        return 0 if self.replica is None else self.replica.num_bytes

    async def open(self) -> None:
        """Read the document, once; raises NotFoundError or what the database raises."""
        async with self.opening:
            if self.replica is None:
                since = await database_call(draft_since, self.draft_id)
                replica = Replica()
                replica.take_since(since.seq, since.updates)
                replica.compacted = replica.seq - max(0, len(since.updates) - 1)
                self.replica = replica
                self.relay.add(self)
                self.relay.post(self, [pack(WHO, self.seq, b"")])

    def spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    # Joining and leaving

    async def join(self, client: Client) -> None:
        """Greet a client: what do you have, and who is here."""
        await self.written()
        await self.open()
        self.crowd.enter(client)
        client.send(state_frame(self.document.get_state()))
        self.crowd.greet(client)

    def leave(self, client: Client) -> None:
        """Forget a client and tell the others that it is gone."""
        self.held.forget(client)
        self.crowd.leave(client)

    # From clients

    async def answer(self, client: Client, state: bytes) -> None:
        """What a client with this state vector lacks, nothing of the log left out.

        Whatever was sent before the question is in the log when it is answered.
        """
        await client.none_held()
        await self.written()
        await self.catch_up()
        if self.document is not None:
            client.send(answer_frame(self.document.get_update(state)))

    async def written(self) -> None:
        """Wait until the log has every edit that is under way now."""
        wanted = self.num_sent
        while self.num_settled < wanted:
            self.writer.hurry()
            self.has_settled.clear()
            await self.has_settled.wait()

    def edit(self, client: Client, update: bytes, needs: Needs | None = None) -> None:
        """Show an edit and put it into the log.

        One that may be refused by the log, or that follows one which is not shown yet, is shown by
        `landed`; one that builds on what is not here waits for that.
        """
        needs = needs or needs_of(update)
        if self.replica is not None and not self.replica.has(needs):
            self.held.add(update, client, needs)
            if len(self.held.edits) == 1:
                self.spawn(self.catch_up())  # the log may have it
        else:
            self._send(client, update, needs)
            if self.held:
                self._release()

    def _release(self) -> None:
        """Go on with the edits whose base has come."""
        replica = self.replica
        if replica is not None:
            for edit in self.held.ready(replica.has):
                self._send(edit.by, edit.update, edit.needs)

    def _send(self, client: Client, update: bytes, needs: Needs) -> None:
        sent = Sent(self.draft_id, update, client.person.user_id, self, client)
        if self.replica is not None and self._may_show(update):
            if not self.replica.take_met(update, needs):
                self._not_taken(update, client)
                if self.replica.is_spoiled:
                    self.lost(TRY_AGAIN, "The document is read anew")
                return
            if not self.news:
                asyncio.get_running_loop().call_soon(self._show)
            self.news.append(sent)
            sent.shown_in = self.replica
        else:
            if self.replica is not None:
                self.replica.awaited(needs)
            self.num_hidden += 1
        self.num_sent += 1
        # Whoever waits for the log shall not wait for others as well.
        self.writer.add(sent, is_urgent=sent.shown_in is None or self.relay.has_peers(self))

    def _may_show(self, update: bytes) -> bool:
        """Whether nothing can refuse the edit but a database that fails."""
        return (
            len(update) <= SHOWN_LEN
            and self.num_bytes + len(update) <= MOST_BYTES // 2
            and not self.num_hidden
            and not self.is_compacting
        )

    def _show(self) -> None:
        news, self.news = self.news, []
        self.crowd.show(news)

    # From the writer

    def landed(self, edits: list[Sent]) -> None:
        """Edits of this process's clients are in the log: whatever is not shown yet is shown."""
        self._apply(edits)
        if self.relay.has_peers(self):
            self.relay.post(
                self,
                [
                    pack(EDIT, edit.seq, edit.update if len(edit.update) <= INLINE_LEN else b"")
                    for edit in edits
                ],
            )

    def settled(self, num: int, num_hidden: int) -> None:
        """Edits of this room are in the log, or refused; some of them nobody had seen."""
        self.num_settled += num
        self.num_hidden -= num_hidden
        self.has_settled.set()

    def full(self, client: Client) -> None:
        """An edit was not taken: its writer comes again with what the log has."""
        client.is_refused = True
        client.close(
            DRAFT_FULL, f"The draft is full ({MOST_BYTES >> 20} MiB); delete some of it, then go on"
        )
        if self.num_sent - self.num_settled > self.num_hidden:
            self.lost(TRY_AGAIN, "The draft is full; come again")
        elif self.replica is not None:
            self.replica.refused()

    def lost(self, code: int, reason: str) -> None:
        """Edits could not be written: everybody comes again, with what they have.

        The document may hold what the log lacks: it is read anew, or clients would be told that
        their edit is here.
        """
        self.replica = None
        self.held.forget()
        self.crowd.close(code, reason)

    # From other processes

    def heard_edit(self, seq: int, update: bytes) -> None:
        if self.replica is None or self.replica.has_number(seq):
            return
        if update:
            self._apply([Sent(self.draft_id, update, None, self, seq=seq)])
        else:
            self.spawn(self.catch_up())

    def heard_awareness(self, update: bytes) -> None:
        self.crowd.heard_outside(update)

    def heard_who(self) -> None:
        self.relay.post(self, [pack(EDIT, self.seq, b"")])  # it may have been written to meanwhile
        if states := self.crowd.own_states():
            self.post_states(states)

    def heard_rights(self, identity: str | None) -> None:
        """Somebody (None: anybody) may do less now."""
        for client in self.crowd.of(identity):
            self.spawn(client.check())

    def heard_revoked(self, identity: str) -> None:
        """A key is revoked: nobody is asked, what was read of it before may still be remembered."""
        for client in self.crowd.of(identity):
            client.close(SIGNED_OUT, KEY_REVOKED)

    def heard_gone(self) -> None:
        """The draft, or what it belongs to, may have ended."""
        self.spawn(self.catch_up())

    def reconnected(self) -> None:
        """The relay listens (again): whatever it may have missed is asked for."""
        self.spawn(self.catch_up())
        self.heard_who()
        self.relay.post(self, [pack(WHO, self.seq, b"")])

    def post_states(self, states: bytes) -> None:
        self.relay.post(self, [pack(AWARENESS, self.seq, states)])

    # The document

    def _apply(self, edits: Sequence[Sent]) -> None:
        """Into the document, and to everybody what the document took, but for what was shown."""
        replica = self.replica
        if replica is None:
            return  # whoever opens it reads the log
        new = [edit for edit in edits if edit.shown_in is not replica]
        self.crowd.show([edit for edit in new if self._take_one(replica, edit)])
        replica.numbered([edit.seq for edit in edits])
        if replica.beyond and (self.gap is None or self.gap.done()):
            self.gap = asyncio.create_task(self._close_gap())
        if new and self.held:
            self._release()

    def _take_one(self, replica: Replica, edit: Sent) -> bool:
        """An edit of what is no text, list or map is not taken, though the log may have it."""
        taken = replica.take(edit.update)
        if not taken:
            self._not_taken(edit.update, edit.by)
            if edit.by is not None:
                edit.by.is_refused = True
        return taken

    def _not_taken(self, update: bytes, by: Client | None) -> None:
        log.error("edit_not_applied", draft=str(self.draft_id), num_bytes=len(update))
        if by is not None:
            by.close(NOT_AN_EDIT, NOT_TAKEN)

    async def _close_gap(self) -> None:
        await asyncio.sleep(GAP_S)
        if self.replica is not None and self.replica.beyond:
            await self.catch_up()

    async def catch_up(self) -> None:
        """Read what the log has and this document lacks, and pass it on."""
        replica = self.replica
        if replica is None:
            return
        try:
            since = await database_call(draft_since, self.draft_id, replica.seq)
        except HoneError:
            self.lost(DRAFT_CLOSED, "The draft has been deleted")
            return
        except ERRORS as error:
            log.warning("log_not_read", draft=str(self.draft_id), error=str(error)[:200])
            self.lost(TRY_AGAIN, "The database does not answer")
            return
        if not since.is_open:
            self.lost(DRAFT_CLOSED, "The draft is closed")
        if since.updates and since.seq > replica.seq and self.replica is replica:
            taken = replica.take_since(since.seq, since.updates)
            self.crowd.show([Sent(self.draft_id, update, None, self) for update in taken])
            self._release()

    # House-keeping

    async def look_after(self, latest: int) -> None:
        """What the round brings: the log's latest number. Catch up, let go of who is silent."""
        self.crowd.expire()
        self.relay.post(self, [pack(EDIT, self.seq, b"")])  # and learn whether anybody listens
        if latest > self.seq:
            await self.catch_up()
        await self.compact(COMPACT_EVERY)

    async def compact(self, least: int = 1) -> None:
        """Let the document's state stand for its log, when that has grown by `least` updates."""
        replica = self.replica
        if replica is None or replica.beyond or replica.seq - replica.compacted < least:
            return
        self.is_compacting = True  # a moment without anything that only the document has
        try:
            await self.written()
        finally:
            self.is_compacting = False
        if self.replica is not replica or replica.beyond:
            return
        seq, state, num_bytes = replica.seq, replica.document.get_update(), replica.num_bytes
        with contextlib.suppress(*ERRORS):
            await database_call(draft_compact, draft_id=self.draft_id, seq=seq, state=state)
            replica.compacted = seq
            replica.num_bytes += len(state) - num_bytes

    async def close(self) -> None:
        """Leave the relay; the log keeps everything."""
        self.relay.remove(self)
        for task in list(self.tasks):
            if task is not asyncio.current_task():
                task.cancel()
        await self.compact()
