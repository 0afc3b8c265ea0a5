"""One draft's room in one process: the document in memory and the sockets that look at it."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import structlog

from hone.collab.consumers.client import DRAFT_CLOSED, DRAFT_FULL, NOT_AN_EDIT, TRY_AGAIN, Client
from hone.collab.consumers.relay import AWARENESS, EDIT, INLINE_LEN, WHO, pack, relay
from hone.collab.consumers.writer import ERRORS, Landed, writer
from hone.collab.core.awareness import Entry, Presence, entries_encode, entries_parse, stamped
from hone.collab.core.frames import answer_frame, awareness_frame, edit_frame, state_frame
from hone.collab.core.shape import document_open, update_apply
from hone.collab.selectors import Since, draft_since
from hone.collab.services import Edit, draft_compact
from hone.collab.services.log import MOST_BYTES
from hone.common.database import database_call
from hone.common.errors import ConflictError, HoneError
from hone.common.websocket import binary_frame

log = structlog.get_logger(__name__)
COMPACT_EVERY: Final = 500  # updates
PRESENCE_S: Final = 0.03  # a cursor that moves faster is not seen to
MOST_SOCKETS: Final = 100  # of one person
NOT_TAKEN: Final = "The document does not take this edit"
GAP_S: Final = 0.05  # how long a number may be missing before the log is read
SHOWN_LEN: Final = 64 * 1024  # a longer edit is shown when the log has it


@dataclass(eq=False, slots=True)
class Room:
    """Everything about a draft that is open here. Lives in one event loop."""

    draft_id: UUID
    project_id: int
    document: Any = None
    seq: int = 0  # every update up to here is in the document
    beyond: set[int] = field(default_factory=set)  # numbers after a gap that are in it too
    compacted: int = 0
    clients: set[Client] = field(default_factory=set)
    presence: Presence = field(default_factory=Presence)
    heard: dict[Client, Entry] = field(default_factory=dict)  # states that are not told yet
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    gap: asyncio.Task[None] | None = None
    num_bytes: int = 0  # of the document's state and what came since, at most
    news: list[Landed] = field(default_factory=list)  # shown at the end of this turn of the loop
    num_sent: int = 0  # edits given to the writer
    num_settled: int = 0  # those that the log has, or that were refused
    num_hidden: int = 0  # of those under way, how many nobody has seen
    has_settled: asyncio.Event = field(default_factory=asyncio.Event)
    is_compacting: bool = False

    async def open(self) -> None:
        """Read the document, once; raises NotFoundError or what the database raises."""
        async with self.opening:
            if self.document is None:
                since = await database_call(draft_since, self.draft_id)
                self.document = document_open()
                self.beyond.clear()
                self.num_bytes = 0
                self._take(since)
                self.compacted = self.seq - max(0, len(since.updates) - 1)
                relay().add(self)
                relay().post(self, [pack(WHO, self.seq, b"")])

    def spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    # Joining and leaving

    async def join(self, client: Client) -> None:
        """Greet a client: what do you have, and who is here."""
        await self.written()
        await self.open()
        if sum(other.person == client.person for other in self.clients) >= MOST_SOCKETS:
            raise ConflictError(f"You have {MOST_SOCKETS} connections to this room; close some")
        self.clients.add(client)
        client.send(state_frame(self.document.get_state()))
        self.send_presence(client)

    def send_presence(self, client: Client) -> None:
        """Tell a client who is here."""
        if present := self.presence.present():
            client.send(awareness_frame(entries_encode(present)))

    def leave(self, client: Client) -> None:
        """Forget a client and tell the others that it is gone."""
        self.clients.discard(client)
        if client.number is not None:
            self._tell(self.presence.leave([client.number], time.monotonic()))

    # From clients

    async def answer(self, client: Client, state: bytes) -> None:
        """What a client with this state vector lacks, nothing of the log left out.

        Whatever was sent before the question is in the log when it is answered.
        """
        await self.written()
        await self.catch_up()
        if self.document is not None:
            client.send(answer_frame(self.document.get_update(state)))

    async def written(self) -> None:
        """Wait until the log has every edit that is under way now."""
        wanted = self.num_sent
        while self.num_settled < wanted:
            self.has_settled.clear()
            await self.has_settled.wait()

    def edit(self, client: Client, update: bytes) -> Awaitable[None] | None:
        """Show an edit and put it into the log. What to wait for when many wait.

        One that may be refused by the log, or that follows one which is not shown yet, is shown by
        `landed`.
        """
        shown_in = self.document if self._may_show(update) else None
        if shown_in is not None:
            if not self._take_one(update):
                client.close(NOT_AN_EDIT, NOT_TAKEN)
                return None
            if not self.news:
                asyncio.get_running_loop().call_soon(self._show)
            self.news.append(Landed(0, update, client))
        else:
            self.num_hidden += 1
        self.num_sent += 1
        edit = Edit(self.draft_id, update, client.person.user_id)
        return writer().add(self, edit, client, shown_in)

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
        self._broadcast(news)

    def hear(self, client: Client, data: bytes) -> None:
        """Take a client's own state; what it repeats of others is left alone.

        The number of a client of somebody else who is here is never one's own.
        """
        for entry in entries_parse(data):
            if client.number is None and entry.state is not None:
                holder = self.presence.user_of(entry.client)
                if holder in (None, client.person.identity):
                    client.number = entry.client
            if entry.client == client.number:
                if not self.heard:
                    asyncio.get_running_loop().call_later(PRESENCE_S, self._tell_heard)
                self.heard[client] = entry

    def _tell_heard(self) -> None:
        """What people told since the last time, each one's latest state only."""
        heard, self.heard = self.heard, {}
        for client, entry in heard.items():
            own = [stamped(entry, client.person.shown())]
            if client in self.clients:
                self._tell(self.presence.apply(own, time.monotonic()), but=client)

    # From the writer

    def landed(self, edits: list[Landed]) -> None:
        """Edits of this process's clients are in the log: whatever is not shown yet is shown."""
        self._apply(edits)
        if relay().has_peers(self.draft_id):
            relay().post(
                self,
                [
                    pack(EDIT, edit.seq, edit.update if len(edit.update) <= INLINE_LEN else b"")
                    for edit in edits
                ],
            )

    def settled(self, is_shown: bool) -> None:
        """An edit of this room is in the log, or refused."""
        self.num_settled += 1
        self.num_hidden -= not is_shown
        self.has_settled.set()

    def full(self, client: Client) -> None:
        """An edit was not taken: its writer comes again with what the log has."""
        client.is_refused = True
        client.close(
            DRAFT_FULL, f"The draft is full ({MOST_BYTES >> 20} MiB); delete some of it, then go on"
        )
        if self.num_sent - self.num_settled > self.num_hidden:
            self.lost(TRY_AGAIN, "The draft is full; come again")

    def lost(self, code: int, reason: str) -> None:
        """Edits could not be written: everybody comes again, with what they have.

        The document may hold what the log lacks: it is read anew, or clients would be told that
        their edit is here.
        """
        self.document = None
        for client in list(self.clients):
            client.close(code, reason)

    # From other processes

    def heard_edit(self, seq: int, update: bytes) -> None:
        if seq <= self.seq or seq in self.beyond or self.document is None:
            return
        if update:
            self._apply([Landed(seq, update, None)])
        else:
            self.spawn(self.catch_up())

    def heard_awareness(self, update: bytes) -> None:
        news = self.presence.apply(entries_parse(update), time.monotonic())
        self._broadcast_presence(news)

    def heard_who(self) -> None:
        relay().post(self, [pack(EDIT, self.seq, b"")])  # it may have been written to meanwhile
        own = {client.number for client in self.clients}
        here = [entry for entry in self.presence.present() if entry.client in own]
        if here:
            relay().post(self, [pack(AWARENESS, self.seq, entries_encode(here))])

    def heard_members(self) -> None:
        for client in list(self.clients):
            self.spawn(client.check())

    def reconnected(self) -> None:
        """The relay listens (again): whatever it may have missed is asked for."""
        self.spawn(self.catch_up())
        self.heard_who()
        relay().post(self, [pack(WHO, self.seq, b"")])

    # The document

    def _apply(self, edits: Sequence[Landed]) -> None:
        """Into the document, and to everybody what the document took, but for what was shown."""
        if self.document is None:
            return  # whoever opens it reads the log
        new = [edit for edit in edits if edit.shown_in is not self.document]
        self._broadcast([edit for edit in new if self._take_one(edit.update, edit.by)])
        self.beyond.update(edit.seq for edit in edits if edit.seq > self.seq)
        while self.seq + 1 in self.beyond:
            self.seq += 1
            self.beyond.discard(self.seq)
        if self.beyond and (self.gap is None or self.gap.done()):
            self.gap = asyncio.create_task(self._close_gap())

    def _take_one(self, update: bytes, by: Client | None = None) -> bool:
        """An edit of what is no text, list or map is not taken, though the log may have it."""
        self.num_bytes += len(update)
        taken = update_apply(self.document, update)
        if not taken:
            log.error("edit_not_applied", draft=str(self.draft_id), num_bytes=len(update))
            if by is not None:
                by.is_refused = True
                by.close(NOT_AN_EDIT, NOT_TAKEN)
        return taken

    def _broadcast(self, edits: Sequence[Landed]) -> None:
        """Every edit to everybody but its writer; on the short way all in one write."""
        if not edits:
            return
        frames = [edit_frame(edit.update) for edit in edits]
        wires = [binary_frame(frame) for frame in frames]
        everything = b"".join(wires)
        writers = {edit.by for edit in edits}
        for client in self.clients:
            if client not in writers:
                client.send_all(frames, everything)
                continue
            others = [n for n, edit in enumerate(edits) if edit.by is not client]
            if others:
                client.send_all([frames[n] for n in others], b"".join([wires[n] for n in others]))

    async def _close_gap(self) -> None:
        await asyncio.sleep(GAP_S)
        if self.beyond:
            await self.catch_up()

    async def catch_up(self) -> None:
        """Read what the log has and this document lacks, and pass it on."""
        document = self.document
        if document is None:
            return
        try:
            since = await database_call(draft_since, self.draft_id, self.seq)
        except HoneError:
            self.lost(DRAFT_CLOSED, "The draft is closed")
            return
        except ERRORS as error:
            log.warning("log_not_read", draft=str(self.draft_id), error=str(error)[:200])
            self.lost(TRY_AGAIN, "The database does not answer")
            return
        if not since.is_open:
            self.lost(DRAFT_CLOSED, "The draft is closed")
        if since.updates and since.seq > self.seq and self.document is document:
            taken = self._take(since)
            self._broadcast([Landed(since.seq, update, None) for update in taken])

    def _take(self, since: Since) -> list[bytes]:
        """Read what the log has; the updates that the document took."""
        taken = [update for update in since.updates if self._take_one(update)]
        self.seq = max(self.seq, since.seq)
        self.beyond = {seq for seq in self.beyond if seq > self.seq}
        return taken

    # Presence

    def _tell(self, news: Sequence[Entry], but: Client | None = None) -> None:
        if news:
            relay().post(self, [pack(AWARENESS, self.seq, entries_encode(news))])
            self._broadcast_presence(news, but)

    def _broadcast_presence(self, news: Sequence[Entry], but: Client | None = None) -> None:
        if news:
            frame = awareness_frame(entries_encode(news))
            framed = binary_frame(frame)
            for client in self.clients:
                if client is not but:
                    client.send_all([frame], framed)

    # House-keeping

    async def look_after(self, latest: int) -> None:
        """What the round brings: the log's latest number. Catch up, let go of who is silent."""
        self._broadcast_presence(self.presence.expire(time.monotonic()))
        relay().post(self, [pack(EDIT, self.seq, b"")])  # and learn whether anybody listens
        if latest > self.seq:
            await self.catch_up()
        await self.compact(COMPACT_EVERY)

    async def compact(self, least: int = 1) -> None:
        """Let the document's state stand for its log, when that has grown by `least` updates."""
        if self.document is None or self.beyond or self.seq - self.compacted < least:
            return
        self.is_compacting = True  # a moment without anything that only the document has
        try:
            await self.written()
        finally:
            self.is_compacting = False
        if self.document is None or self.beyond:
            return
        seq, state, num_bytes = self.seq, self.document.get_update(), self.num_bytes
        with contextlib.suppress(*ERRORS):
            await database_call(draft_compact, draft_id=self.draft_id, seq=seq, state=state)
            self.compacted = seq
            self.num_bytes += len(state) - num_bytes

    async def close(self) -> None:
        """Leave the relay; the log keeps everything."""
        relay().remove(self)
        for task in list(self.tasks):
            if task is not asyncio.current_task():
                task.cancel()
        await self.compact()
