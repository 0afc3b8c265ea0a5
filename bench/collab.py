"""How long a keystroke takes to a colleague's screen, with how many people and rooms.

    PYTHONPATH=platform:inference python bench/collab.py [--seconds 15] [--peer ws://127.0.0.1:1234]

Starts the product on a new folder and lets clients type into its rooms: 50 in one, then 5 in each
of 200, each 5 edits a second. An edit carries the time at which it was typed; whoever receives it
takes the difference. The clients are bench/collab_load.py, a process on the same machine; its own
share is shown. `--peer` names a y-websocket server which gets the same load; it keeps nothing and
asks nobody who they are (`--peer-pid`: its process, for its share). Also measured: processor
shares, memory a room, and how long a document of 1 MB with 100,000 updates takes to open after
compaction.
Required: p95 <= 100 ms, opening <= 500 ms. Writes bench/results/collab.json.
"""

import argparse
import asyncio
import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import figures
import websockets
from footprint import descendants, start
from pycrdt import Doc, Text

from hone.collab.core.frames import ANSWER, SYNC, Reader, edit_frame, state_frame
from hone.supervisor.demoenv import demo_env_read

CROWDS = ((1, 50), (200, 5))  # rooms, people in each
LARGE_UPDATES, LARGE_LEN = 100_000, 10
HONE, PEER = "hone", "y-websocket"
SHOWN = {
    "p50": ("keystroke to colleague, p50", "ms"),
    "p95": ("keystroke to colleague, p95", "ms"),
    "received": ("edits received by all others", "share"),
    "edits_a_second": ("edits typed a second", "1/s"),
    "processor": ("processor of the clients", "cores"),
    "late": ("how late the clients type, p95", "ms"),
}


def crowd(
    urls: list[str],
    people: int,
    headers: dict[str, str],
    seconds: float,
    pids: dict[str, list[int]],
) -> dict[str, float]:
    """Everybody types, in a process of their own; what bench/collab_load.py found."""
    plan = {"urls": urls, "people": people, "headers": headers, "seconds": seconds, "pids": pids}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("collab_load.py"))],
        input=json.dumps(plan),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


class Site:
    """The product's REST interface for a signed-in person."""

    def __init__(self, env: dict[str, str]):
        self.url = env["HONE_URL"]
        self.jar = CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        with contextlib.suppress(urllib.error.HTTPError):  # 401, with the CSRF cookie
            self.get("auth/me")
        self.post("auth/login", {"email": env["HONE_EMAIL"], "password": env["HONE_PASSWORD"]})
        self.project = self.get("auth/me")["projects"][0]["slug"]

    def get(self, path: str) -> Any:
        with self.opener.open(f"{self.url}/api/{path}") as answer:
            return json.load(answer)

    def post(self, path: str, body: Any) -> Any:
        tokens = {cookie.name: cookie.value or "" for cookie in self.jar}
        headers = {
            "Content-Type": "application/json",
            "X-CSRFToken": tokens.get("csrftoken", ""),
            "Origin": self.url,
        }
        request = urllib.request.Request(
            f"{self.url}/api/{path}", json.dumps(body).encode(), headers, method="POST"
        )
        with self.opener.open(request) as answer:
            return json.loads(answer.read() or b"null")

    @property
    def cookie(self) -> dict[str, str]:
        return {"cookie": "; ".join(f"{c.name}={c.value}" for c in self.jar)}

    def drafts(self, number: int) -> list[str]:
        """New drafts of a new prompt, their ids."""
        name = f"bench-{number}-{time.time_ns()}"
        prompts = f"projects/{self.project}/prompts"
        self.post(prompts, {"name": name, "type": "text", "prompt": ""})
        made = [
            self.post(f"{prompts}/{name}/drafts", {"name": f"d{n}"})["id"] for n in range(number)
        ]
        return [f"{self.url.replace('http', 'ws')}/ws/collab/{draft}" for draft in made]


