"""What was read of prompts, given again only while it is known to be true.

The database counts the changes of each project's prompts. A value is kept with the count at which
it was read, in one snapshot; it is given while

* the project's count was looked up at most `bound_s` ago and was still the value's, and
* no word of a change came since that look-up began.

So a change is seen at once where its message arrives, and after `bound_s` where it is lost.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass(slots=True)
class _Known:
    """What is known of a project: its count, as of when, and the latest word of a change."""

    count: int = -1
    read_at: float = float("-inf")
    told_at: float = float("-inf")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Value]):
    value: Value
    count: int
    num_bytes: int


class ServedCache(Generic[Value]):
    """Used by any thread; the values used longest ago go first when `max_bytes` are reached."""

    def __init__(
        self,
        *,
        bound_s: float,
        refresh_s: float,
        max_bytes: int,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        assert refresh_s < bound_s
        self.bound_s, self.refresh_s, self.max_bytes, self.now_s = (
            bound_s,
            refresh_s,
            max_bytes,
            now_s,
        )
        self._known: dict[int, _Known] = {}
        self._entries: OrderedDict[tuple[int, Hashable], _Entry[Value]] = OrderedDict()
        self._num_bytes = 0
        self._lock = threading.Lock()

    def get(self, project: int, key: Hashable) -> Value | None:
        """The value where it is known to be true, else None."""
        with self._lock:
            entry = self._entries.get((project, key))
            known = self._known.get(project)
            if entry is None or known is None or entry.count != known.count:
                return None
            if known.read_at <= known.told_at or self.now_s() - known.read_at > self.bound_s:
                return None
            self._entries.move_to_end((project, key))
            return entry.value

    def kept(self, project: int, key: Hashable) -> Value | None:
        """The value however old: for who has just had it read."""
        entry = self._entries.get((project, key))
        return entry.value if entry else None

    def is_aging(self, project: int) -> bool:
        """Whether the project's count should be looked up again before it must be."""
        known = self._known.get(project)
        return known is not None and self.now_s() - known.read_at > self.refresh_s

    def checked(self, project: int, count: int, read_at: float) -> None:
        """The project's count as a look-up that began at `read_at` found it."""
        with self._lock:
            known = self._known.setdefault(project, _Known())
            known.count = max(known.count, count)
            known.read_at = max(known.read_at, read_at)

    def put(
        self,
        project: int,
        key: Hashable,
        value: Value,
        *,
        count: int,
        read_at: float,
        num_bytes: int,
    ) -> None:
        """Keep a value read in the snapshot that had this count, unless a newer one is kept."""
        self.checked(project, count, read_at)
        with self._lock:
            old = self._entries.get((project, key))
            if old is not None and old.count > count:
                return
            self._entries.pop((project, key), None)
            self._num_bytes += num_bytes - (old.num_bytes if old else 0)
            self._entries[project, key] = _Entry(value, count, num_bytes)
            while self._num_bytes > self.max_bytes:
                _, gone = self._entries.popitem(last=False)
                self._num_bytes -= gone.num_bytes

    def told(self, project: int) -> None:
        """Word came that something of the project changed."""
        with self._lock:
            self._known.setdefault(project, _Known()).told_at = self.now_s()

    def told_all(self) -> None:
        """Words may have been missed."""
        with self._lock:
            for known in self._known.values():
                known.told_at = self.now_s()

    def clear(self) -> None:
        """Forget everything, as after a restart."""
        with self._lock:
            self._known.clear()
            self._entries.clear()
            self._num_bytes = 0
