"""What waits to be sent, bounded in number and bytes. Putting in never waits and never raises."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple


class Parcel(NamedTuple):
    """One span or score and about how much memory it holds."""

    content: Any
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may wait, and when waiting for more is over."""

    num_items: int
    num_bytes: int
    batch_items: int = 512
    batch_bytes: int = 4 * 1024 * 1024


class Outbox:
    """Parcels in order of arrival; the newest is refused when there is no room."""

    def __init__(self, limits: Limits, on_first: Callable[[], None]) -> None:
        self.limits = limits
        self.num_bytes = 0
        self.num_put = 0
        self.num_refused = 0
        # Never an Event: its lock is not reentrant, and a garbage collection inside `set` may
        # end an abandoned generator's span in this very thread.
        self.signals: SimpleQueue[None] = SimpleQueue()
        self._on_first = on_first
        self._parcels: deque[Parcel] = deque()
        self._lock = threading.RLock()  # reentrant for the same reason

    def __len__(self) -> int:
        return len(self._parcels)

    def put(self, content: object, num_bytes: int) -> bool:
        """Take one parcel in; False, and counted, where there is no room."""
        limits = self.limits
        with self._lock:
            waiting = len(self._parcels)
            if waiting >= limits.num_items or self.num_bytes + num_bytes > limits.num_bytes:
                self.num_refused += 1
                return False
            self._parcels.append(Parcel(content, num_bytes))
            self.num_bytes += num_bytes
            self.num_put += 1
        if waiting == 0:
            self._on_first()
        if waiting == 0 or waiting == limits.batch_items:
            self.signals.put(None)
        return True

    def is_full_batch(self) -> bool:
        """Whether there is enough for a batch."""
        limits = self.limits
        return len(self._parcels) >= limits.batch_items or self.num_bytes >= limits.batch_bytes

    def take(self) -> list[Parcel]:
        """The next batch; at least one parcel where any waits. Its bytes count until `settle`."""
        limits, size = self.limits, 0
        taken: list[Parcel] = []
        with self._lock:
            while self._parcels and len(taken) < limits.batch_items:
                if taken and size + self._parcels[0].num_bytes > limits.batch_bytes:
                    break
                taken.append(self._parcels.popleft())
                size += taken[-1].num_bytes
        return taken

    def settle(self, parcels: list[Parcel]) -> None:
        """Parcels that were taken are delivered or given up: their room is free."""
        with self._lock:
            self.num_bytes -= sum(parcel.num_bytes for parcel in parcels)
