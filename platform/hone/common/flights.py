"""A call that many want at the same time is made once."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import structlog

log = structlog.get_logger(__name__)
Value = TypeVar("Value")


class Flights(Generic[Value]):
    """Running calls by key, those of each event loop for themselves."""

    def __init__(self) -> None:
        self._running: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[Hashable, asyncio.Task[Value]]
        ] = WeakKeyDictionary()

    def fly(
        self, key: Hashable, work: Callable[[], Coroutine[Any, Any, Value]]
    ) -> asyncio.Task[Value]:
        """The running call for `key`, else a new one; wait for it shielded, or not at all.

        Whoever waits gets its error; the log has it, too, in case nobody does.
        """
        running = self._running.setdefault(asyncio.get_running_loop(), {})
        task = running.get(key)
        if task is None:

            async def run() -> Value:
                try:
                    return await work()
                finally:
                    running.pop(key, None)

            task = running[key] = asyncio.create_task(run())
            task.add_done_callback(_noted)
        return task


def _noted(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.info("shared_call_failed", error=repr(error))
