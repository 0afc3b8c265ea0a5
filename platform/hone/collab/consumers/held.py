"""Edits that build on what a room does not have yet.

They come when a client sends out of order, or before it has brought what the room lacks. They are
in no document, no log and on no screen until what they build on is there; that does not come: their
writer is asked to come again, with everything it has.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from hone.collab.consumers.client import TRY_AGAIN, Client
from hone.collab.core.needs import Needs

HELD_S: Final = 10.0
MOST_HELD_BYTES: Final = 4 * 1024 * 1024  # of a room
MISSING: Final = "An edit builds on others that are not here; come again"


@dataclass(eq=False, slots=True)
class HeldEdit:
    """One edit, since when it waits, and for what."""

    update: bytes
    by: Client
    needs: Needs
    since: float


@dataclass(eq=False, slots=True)
class Held:
    """Those of one room, in the order in which they came."""

    edits: list[HeldEdit] = field(default_factory=list)
    num_bytes: int = 0
    timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self.edits)

    def add(self, update: bytes, by: Client, needs: Needs) -> None:
        """Keep an edit for a while; a client whose edits take too much room is sent away."""
        by.num_unsettled += 1
        by.num_held += 1
        self.edits.append(HeldEdit(update, by, needs, time.monotonic()))
        self.num_bytes += len(update)
        if self.num_bytes > MOST_HELD_BYTES:
            self.forget(by)
            by.close(TRY_AGAIN, MISSING)
        elif self.timer is None:
            self._wait(HELD_S)

    def ready(self, is_met: Callable[[Needs], bool]) -> Iterator[HeldEdit]:
        """Take out, one after the other, the edits that need not wait any more."""
        found: HeldEdit | None
        while found := next((edit for edit in self.edits if is_met(edit.needs)), None):
            self._drop([found])
            yield found

    def forget(self, by: Client | None = None) -> None:
        """Drop a client's edits, or all: whoever wrote them has them."""
        self._drop([edit for edit in self.edits if by is None or edit.by is by])

    def _drop(self, edits: list[HeldEdit]) -> None:
        for edit in edits:
            self.edits.remove(edit)
            self.num_bytes -= len(edit.update)
            edit.by.unhold()

    def _wait(self, seconds: float) -> None:
        self.timer = asyncio.get_running_loop().call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self.timer = None
        late = time.monotonic() - HELD_S
        for client in {edit.by for edit in self.edits if edit.since <= late}:
            client.close(TRY_AGAIN, MISSING)
            self.forget(client)
        if self.edits:
            self._wait(max(0.0, self.edits[0].since - late))
