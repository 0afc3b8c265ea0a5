"""What recording costs the host: µs of one observed call, ours beside langfuse's `observe`.

    HONE_LANGFUSE_PYTHON=/a/python/with/langfuse-5.0.4 \
        python bench/sdk_overhead.py [--calls 5000] [--rounds 7] [--json FILE]

Both run in one process, that Python's, against a server that answers at once, in turns, and the
median of the rounds is printed. `wall` is what the caller waits; `cpu` is all threads of the
process, so the work of the sending threads is in it. Without langfuse only ours is measured.
"""

import argparse
import gc
import http.server
import importlib.metadata
import json
import logging
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "platform"))

import hone.sdk as hone

SMALL = {"question": "What is the capital of France?", "limit": 3}
MESSAGES = [{"role": "user", "content": "word " * 40} for _ in range(10)]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        return


def serve(pipe: Connection) -> None:
    """A server in a process of its own, so that its work is not counted."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pipe.send(server.server_port)
    server.serve_forever()


def work(value: Any, **more: Any) -> Any:
    return value


def contestants(url: str) -> dict[str, tuple[Callable[..., Any], Callable[[], Any]]]:
    """Name to the observed function and what waits until everything is sent."""
    hone.init(url, public_key="pk", secret_key="sk", set_global=False)
    found: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
        "hone": (hone.observe(work), lambda: hone.flush(60))
    }
    try:
        import langfuse  # noqa: PLC0415
    except ImportError:
        return found
    client = langfuse.Langfuse(base_url=url, public_key="pk", secret_key="sk")
    found["langfuse"] = (langfuse.observe()(work), client.flush)
    return found


def cost(call: Callable[[], Any], flush: Callable[[], Any], calls: int) -> tuple[float, float]:
    """µs of the caller's time and of the process's CPU for one call."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(calls):
        call()
    waited = time.perf_counter() - wall
    flush()
    return waited / calls * 1e6, (time.process_time() - cpu) / calls * 1e6


def measured(url: str, calls: int, rounds: int) -> list[dict[str, Any]]:
    """Medians of each contestant for each sort of argument."""
    them = contestants(url)
    rows = []
    for title, given in (("2 fields", SMALL), ("10 messages, 2 KB", MESSAGES)):
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in them}
        for _ in range(rounds):
            for name, (function, flush) in them.items():
                figures[name].append(cost(partial(function, given, limit=1), flush, calls))
        bare = cost(partial(work, given, limit=1), lambda: None, calls)
        rows.append({"argument": title, "who": "not observed", "wall": bare[0], "cpu": bare[1]})
        for name, found in figures.items():
            walls, cpus = zip(*found, strict=True)
            row = {"argument": title, "who": name, "wall": statistics.median(walls)}
            rows.append(row | {"cpu": statistics.median(cpus)})
    return rows


def uninitialized(calls: int) -> float:
    """µs of a call where `init` was never called."""
    observed = hone.observe(work)
    return cost(lambda: observed(SMALL), lambda: None, calls)[0]


def options_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    options = options_of()
    peer = os.environ.pop("HONE_LANGFUSE_PYTHON", None)
    if peer:
        os.execv(peer, [peer, *sys.argv])
    logging.getLogger("langfuse").setLevel(logging.ERROR)
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    off = uninitialized(options.calls * 10)
    rows = measured(f"http://127.0.0.1:{ours.recv()}", options.calls, options.rounds)
    server.kill()
    found = {
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in ("opentelemetry-sdk", "langfuse")},
        "load": os.getloadavg()[0],
        "calls": options.calls,
        "rounds": options.rounds,
        "without_init_us": off,
        "rows": rows,
    }
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    print({key: value for key, value in found.items() if key != "rows"}, hone.stats())
    for row in rows:
        print("{argument:20} {who:14} {wall:8.1f} µs waited {cpu:8.1f} µs of CPU".format(**row))


def version_of(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
