"""Who is in a room and where: cursors and names, kept only while people are there.

An awareness update is a count, then for each client its number, its clock and its state as JSON
text (`null`: it is gone). A greater clock wins; at the same clock a departure does.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from hone.collab.core.frames import FrameError, Reader, number, sized

MAX_STATE_LEN: Final = 16 * 1024
MOST_ENTRIES: Final = 1000  # of an update; a client repeats what others told, too
STALE_S: Final = 30.0  # clients renew their state every 15 s

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A client's state at a clock; None: it left."""

    client: int
    clock: int
    state: State | None


def entries_parse(data: bytes) -> list[Entry]:
    """The entries of an awareness update; raises FrameError."""
    reader = Reader(data)
    count = reader.number()
    if count > min(len(data), MOST_ENTRIES):
        raise FrameError(
            f"an awareness update of {len(data)} bytes cannot hold {count} clients"
            f" (at most {MOST_ENTRIES})"
        )
    return [_entry(reader) for _ in range(count)]


def _entry(reader: Reader) -> Entry:
    client, clock, text = reader.number(), reader.number(), reader.bytes()
    if len(text) > MAX_STATE_LEN:
        raise FrameError(f"an awareness state has {len(text)} bytes, at most {MAX_STATE_LEN}")
    try:
        state = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise FrameError("an awareness state is not JSON") from None
    if state is not None and not isinstance(state, dict):
        raise FrameError("an awareness state is an object or null")
    return Entry(client, clock, state)


def entries_encode(entries: Iterable[Entry]) -> bytes:
    """An awareness update."""
    return entries_join([entry_encode(entry) for entry in entries])


def entry_encode(entry: Entry) -> bytes:
    """One client's part of an awareness update."""
    return number(entry.client) + number(entry.clock) + sized(orjson.dumps(entry.state))


def entries_join(parts: Collection[bytes]) -> bytes:
    """An awareness update of these parts."""
    return number(len(parts)) + b"".join(parts)


@dataclass(slots=True)
class _Known:
    entry: Entry
    seen_at: float


@dataclass(slots=True)
class Presence:
    """The states of everybody in a room, as far as this process has heard."""

    _known: dict[int, _Known] = field(default_factory=dict)

    def apply(self, entries: Iterable[Entry], now: float) -> list[Entry]:
        """Take entries over; those that were news."""
        return [entry for entry in entries if self._take(entry, now)]

    def _take(self, entry: Entry, now: float) -> bool:
        known = self._known.get(entry.client)
        if known is not None:
            old = known.entry
            leaves = entry.state is None and old.state is not None
            if entry.clock < old.clock or (entry.clock == old.clock and not leaves):
                return False
        elif entry.state is None:
            return False
        self._known[entry.client] = _Known(entry, now)
        return True

    def present(self) -> list[Entry]:
        """Everybody who is there."""
        return [k.entry for k in self._known.values() if k.entry.state is not None]

    def user_of(self, client: int) -> str | None:
        """Whose this client is as the server has stamped it, while it is there."""
        known = self._known.get(client)
        if known is None or known.entry.state is None:
            return None
        user = known.entry.state.get("user")
        return user.get("id") if isinstance(user, dict) else None

    def leave(self, clients: Iterable[int], now: float) -> list[Entry]:
        """Mark clients as gone; the entries that tell others so."""
        gone = []
        for client in clients:
            known = self._known.get(client)
            if known is not None and known.entry.state is not None:
                gone.append(Entry(client, known.entry.clock + 1, None))
        return self.apply(gone, now)

    def expire(self, now: float) -> list[Entry]:
        """Let go of whoever has not been heard of for long; the entries that tell others so."""
        stale = [c for c, known in self._known.items() if now - known.seen_at > STALE_S]
        gone = self.leave(stale, now)
        for client in stale:
            if self._known[client].seen_at != now:  # it had left before
                del self._known[client]
        return gone


def stamped(entry: Entry, user: Mapping[str, Any]) -> Entry:
    """The entry with the room's own word on who its client is, whatever the client says."""
    if entry.state is None:
        return entry
    return Entry(entry.client, entry.clock, {**entry.state, "user": dict(user)})