async def opening_ms(url: str, headers: dict[str, str]) -> float:
    """Milliseconds from connecting until the whole document is there."""
    document: Doc[Any] = Doc()
    document.get("text", type=Text)
    began = time.perf_counter()
    async with websockets.connect(
        url, additional_headers=headers, compression=None, max_size=None
    ) as line:
        await line.send(state_frame(document.get_state()))
        async for frame in line:
            reader = Reader(frame)
            if reader.number() == SYNC and reader.number() == ANSWER:
                document.apply_update(reader.bytes())
                return (time.perf_counter() - began) * 1000
    raise SystemExit("the room closed before it answered")


async def write_large(url: str, headers: dict[str, str]) -> None:
    """100,000 updates of ten letters; the writer waits for the server after each thousand."""
    document: Doc[Any] = Doc()
    text = document.get("text", type=Text)
    async with websockets.connect(
        url, additional_headers=headers, compression=None, max_size=None
    ) as line:
        for number in range(LARGE_UPDATES):
            before = document.get_state()
            text.insert(0 if number % 3 else len(text), "abcdefghij"[:LARGE_LEN])
            await line.send(edit_frame(document.get_update(before)))
            if number % 1000 == 999:
                await line.send(state_frame(document.get_state()))
                await _answered(line)


async def _answered(line: Any) -> None:
    async for frame in line:
        reader = Reader(frame)
        if reader.number() == SYNC and reader.number() == ANSWER:
            return


def processes(pid: int) -> dict[str, list[int]]:
    """Those of the product that a room needs."""
    found: dict[str, list[int]] = {"web": [], "PostgreSQL": [], "Valkey": []}
    for each in descendants(pid):
        command = Path(f"/proc/{each}/cmdline").read_bytes()
        name = Path(f"/proc/{each}/comm").read_text()
        if b"hone.config.asgi" in command:
            found["web"].append(each)
        elif "postgres" in name:
            found["PostgreSQL"].append(each)
        elif "valkey" in name:
            found["Valkey"].append(each)
    return found


def web_mb(pid: int) -> float:
    """Resident memory of the web process below the supervisor."""
    [web] = processes(pid)["web"]
    status = Path(f"/proc/{web}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1000  # type: ignore[index]


def measure_crowds(options: argparse.Namespace, site: Site, pid: int) -> dict[str, tuple[Any, str]]:
    found: dict[str, tuple[Any, str]] = {}
    for rooms, people in CROWDS:
        name = f"{rooms} room{'s' * (rooms > 1)} of {people}, 5 edits/s each"
        before = web_mb(pid)
        loads = [(HONE, site.drafts(rooms), site.cookie, processes(pid))]
        if options.peer:
            urls = [f"{options.peer}/{time.time_ns()}-{n}" for n in range(rooms)]
            peer = {"server": [options.peer_pid]} if options.peer_pid else {}
            loads.append((PEER, urls, {}, peer))
        for who, urls, headers, pids in loads:
            result = crowd(urls, people, headers, options.seconds, pids)
            for key, value in result.items():
                title, unit = SHOWN.get(key, (key, "cores"))
                found[f"{title}, {name}, {who}"] = (value, unit)
            if who == HONE:
                grown = (web_mb(pid) - before) / rooms
                found[f"memory a room, {name}, {who}"] = (round(grown, 2), "MB")
    return found


def measure(options: argparse.Namespace, site: Site, pid: int) -> dict[str, tuple[Any, str]]:
    found = measure_crowds(options, site, pid)
    [large] = site.drafts(1)
    asyncio.run(write_large(large, site.cookie))
    time.sleep(15)  # it is compacted, and the empty room is closed
    times = sorted(asyncio.run(opening_ms(large, site.cookie)) for _ in range(5))
    found["opening a document of 1 MB and 100,000 updates, first"] = (round(times[-1]), "ms")
    found["opening a document of 1 MB and 100,000 updates, median of 5"] = (round(times[2]), "ms")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--peer", default="", help="address of a y-websocket server")
    parser.add_argument("--peer-pid", type=int, default=0, help="its process, for its share")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hone-collab-") as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process, *_ = start(Path(folder), port)
        try:
            site = Site(demo_env_read(Path(folder) / "data/demo.env"))
            found = measure(options, site, process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    for name, (value, unit) in found.items():
        print(f"{name:80} {value:>8} {unit}")
    figures.write("collab", figures.rows(found))


if __name__ == "__main__":
    main()
