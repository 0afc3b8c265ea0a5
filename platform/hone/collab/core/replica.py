"""A document as one process holds it, and how far it has come in the log."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hone.collab.core.frames import Reader
from hone.collab.core.needs import Needs
from hone.collab.core.shape import document_open, update_apply


@dataclass(eq=False, slots=True)
class Replica:
    """What the log says up to a number; what nobody has numbered yet may be in it, too."""

    document: Any = field(default_factory=document_open)
    seq: int = 0  # every update up to here is in the document
    beyond: set[int] = field(default_factory=set)  # numbers after a gap that are in it too
    compacted: int = 0  # the number that the stored state had
    num_bytes: int = 0  # of the document's state and what came since, at most
    is_spoiled: bool = False  # it holds parts of something that it did not take whole
    _clocks: dict[int, int] | None = None

    @property
    def clocks(self) -> dict[int, int]:
        """Yjs client -> how far it has written, with what was `awaited`."""
        if self._clocks is None:
            reader = Reader(self.document.get_state())
            self._clocks = {reader.number(): reader.number() for _ in range(reader.number())}
        return self._clocks

    def has(self, needs: Needs) -> bool:
        """Whether an update that needs this would be taken whole."""
        return needs.is_met(self.clocks)

    def take(self, update: bytes) -> bool:
        """Apply an update; False where the document does not take it."""
        self._clocks = None
        self.num_bytes += len(update)
        return update_apply(self.document, update)

    def take_met(self, update: bytes, needs: Needs) -> bool:
        """As `take`, of an update whose needs are met; False also where some of it was left.

        Parts that name one another are never taken, and would be kept for ever.
        """
        clocks = self.clocks
        if not self.take(update):
            return False
        if needs.is_plain:
            self._clocks = clocks
            self.awaited(needs)
            return True
        clocks = self.clocks
        if all(clocks.get(client, 0) >= clock for client, clock in needs.after.items()):
            return True
        self.is_spoiled = True
        return False

    def awaited(self, needs: Needs) -> None:
        """An update with these needs comes, before anything that is taken from now on."""
        clocks = self.clocks
        for client, clock in needs.after.items():
            if clocks.get(client, 0) < clock:
                clocks[client] = clock

    def refused(self) -> None:
        """Something that was awaited does not come."""
        self._clocks = None

    def take_since(self, seq: int, updates: Sequence[bytes]) -> list[bytes]:
        """What the log has up to number `seq`; the updates that the document took."""
        taken = [update for update in updates if self.take(update)]
        self.seq = max(self.seq, seq)
        self.beyond = {number for number in self.beyond if number > self.seq}
        return taken

    def numbered(self, numbers: Sequence[int]) -> None:
        """The updates of these numbers are in the document."""
        if not self.beyond and numbers[0] == self.seq + 1 and _in_a_row(numbers):
            self.seq = numbers[-1]
            return
        self.beyond.update(number for number in numbers if number > self.seq)
        while self.seq + 1 in self.beyond:
            self.seq += 1
            self.beyond.discard(self.seq)

    def has_number(self, number: int) -> bool:
        return number <= self.seq or number in self.beyond


def _in_a_row(numbers: Sequence[int]) -> bool:
    return numbers[-1] - numbers[0] == len(numbers) - 1
