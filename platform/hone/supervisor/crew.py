"""The children of one supervisor: started, waited for, and stopped in the right order."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from hone.supervisor.child import Child, Command, status_text
from hone.supervisor.console import Console
from hone.supervisor.datadir import DataDir, pids_forget, pids_write
from hone.supervisor.errors import StartError

START_ATTEMPTS = 3
# PostgreSQL refuses to start while processes of a killed server are still ending.
START_PATIENCE_S = 15.0
POLL_S = 0.05
STORES = ("postgres", "valkey")  # they stop last: the others write until their end


class Crew:
    """All children of one data folder, by name."""

    def __init__(self, data: DataDir, console: Console) -> None:
        self.children: dict[str, Child] = {}
        self._data = data
        self._console = console
        self._pids: dict[str, int] = {}

    async def start(self, command: Command) -> Child:
        """Start a child that is kept alive; raises StartError when its program cannot be run."""
        child = self._child(command)
        try:
            await child.start()
        except OSError as error:
            raise StartError(f"{command.name} could not be started: {error}") from error
        return child

    async def run_once(self, command: Command, failure: str) -> list[str]:
        """Run a command to its end and return its latest lines; StartError when it fails."""
        child = self._child(command)
        status = await child.run_once()
        if status != 0:
            raise StartError(self._told(f"{failure}: it {status_text(status)}", child))
        return list(child.latest_lines)

    async def until(self, child: Child, question: Callable[[], Awaitable[bool]]) -> None:
        """Wait until the question is answered with yes; StartError when the child keeps dying."""
        started = time.monotonic()
        while not await question():
            patient = time.monotonic() - started < START_PATIENCE_S
            if child.restarts >= START_ATTEMPTS and not patient:
                raise StartError(self._told(f"{child.command.name} does not start", child))
            await asyncio.sleep(POLL_S)

    async def until_ready(self, child: Child) -> None:
        """Wait for the child's own line that says it works."""

        async def ready() -> bool:
            return child.ready.is_set()

        await self.until(child, ready)

    async def stop(self) -> None:
        """Stop all: first what uses the stores, then the stores."""
        for stores in (False, True):
            chosen = [c for name, c in self.children.items() if (name in STORES) is stores]
            await asyncio.gather(*(child.stop() for child in chosen))
        pids_forget(self._data)

    def kill(self) -> None:
        """End all at once."""
        for child in self.children.values():
            child.kill()

    def _child(self, command: Command) -> Child:
        child = Child(command, self._data.logs, self._console.step, self._on_pid)
        self.children[command.name] = child
        return child

    def _on_pid(self, name: str, pid: int | None) -> None:
        if pid is None:
            self._pids.pop(name, None)
        else:
            self._pids[name] = pid
        with contextlib.suppress(OSError):  # a full disk must not end the supervision
            pids_write(self._data, self._pids)

    def _told(self, what: str, child: Child) -> str:
        tail = "\n".join(f"    {line}" for line in list(child.latest_lines)[-12:])
        return f"{what}. Its latest lines ({self._data.logs / child.command.name}.log):\n{tail}"
