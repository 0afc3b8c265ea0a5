"""A small cache whose entries live for seconds and can be dropped from any thread."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class KeyCache(Generic[Value]):
    """`get` is lock-free and never older than `ttl_s`; at most `max_len` entries.

    A value read before a `drop` must not be put after it: `put` wants the `generation` that held
    before the read and ignores the value if a drop came between.
    """

    def __init__(
        self, ttl_s: float, max_len: int = 10_000, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.ttl_s, self.max_len, self.now_s = ttl_s, max_len, now_s
        self.generation = 0
        self._entries: OrderedDict[str, tuple[float, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Value | None:
        found = self._entries.get(key)
        if found is None or found[0] < self.now_s():
            return None
        return found[1]

    def is_aging(self, key: str) -> bool:
        """Whether more than half of the time is over in which an entry may be given."""
        found = self._entries.get(key)
        return found is not None and found[0] - self.now_s() < self.ttl_s / 2

    def put(self, key: str, value: Value, generation: int) -> None:
        with self._lock:
            if generation != self.generation:
                return
            self._entries[key] = (self.now_s() + self.ttl_s, value)
            self._entries.move_to_end(key)
            while len(self._entries) > self.max_len:
                self._entries.popitem(last=False)

    def drop(self, key: str) -> None:
        with self._lock:
            self.generation += 1
            self._entries.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self.generation += 1
            self._entries.clear()
