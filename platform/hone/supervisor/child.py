"""One child process: started, its output kept in a rotated log, restarted when it dies."""

import asyncio
import collections
import contextlib
import ctypes
import logging
import logging.handlers
import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOG_BYTES = 5_000_000
LOG_FILES = 3
LONGEST_LINE = 64 * 1024
FIRST_PAUSE_S = 0.3
LONGEST_PAUSE_S = 15.0
STEADY_AFTER_S = 20.0  # a child that lived this long starts again at once
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Command:
    """How one child is started and stopped."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    kill_signal: signal.Signals = signal.SIGKILL
    grace_s: float = 8.0
    user: str | None = None
    ready_pattern: str | None = None  # a log line that says the child works
    cwd: Path | None = None


def _die_with(parent: int, number: signal.Signals) -> Callable[[], None]:
    def run() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # the parent died between fork and prctl
            os._exit(1)

    return run


def _log_open(path: Path) -> logging.Logger:
    logger = logging.Logger(path.stem)
    handler = logging.handlers.RotatingFileHandler(
        path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", delay=True
    )
    handler.handleError = lambda record: None  # type: ignore[method-assign]  # a full disk
    logger.addHandler(handler)
    return logger


class Child:
    """A process that is kept alive until `stop`.

    `on_event(text)` gets one plain sentence for each start, death and restart worth telling.
    """

    def __init__(
        self,
        command: Command,
        logs: Path,
        on_event: Callable[[str], None],
        on_pid: Callable[[str, int | None], None] = lambda name, pid: None,
    ) -> None:
        self.command = command
        self.ready = asyncio.Event()
        self.restarts = 0
        self.latest_lines: collections.deque[str] = collections.deque(maxlen=30)
        self._log = _log_open(logs / f"{command.name}.log")
        self._on_event = on_event
        self._on_pid = on_pid
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False
        self._keeper: asyncio.Task[Any] | None = None
        self._pattern = re.compile(command.ready_pattern) if command.ready_pattern else None

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        process = self._process
        return process.pid if process and process.returncode is None else None

    @property
    def alive(self) -> bool:
        """Whether the process runs now."""
        return self.pid is not None

    async def start(self) -> None:
        """Start the process and keep it alive in the background; raises OSError if it cannot."""
        await self._spawn()
        self._keeper = asyncio.create_task(self._keep())

    async def run_once(self) -> int:
        """Run the process to its end and return its exit status; it is not restarted."""
        try:
            await self._spawn()
            return await self._follow()
        finally:
            self._log_close()

    async def stop(self) -> None:
        """Ask the process to end, kill it after its grace; returns when it is gone."""
        self._stopping = True
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(self.command.stop_signal)
        gone = self._keeper or (asyncio.create_task(process.wait()) if process else None)
        if gone is None:
            return
        try:
            await asyncio.wait_for(asyncio.shield(gone), self.command.grace_s)
        except TimeoutError:
            self.kill()
            await gone
        finally:
            self._log_close()

    def kill(self) -> None:
        """End the process and its group now."""
        pid = self.pid
        if pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if self.command.kill_signal is signal.SIGKILL:
                    os.killpg(pid, signal.SIGKILL)
                else:
                    os.kill(pid, self.command.kill_signal)

    def _log_close(self) -> None:
        for handler in self._log.handlers:
            handler.close()

    async def _spawn(self) -> None:
        command = self.command
        self._process = await asyncio.create_subprocess_exec(
            *command.argv,
            env=dict(command.env),
            cwd=command.cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=LONGEST_LINE,
            process_group=0,  # a Ctrl-C of the terminal reaches only the supervisor
            preexec_fn=_die_with(os.getpid(), command.stop_signal),
            **as_user(command.user),
        )
        self._on_pid(command.name, self._process.pid)

    async def _keep(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            started = time.monotonic()
            ending = status_text(await self._follow())
            if time.monotonic() - started > STEADY_AFTER_S:
                pause = FIRST_PAUSE_S
            self.ready.clear()
            spawned = False
            while not spawned:
                if self._stopping:
                    return
                self._on_event(f"{self.command.name} {ending}; starting it again in {pause:.1f} s")
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)
                if self._stopping:
                    return
                self.restarts += 1
                try:
                    await self._spawn()
                    spawned = True
                except OSError as error:  # out of processes or memory: it may pass
                    ending = f"could not be started ({error})"

    async def _follow(self) -> int:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        pump = asyncio.create_task(self._pump(process.stdout))
        status = await process.wait()
        with contextlib.suppress(TimeoutError):  # a grandchild may still hold the pipe
            await asyncio.wait_for(pump, 1.0)
        self._on_pid(self.command.name, None)
        return status

    async def _pump(self, stream: asyncio.StreamReader) -> None:
        while True:
            try:
                raw = await stream.readline()
            except ValueError:  # longer than LONGEST_LINE: it was dropped by the reader
                continue
            if not raw:
                return
            line = raw.decode("utf-8", "replace").rstrip()
            self.latest_lines.append(line)
            self._log.info(line)
            if self._pattern is not None and self._pattern.search(line):
                self.ready.set()


def as_user(user: str | None) -> dict[str, Any]:
    """Arguments of subprocess for another account, with that account's group alone."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def status_text(status: int) -> str:
    """`was killed by SIGKILL` or `ended with status 1`."""
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(-status).name}"
    return f"ended with status {status}"
