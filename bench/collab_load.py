"""Editors that type into rooms, as lean as they can be: the load of bench/collab.py.

    python bench/collab_load.py < PLAN    (JSON: {"urls", "people", "headers", "seconds", "pids"})

Runs as a process of its own, so that its processor share is known. No document is kept and no frame
decoded beyond its length: every edit is made beforehand and only its time stamp filled in when it
is typed; a receiver looks for stamps in what came. Prints p50 and p95 from a keystroke to another's
socket, edits typed, the share of them that came to everybody else, how late its own timers were
(p95), and its processor share: a generator near 1.0, or one that types late, measures itself. Also
the shares of the processes named in `pids` (name -> process numbers) while people typed.
"""

import asyncio
import base64
import contextlib
import gc
import json
import os
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvloop
from pycrdt import Doc, Text

from hone.collab.core.frames import edit_frame, state_frame

EDITS_A_SECOND = 5
STAMP = re.compile(rb"~([0-9a-f]{12})([0-9a-f]{4})")  # microseconds, the editor's number
EMPTY = b"~" + b"0" * 16
MICROSECONDS = 2**48
SETTLE_S = 2.0


def clock() -> int:
    return time.time_ns() // 1000 % MICROSECONDS


def processor_s(pids: list[int]) -> float:
    """Processor seconds that processes have used; one that has ended counts nothing."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def client_frame(payload: bytes, opcode: int = 2) -> bytes:
    """A WebSocket frame with the mask 0, which leaves the payload as it is."""
    short = len(payload) < 126
    length = bytes((0x80 | len(payload),)) if short else b"\xfe" + len(payload).to_bytes(2, "big")
    return bytes((0x80 | opcode,)) + length + bytes(4) + payload


def edits(number: int) -> list[tuple[bytes, bytes]]:
    """Frames of one editor that types at the end of its own text: before a stamp and after it."""
    document: Doc[Any] = Doc()
    text = document.get("text", type=Text)
    made = []
    for _ in range(number):
        before = document.get_state()
        text += EMPTY.decode()
        head, _, tail = client_frame(edit_frame(document.get_update(before))).partition(EMPTY)
        made.append((head + b"~", tail))
    return made


@dataclass(eq=False)
class Editor(asyncio.Protocol):
    """One socket that types and reads the stamps of others."""

    number: int
    request: bytes
    frames: list[tuple[bytes, bytes]]
    delays: list[int]
    late: list[float]
    entered: asyncio.Future[None]
    buffer: bytes = b""
    is_open: bool = False
    typed: int = 0
    own: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.own = f"{self.number:04x}".encode()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        data = self.buffer + data if self.buffer else data
        if not self.is_open:
            head, found, data = data.partition(b"\r\n\r\n")
            if not found:
                self.buffer = head
                return
            assert b" 101 " in head, head
            self.is_open = True
            self.transport.write(client_frame(state_frame(b"\x00")))
            self.entered.set_result(None)
        self.walk(data)

    def walk(self, data: bytes) -> None:
        """Whole frames: pings are answered, stamps are read; the rest waits."""
        at, size = 0, len(data)
        while at + 2 <= size:
            length, head = data[at + 1], 2
            if length == 126:
                length, head = int.from_bytes(data[at + 2 : at + 4], "big"), 4
            elif length == 127:
                length, head = int.from_bytes(data[at + 2 : at + 10], "big"), 10
            if at + head + length > size:
                break
            if data[at] == 0x89:
                self.transport.write(client_frame(data[at + head : at + head + length], 10))
            elif data[at] == 0x88:
                raise SystemExit(f"sent away: {data[at + head : at + head + length]!r}")
            at += head + length
        now = clock()
        for stamp, by in STAMP.findall(data[:at]):
            if by != self.own:  # servers send some edits back to who made them
                self.delays.append((now - int(stamp, 16)) % MICROSECONDS)
        self.buffer = data[at:]

    def type(self, due: float, until: float) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now >= until or self.typed >= len(self.frames):
            return
        self.late.append(now - due)
        head, tail = self.frames[self.typed]
        self.typed += 1
        self.transport.write(b"%b%012x%b%b" % (head, clock(), self.own, tail))
        due += 1 / EDITS_A_SECOND
        loop.call_at(due, self.type, due, until)


async def enter(number: int, url: str, plan: dict[str, Any], delays: Any, late: Any) -> Editor:
    loop = asyncio.get_running_loop()
    parts = urlsplit(url)
    lines = [
        f"GET {parts.path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(number.to_bytes(16, 'big')).decode()}",
        *(f"{name}: {value}" for name, value in plan["headers"].items()),
    ]
    request = "\r\n".join([*lines, "", ""]).encode()
    frames = edits(int(plan["seconds"] * EDITS_A_SECOND) + 1)
    editor = Editor(number, request, frames, delays, late, loop.create_future())
    await loop.create_connection(lambda: editor, str(parts.hostname), parts.port or 80)
    await editor.entered
    return editor


async def crowd(plan: dict[str, Any]) -> dict[str, float]:
    """Everybody types; milliseconds from a keystroke to another's socket."""
    delays: list[int] = []
    late: list[float] = []
    people, urls = plan["people"], plan["urls"]
    doors = [(n, url) for n, url in enumerate(url for url in urls for _ in range(people))]
    editors: list[Editor] = []
    for first in range(0, len(doors), 25):
        some = doors[first : first + 25]
        editors += await asyncio.gather(*(enter(n, url, plan, delays, late) for n, url in some))
    await asyncio.sleep(SETTLE_S)
    gc.freeze()
    gc.disable()
    loop = asyncio.get_running_loop()
    began, cpu = loop.time(), time.process_time()
    before = {name: processor_s(pids) for name, pids in plan["pids"].items()}
    until = began + plan["seconds"]
    for editor in editors:
        due = began + editor.number / len(editors) / EDITS_A_SECOND
        loop.call_at(due, editor.type, due, until)
    await asyncio.sleep(plan["seconds"])
    share = (time.process_time() - cpu) / plan["seconds"]
    used = {name: processor_s(pids) - before[name] for name, pids in plan["pids"].items()}
    await asyncio.sleep(SETTLE_S)  # what is under way arrives
    for editor in editors:
        editor.transport.close()
    typed = sum(editor.typed for editor in editors)
    delays.sort()
    late.sort()
    return {
        "p50": round(delays[len(delays) // 2] / 1000, 1),
        "p95": round(delays[len(delays) * 95 // 100] / 1000, 1),
        "edits_a_second": round(typed / plan["seconds"]),
        "received": round(len(delays) / (typed * (people - 1)), 4),
        "late": round(late[len(late) * 95 // 100] * 1000, 1),
        "processor": round(share, 2),
        **{f"processor of {name}": round(s / plan["seconds"], 2) for name, s in used.items()},
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(crowd(json.load(sys.stdin)))))
