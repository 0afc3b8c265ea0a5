"""The people of a room in one process: who is here and where, and frames that go to everybody."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from hone.collab.consumers.client import Client
from hone.collab.core.awareness import (
    Entry,
    Presence,
    entries_encode,
    entries_join,
    entries_parse,
    entry_encode,
    stamped,
)
from hone.collab.core.frames import awareness_frame, edit_frame
from hone.common.errors import ConflictError
from hone.common.websocket import binary_frame

PRESENCE_S: Final = 0.03  # a cursor that moves faster is not seen to
MOST_SOCKETS: Final = 100  # of one person


class Shown(Protocol):
    """An edit for everybody but its writer."""

    @property
    def update(self) -> bytes: ...
    @property
    def by(self) -> Client | None: ...


class Outside(Protocol):
    """Whoever brings states to the other processes."""

    def post_states(self, states: bytes) -> None: ...


@dataclass(eq=False, slots=True)
class Crowd:
    """The sockets of a room."""

    outside: Outside
    clients: set[Client] = field(default_factory=set)
    presence: Presence = field(default_factory=Presence)
    heard: dict[Client, Entry] = field(default_factory=dict)  # states that are not told yet

    def enter(self, client: Client) -> None:
        """Take a client in; raises ConflictError where its person has too many."""
        if sum(other.person == client.person for other in self.clients) >= MOST_SOCKETS:
            raise ConflictError(f"You have {MOST_SOCKETS} connections to this room; close some")
        self.clients.add(client)

    def leave(self, client: Client) -> None:
        """Forget a client and tell the others that it is gone."""
        self.clients.discard(client)
        if client.number is not None:
            self._tell(self.presence.leave([client.number], time.monotonic()))

    def close(self, code: int, reason: str) -> None:
        """Send everybody away."""
        for client in list(self.clients):
            client.close(code, reason)

    def of(self, identity: str | None) -> list[Client]:
        """The clients of a person or key; None: everybody's."""
        return [c for c in self.clients if identity in (None, c.person.identity)]

    # Edits

    def show(self, edits: Sequence[Shown]) -> None:
        """Every edit to everybody but its writer; on the short way all in one write."""
        if len(edits) == 1:
            self._show_one(edits[0])
        elif edits:
            self._show_all(edits)

    def _show_one(self, edit: Shown) -> None:
        frame, by = edit_frame(edit.update), edit.by
        wire = binary_frame(frame)
        for client in self.clients:
            if client is not by:
                client.pass_on(frame, wire)

    def _show_all(self, edits: Sequence[Shown]) -> None:
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

    # Presence

    def greet(self, client: Client) -> None:
        """Tell a client who is here."""
        if present := self.presence.present():
            client.send(awareness_frame(entries_encode(present)))

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
        """What people told since the last time, each one's latest state only, in one frame."""
        heard, self.heard = self.heard, {}
        told: dict[Client, bytes] = {}
        for client, entry in heard.items():
            own = [stamped(entry, client.person.shown())]
            if client in self.clients and self.presence.apply(own, time.monotonic()):
                told[client] = entry_encode(own[0])
        if told:
            self.outside.post_states(entries_join(told.values()))
            self._show_told(told)

    def _show_told(self, told: dict[Client, bytes]) -> None:
        everybody = awareness_frame(entries_join(told.values()))
        wire = binary_frame(everybody)
        for client in self.clients:
            if client not in told:
                client.pass_on(everybody, wire)
            elif len(told) > 1:
                others = [state for who, state in told.items() if who is not client]
                client.send(awareness_frame(entries_join(others)))

    def heard_outside(self, states: bytes) -> None:
        """States of another process's people."""
        self._show_states(self.presence.apply(entries_parse(states), time.monotonic()))

    def own_states(self) -> bytes | None:
        """The states of this process's people; None: there are none."""
        own = {client.number for client in self.clients}
        here = [entry for entry in self.presence.present() if entry.client in own]
        return entries_encode(here) if here else None

    def expire(self) -> None:
        """Let go of whoever fell silent."""
        self._show_states(self.presence.expire(time.monotonic()))

    def _tell(self, news: Sequence[Entry]) -> None:
        if news:
            self.outside.post_states(entries_encode(news))
            self._show_states(news)

    def _show_states(self, news: Sequence[Entry]) -> None:
        if news:
            frame = awareness_frame(entries_encode(news))
            wire = binary_frame(frame)
            for client in self.clients:
                client.pass_on(frame, wire)
