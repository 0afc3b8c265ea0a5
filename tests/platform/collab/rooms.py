"""A Yjs client of a room, in Python, and web processes that can be killed."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import websockets
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection

from hone.collab.core.frames import (
    ANSWER,
    AUTH,
    AWARENESS,
    EDIT,
    STATE,
    SYNC,
    Reader,
    answer_frame,
    awareness_frame,
    edit_frame,
    state_frame,
)
from hone.collab.core.shape import document_open
from hone.collab.selectors import draft_content

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0


@dataclass
class Web:
    """A web process on a port of its own; `plain`: its server knows ASGI only."""

    plain: bool = False
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def start(self) -> None:
        """Start it; `until_up` waits for it."""
        parts = urlsplit(settings.DATABASE_URL)
        database = urlunsplit(parts._replace(path=f"/{connection.settings_dict['NAME']}"))
        environment = {
            **os.environ,
            "PGOPTIONS": "-c synchronous_commit=off",
            "DJANGO_SETTINGS_MODULE": "hone.config.settings.prod",
            "PYTHONPATH": os.pathsep.join(
                [str(ROOT / "platform"), os.environ.get("PYTHONPATH", "")]
            ),
            "DATABASE_URL": database,
            "REDIS_URL": settings.REDIS_URL,
            "HONE_REDIS_PREFIX": settings.HONE_REDIS_PREFIX,
            "HONE_SERVER_SECRET": settings.SECRET_KEY,
            "HONE_LOG_LEVEL": "CRITICAL",
        }
        app = "hone.config.asgi:application"
        command = [sys.executable, "-m", "uvicorn", app, "--lifespan", "off"]
        options = ["--port", str(self.port), "--log-level", "critical"]
        if not self.plain:
            options += ["--ws", "hone.common.websocket:WebSocketProtocol"]
        self.process = subprocess.Popen([*command, *options], env=environment)

    def is_up(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False

    def until_up(self) -> None:
        """Wait until it answers; one that has ended is started again."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_up():
            if self.process is None or self.process.poll() is not None:
                self.start()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE_S)

    def room(self, draft: object, query: str = "") -> str:
        return f"ws://127.0.0.1:{self.port}/ws/collab/{draft}{query}"


@dataclass(eq=False)
class Yjs:
    """A client with a document of its own, which goes on while it is offline."""

    url: Callable[[], str]
    headers: dict[str, str]
    document: Any = field(default_factory=document_open)
    socket: Any = None
    task: asyncio.Task[None] | None = None
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    denied: list[str] = field(default_factory=list)
    awareness: list[bytes] = field(default_factory=list)
    closed: tuple[int, str] | None = None
    sending: set[asyncio.Task[None]] = field(default_factory=set)
    held: list[bytes] | None = None  # edits that wait, to be sent in another order
    is_applying: bool = False

    def __post_init__(self) -> None:
        self._subscription = self.document.observe(self._edited)

    @property
    def text(self) -> Any:
        return self.document["text"]

    def _edited(self, event: Any) -> None:
        if self.is_applying or self.socket is None:
            return
        if self.held is not None:
            self.held.append(event.update)
        else:
            self.send(edit_frame(event.update))

    def send(self, frame: bytes) -> None:
        if self.socket is not None:
            task = asyncio.get_running_loop().create_task(self._send(self.socket, frame))
            self.sending.add(task)
            task.add_done_callback(self.sending.discard)

    @staticmethod
    async def _send(socket: Any, frame: bytes) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            await socket.send(frame)

    async def connect(self) -> "Yjs":
        self.synced.clear()
        self.closed = None
        self.socket = await websockets.connect(
            self.url(), additional_headers=self.headers, max_size=None, compression=None
        )
        self.task = asyncio.create_task(self._listen(self.socket))
        await self._send(self.socket, state_frame(self.document.get_state()))
        return self

    async def joined(self) -> "Yjs":
        """Connected, and told everything."""
        await self.connect()
        async with asyncio.timeout(PATIENCE_S):
            await self.synced.wait()
        return self

    async def leave(self) -> None:
        socket, self.socket = self.socket, None
        if socket is not None:
            await asyncio.gather(*self.sending, return_exceptions=True)
            await socket.close()
        if self.task is not None:
            await asyncio.gather(self.task, return_exceptions=True)

    async def _listen(self, socket: Any) -> None:
        try:
            async for frame in socket:
                self._take(frame)
        except websockets.ConnectionClosed:
            pass
        finally:
            self.closed = (socket.close_code or 1006, socket.close_reason or "")
            if self.socket is socket:
                self.socket = None

    def _take(self, frame: bytes) -> None:
        reader = Reader(frame)
        kind = reader.number()
        if kind == AUTH:
            reader.number()
            self.denied.append(reader.text())
        elif kind == AWARENESS:
            self.awareness.append(reader.bytes())
        elif kind == SYNC:
            step, data = reader.number(), reader.bytes()
            if step == STATE:
                self.send(answer_frame(self.document.get_update(data)))
            else:
                assert step in (ANSWER, EDIT)
                self.is_applying = True
                self.document.apply_update(data)
                self.is_applying = False
                if step == ANSWER:
                    self.synced.set()

    def tell(self, update: bytes) -> None:
        self.send(awareness_frame(update))

    def release(self, shuffle: Callable[[list[bytes]], None]) -> None:
        """Send what was held, in another order."""
        held, self.held = self.held or [], None
        shuffle(held)
        for update in held:
            self.send(edit_frame(update))


async def stored(draft: object) -> Any:
    """What the log says."""
    _, shape = await sync_to_async(draft_content)(draft)
    return shape.prompt


async def until_stored(draft: object, text: str) -> None:
    """Wait until the log says it: screens may be ahead of it by a commit."""
    async with asyncio.timeout(PATIENCE_S):
        while await stored(draft) != text:
            await asyncio.sleep(0.02)


async def until(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Wait until it holds."""
    async with asyncio.timeout(patience_s):
        while not condition():
            await asyncio.sleep(0.01)
