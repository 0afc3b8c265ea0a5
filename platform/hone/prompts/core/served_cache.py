"""What was read of prompts, given again only while it is known to be true.

The database counts the changes of each project's prompts and keeps, for each prompt's name (as a
mark), the count at its last change. A value is kept with the marks of all names that it was made
of and with the count at which it was read, in one snapshot; it is given while

* its own read or the project's latest look-up began at most `bound_s` ago,
* no look-up found one of its names changed at a later count than the value's, and
* no word of a change of one of its names came since the later of the two began.

So a change is seen at once where its message arrives, and after `bound_s` where it is lost; and it
concerns nobody but those who were made of what changed.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

Value = TypeVar("Value")
NEVER: Final = float("-inf")
MAX_MARKS: Final = 50_000  # of one project; beyond, all of it is read again


def mark_of(name: str) -> int:
    """What stands for a prompt's name where changes are counted, as the database computes it."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


@dataclass(frozen=True, slots=True)
class Moment:
    """A project's count in one snapshot, whose reading began at `read_at`.

    `epoch` tells a count from one that began anew, as in a database that was restored.
    """

    epoch: int
    count: int
    read_at: float


@dataclass(slots=True)
class _Name:
    """The latest change of a name that a look-up found, and the latest word of one."""

    count: int = -1
    told_at: float = NEVER


@dataclass(slots=True)
class _Known:
    """What is known of a project: changes after `base` and up to `count` stand in `names`."""

    epoch: int | None = None
    base: int = -1
    count: int = -1
    read_at: float = NEVER
    landed_at: float = NEVER  # when the look-up that found `count` was there
    told_at: float = NEVER
    names: dict[int, _Name] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Value]):
    value: Value
    marks: tuple[int, ...]
    count: int
    read_at: float
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
        self._told_at = NEVER  # of all projects
        self._lock = threading.Lock()

    def get(self, project: int, key: Hashable) -> Value | None:
        """The value where it is known to be true, else None."""
        with self._lock:
            entry, known = self._entries.get((project, key)), self._known.get(project)
            if entry is None or known is None or _is_changed(entry, known):
                return None
            true_at = max(entry.read_at, known.read_at)
            told_at = max(self._told_at, known.told_at, _told_at(entry, known))
            if true_at <= told_at or self.now_s() - true_at > self.bound_s:
                return None
            self._entries.move_to_end((project, key))
            return entry.value

    def may_hold(self, project: int, key: Hashable) -> bool:
        """Whether there is a value of which no change is known: a look-up may show that it holds.

        After a word of a change of one of its own names it is read again without asking first.
        """
        with self._lock:
            entry, known = self._entries.get((project, key)), self._known.get(project)
            if entry is None or known is None or _is_changed(entry, known):
                return False
            return max(entry.read_at, known.read_at) > _told_at(entry, known)

    def is_aging(self, project: int) -> bool:
        """Whether the project's count should be looked up again before it must be."""
        known = self._known.get(project)
        return known is not None and self.now_s() - known.read_at > self.refresh_s

    def count(self, project: int) -> int | None:
        """The count up to which the project's changes are known, None where nothing is."""
        known = self._known.get(project)
        return known.count if known is not None and known.epoch is not None else None

    def checked(
        self, project: int, moment: Moment, *, since: int | None, changed: Mapping[int, int]
    ) -> None:
        """What a look-up found: the count, and by mark the latest change after the count `since`.

        `since` is what `count` gave when the look-up began.
        """
        with self._lock:
            known = self._at(project, moment)
            if known is None or (since is not None and since > known.count):
                return  # of a past that a later one has overruled
            if since is None and known.count != moment.count:
                return
            for mark, count in changed.items():
                name = known.names.setdefault(mark, _Name())
                name.count = max(name.count, count)
            known.count = max(known.count, moment.count)
            known.read_at = max(known.read_at, moment.read_at)
            known.landed_at = self.now_s()
            self._limit(known)

    def put(
        self,
        project: int,
        key: Hashable,
        value: Value,
        *,
        names: Collection[str],
        moment: Moment,
        num_bytes: int,
    ) -> None:
        """Keep a value made of these prompts in one snapshot, unless a newer one is kept."""
        with self._lock:
            known = self._at(project, moment)
            old = self._entries.get((project, key))
            if known is None or (old is not None and old.count > moment.count):
                return
            self._drop((project, key))
            marks = tuple(mark_of(name) for name in sorted(names))
            self._entries[project, key] = _Entry(
                value, marks, moment.count, moment.read_at, num_bytes
            )
            self._num_bytes += num_bytes
            while self._num_bytes > self.max_bytes:
                self._drop(next(iter(self._entries)))

    def told(self, project: int, mark: int | None = None) -> None:
        """Word came that a prompt of the project changed; without its mark, that any may have."""
        with self._lock:
            known = self._known.setdefault(project, _Known())
            if mark is None:
                known.told_at = self.now_s()
                return
            known.names.setdefault(mark, _Name()).told_at = self.now_s()
            self._limit(known)

    def told_all(self) -> None:
        """Words may have been missed."""
        with self._lock:
            self._told_at = self.now_s()

    def clear(self) -> None:
        """Forget everything, as after a restart."""
        with self._lock:
            self._known.clear()
            self._entries.clear()
            self._num_bytes = 0

    def _at(self, project: int, moment: Moment) -> _Known | None:
        """What is known of the project, begun anew where the database's counting did.

        None where the moment is older than what is known of by now.
        """
        known = self._known.setdefault(project, _Known())
        is_later = moment.read_at > known.landed_at
        went_back = moment.epoch != known.epoch or (is_later and moment.count < known.count)
        if went_back:
            if known.epoch is not None and not is_later:
                return None
            for key in [key for key in self._entries if key[0] == project]:
                self._drop(key)
            known.epoch = moment.epoch
            known.base = known.count = moment.count
            known.read_at, known.landed_at = moment.read_at, self.now_s()
            for name in known.names.values():
                name.count = -1
        return known if moment.count >= known.base else None

    def _limit(self, known: _Known) -> None:
        """Forget single changes where there are too many: all that was read before counts as
        changed."""
        if len(known.names) > MAX_MARKS:
            known.names.clear()
            known.base, known.told_at = known.count, self.now_s()

    def _drop(self, key: tuple[int, Hashable]) -> None:
        gone = self._entries.pop(key, None)
        if gone is not None:
            self._num_bytes -= gone.num_bytes


def _is_changed(entry: _Entry[Value], known: _Known) -> bool:
    """Whether a look-up found that a prompt of which the value was made changed since."""
    names = (known.names.get(mark) for mark in entry.marks)
    is_later = any(name is not None and name.count > entry.count for name in names)
    return is_later or entry.count < known.base


def _told_at(entry: _Entry[Value], known: _Known) -> float:
    """When the latest word of a change of one of the value's prompts came."""
    found = (known.names.get(mark) for mark in entry.marks)
    return max((name.told_at for name in found if name is not None), default=NEVER)
