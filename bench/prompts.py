"""How fast prompts are given out by name and label while labels move, and whether ever wrongly.

    DATABASE_URL=... REDIS_URL=... PYTHONPATH=platform python bench/prompts.py [--seconds 15]

Starts two web processes on a new database and lets 200 connections, half to each, read twenty
prompts by their label `production` as fast as answers come, without users. Meanwhile the labels are
moved through the first process, one after the other. The clients are one process on the same
machine.

An answer is wrong
* if its version is none that the label stood on at any time from one second before the request was
  sent until the answer was there: a version holds from when its move was asked for until the next
  move was answered; or
* if its text is not the one that was stored under this number (by hash), or its labels lack the one
  that was asked for: two versions mixed.
`stale` is how long before the request was sent the label had certainly left the version answered,
at most. The server's own time is what its Server-Timing says. Required: nothing wrong, and half of
the answers in under a millisecond of the server's time. Writes bench/results/prompts.json.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import os
import time
import urllib.request
from dataclasses import dataclass, field
from typing import Any

import figures
from ingest import database, web

PROMPTS, VERSIONS = 20, 4
BOUND_S = 1.0


@dataclass
class Move:
    """A label's stay on a version: certain from `done`, possible from `asked`."""

    version: int
    asked: float
    done: float


@dataclass
class Seen:
    """One answer."""

    prompt: int
    sent: float
    received: float
    version: int
    text: str
    labels: list[str]
    server_ms: float


@dataclass
class Load:
    seen: list[Seen] = field(default_factory=list)
    failures: int = 0


def texts() -> dict[tuple[int, int], str]:
    """What each version of each prompt says; long enough to be a prompt."""
    return {
        (p, v): f"Prompt {p}, version {v}. " + "Answer {{question}} briefly. " * 40
        for p in range(PROMPTS)
        for v in range(1, VERSIONS + 1)
    }


