"""Prompts by what was asked for: fresh ones are given at once, old ones while a new one comes."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hone.sdk.options import log
from hone.sdk.prompts.prompt import Prompt

MAX_PROMPTS: Final = 1000
RETRY_S: Final = 10.0  # before a refresh that failed is tried again
Key = tuple[str, ...]
Load = Callable[[], Prompt]


@dataclass(slots=True)
class _Entry:
    prompt: Prompt
    fresh_until: float
    is_refreshing: bool = False


class PromptCache:
    """One per process; a refresh is one thread a prompt, which ends with it."""

    def __init__(self) -> None:
        self._entries: dict[Key, _Entry] = {}
        self._lock = threading.Lock()

    def get(self, key: Key, ttl_s: float, load: Load) -> Prompt:
        """The prompt; raises what `load` raises only where none is known."""
        with self._lock:
            entry = self._entries.get(key)
            is_old = entry is not None and time.monotonic() >= entry.fresh_until
            refreshes = entry is not None and is_old and not entry.is_refreshing
            if entry is not None and refreshes:
                entry.is_refreshing = True
        if entry is None:
            return self._put(key, load(), ttl_s)
        if refreshes:
            self._refresh(key, ttl_s, load, entry)
        return entry.prompt

    def clear(self) -> None:
        """Forget every prompt."""
        with self._lock:
            self._entries.clear()

    def _put(self, key: Key, prompt: Prompt, ttl_s: float) -> Prompt:
        with self._lock:
            self._entries.pop(key, None)
            while len(self._entries) >= MAX_PROMPTS:
                self._entries.pop(next(iter(self._entries)))
            self._entries[key] = _Entry(prompt, time.monotonic() + ttl_s)
        return prompt

    def _refresh(self, key: Key, ttl_s: float, load: Load, entry: _Entry) -> None:
        def run() -> None:
            try:
                self._put(key, load(), ttl_s)
            except Exception as error:
                log.info("hone: prompt %s stays as it was: %s", key[0], error)
                entry.fresh_until = time.monotonic() + min(ttl_s, RETRY_S)
                entry.is_refreshing = False

        try:
            threading.Thread(target=run, name="hone-sdk-prompt", daemon=True).start()
        except RuntimeError:
            entry.is_refreshing = False