def call(port: int, method: str, path: str, headers: dict[str, str], body: Any) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        json.dumps(body).encode(),
        {**headers, "Content-Type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()


def store(port: int, headers: dict[str, str], base: str) -> None:
    for (p, v), text in texts().items():
        body = {"prompt": text, "labels": ["production"] if v == 1 else []}
        path = base if v == 1 else f"{base}/bench/{p}/versions"
        more = {"name": f"bench/{p}", "type": "text"} if v == 1 else {}
        call(port, "POST", path, headers, {**body, **more})


async def read(port: int, number: int, headers: dict[str, str], until: float, load: Load) -> None:
    """One connection: one request after the other, over the prompts in turn."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    turn = number
    while time.monotonic() < until:
        turn = (turn + 1) % PROMPTS
        path = f"/api/public/v2/prompts/bench%2F{turn}"
        sent = time.monotonic()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        body = await reader.readexactly(length)
        received = time.monotonic()
        if not head.startswith("http/1.1 200"):
            load.failures += 1
            continue
        found = json.loads(body)
        took = float(head.split("server-timing: prompt;dur=")[1].split("\r\n")[0])
        load.seen.append(
            Seen(turn, sent, received, found["version"], found["prompt"], found["labels"], took)
        )
    writer.close()


async def move(
    port: int,
    headers: dict[str, str],
    base: str,
    until: float,
    pause_s: float,
    moves: dict[int, list[Move]],
) -> None:
    """Move one label after the other to the next version."""
    turn = 0
    while time.monotonic() < until:
        await asyncio.sleep(pause_s)
        prompt = turn % PROMPTS
        version = moves[prompt][-1].version % VERSIONS + 1
        asked = time.monotonic()
        path = f"{base}/bench/{prompt}/labels/production"
        await asyncio.to_thread(call, port, "PUT", path, headers, {"version": version})
        moves[prompt].append(Move(version, asked, time.monotonic()))
        turn += 1


def staleness(seen: Seen, moves: list[Move]) -> float | None:
    """Seconds since the label had certainly left the version; 0 while it may stand there, None for
    a version that it did not yet stand on."""
    best = None
    for at, stay in enumerate(moves):
        if stay.version != seen.version or stay.asked > seen.received:
            continue
        left = moves[at + 1].done if at + 1 < len(moves) else float("inf")
        late = max(0.0, seen.sent - left)
        best = late if best is None else min(best, late)
    return best


async def measure(
    ports: list[int], pair: dict[str, str], bearer: dict[str, str], base: str, options: Any
) -> tuple[Load, dict[int, list[Move]], float]:
    load = Load()
    began = time.monotonic()
    moves = {p: [Move(1, began - 60, began - 60)] for p in range(PROMPTS)}
    until = began + options.seconds
    await asyncio.gather(
        move(ports[0], bearer, base, until, 1 / options.moves, moves),
        *(read(ports[n % len(ports)], n, pair, until, load) for n in range(options.connections)),
    )
    return load, moves, time.monotonic() - began


def percentile_ms(seconds: list[float], share: int) -> float:
    ordered = sorted(seconds)
    return round(1e3 * ordered[min(len(ordered) - 1, len(ordered) * share // 100)], 3)


def judged(load: Load, moves: dict[int, list[Move]], seconds: float) -> dict[str, tuple[Any, str]]:
    hashes = {key: hashlib.sha256(text.encode()).digest() for key, text in texts().items()}
    wrong, mixed, stale = 0, 0, 0.0
    for seen in load.seen:
        late = staleness(seen, moves[seen.prompt])
        wrong += late is None or late > BOUND_S
        stale = max(stale, late or 0.0)
        is_whole = hashlib.sha256(seen.text.encode()).digest() == hashes[seen.prompt, seen.version]
        mixed += not is_whole or "production" not in seen.labels
    answer = [seen.received - seen.sent for seen in load.seen]
    server = [seen.server_ms / 1000 for seen in load.seen]
    num_moves = sum(len(of) - 1 for of in moves.values())
    return {
        "requests a second": (round(len(load.seen) / seconds), "1/s"),
        "answer, p50": (percentile_ms(answer, 50), "ms"),
        "answer, p99": (percentile_ms(answer, 99), "ms"),
        "server's time, p50": (percentile_ms(server, 50), "ms"),
        "server's time, p99": (percentile_ms(server, 99), "ms"),
        "label moves a second": (round(num_moves / seconds, 1), "1/s"),
        "answers": (len(load.seen), "answers"),
        "failed": (load.failures, "answers"),
        "wrong versions": (wrong, "answers"),
        "mixed versions": (mixed, "answers"),
        "stale at most": (round(stale * 1000, 1), "ms"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--moves", type=float, default=5, help="label moves a second, at most")
    parser.add_argument("--no-write", action="store_true", help="only print")
    options = parser.parse_args()
    with database(os.environ["DATABASE_URL"]) as url, web(url, 1) as one, web(url, 1) as two:
        made = one[1]
        text = f"{made['public_key']}:{made['secret_key']}".encode()
        pair = {"Authorization": f"Basic {base64.b64encode(text).decode()}"}
        bearer = {"Authorization": f"Bearer {made['secret_key']}"}
        base = f"/api/projects/{made['project']}/prompts"
        store(one[0], bearer, base)
        ports = [one[0], two[0]]
        load, moves, seconds = asyncio.run(measure(ports, pair, bearer, base, options))
    found = judged(load, moves, seconds)
    for name, (value, unit) in found.items():
        print(f"{name:24} {value:>10} {unit}")
    if not options.no_write:
        rows = figures.rows(found, connections=options.connections, web_processes=2)
        print(figures.write("prompts", rows))
    bad = found["wrong versions"][0] + found["mixed versions"][0] + found["failed"][0]
    raise SystemExit(1 if bad or not load.seen else 0)


if __name__ == "__main__":
    main()
