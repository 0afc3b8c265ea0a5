"""How long `hone up` takes to be ready, and how much memory the running product holds.

    PYTHONPATH=platform:inference python bench/footprint.py [--settle SECONDS]

Starts the product twice on one new folder (first start: the cluster is made, the model imported),
lets it settle, and sums PSS and RSS of each process with its children (/proc/PID/smaps_rollup).
PSS counts a page shared by n processes as 1/n in each: the sum is what is really held.
Required: web + worker + PostgreSQL + Valkey <= 430 MB, the engine's process <= 500 MB,
ready in <= 15 s. On a busy machine the wall time says little: processor seconds over the number
of cores is what a quiet one needs at least. Prints one row a figure and writes
bench/results/footprint.json.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import figures

PATIENCE_S = 180
UP = (sys.executable, "-m", "hone.cli", "up")
TIMES = ("first_start_s", "first_start_cpu_s", "again_start_s", "again_start_cpu_s", "stop_s")
PLATFORM = ("web", "worker", "postgres", "valkey")


def descendants(pid: int) -> Iterator[int]:
    """The process and all below it."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from descendants(int(child))


def memory_kb(pid: int) -> dict[str, int]:
    """PSS and RSS of a process and its children, in kB."""
    total = {"Pss": 0, "Rss": 0}
    for each in descendants(pid):
        for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in total:
                total[name] += int(rest.split()[0])
    return total


def cpu_s(pid: int) -> float:
    """Processor seconds of a process, its children that are over, and all that live below it."""
    ticks = 0
    for each in descendants(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def start(folder: Path, port: int) -> tuple[subprocess.Popen[bytes], float, float, str]:
    """The product, wall and processor seconds until it was ready, and what it said."""
    log = folder / "console.log"
    began = time.monotonic()
    with log.open("w") as file:
        process = subprocess.Popen(
            [*UP, "--data-dir", str(folder / "data"), "--port", str(port)],
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    while "Hone is ready" not in log.read_text():
        if process.poll() is not None or time.monotonic() - began > PATIENCE_S:
            process.kill()
            raise SystemExit(f"it did not start:\n{log.read_text()}")
        time.sleep(0.02)
    return process, time.monotonic() - began, cpu_s(process.pid), log.read_text()


def stop(process: subprocess.Popen[bytes]) -> float:
    """Stop as Ctrl-C does; the seconds that took."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait(60)
    return time.monotonic() - began


def measure(settle_s: float) -> dict[str, Any]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="hone-footprint-") as name:
        folder = Path(name)
        process, first_s, first_cpu_s, told = start(folder, port)
        print(told)
        stop_s = stop(process)
        process, again_s, again_cpu_s, _ = start(folder, port)
        time.sleep(settle_s)
        pids = json.loads((folder / "data" / "run" / "pids.json").read_text())
        found = {name: memory_kb(row[0]) for name, row in pids.items()}
        found["supervisor"] = memory_kb(process.pid)
        for kind in ("Pss", "Rss"):
            own = found["supervisor"][kind] - sum(found[name][kind] for name in pids)
            found["supervisor"][kind] = own
        stop(process)
    return {
        "first_start_s": round(first_s, 2),
        "first_start_cpu_s": round(first_cpu_s, 2),
        "again_start_s": round(again_s, 2),
        "again_start_cpu_s": round(again_cpu_s, 2),
        "stop_s": round(stop_s, 2),
        "memory_kb": found,
        "platform_pss_mb": sum(found[name]["Pss"] for name in PLATFORM) / 1000,
        "platform_rss_mb": sum(found[name]["Rss"] for name in PLATFORM) / 1000,
        "engine_pss_mb": found["gpu"]["Pss"] / 1000,
        "engine_rss_mb": found["gpu"]["Rss"] / 1000,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settle", type=float, default=20.0, help="seconds before memory is read")
    row = measure(parser.parse_args().settle)
    for name in TIMES:
        print(f"{name:18} {row[name]:8.2f} s")
    for name, kinds in row["memory_kb"].items():
        print(f"{name:18} {kinds['Pss'] / 1000:8.1f} MB PSS {kinds['Rss'] / 1000:8.1f} MB RSS")
    for name, limit in (("platform", 430), ("engine", 500)):
        pss, rss = row[f"{name}_pss_mb"], row[f"{name}_rss_mb"]
        print(f"{name:18} {pss:8.1f} MB PSS {rss:8.1f} MB RSS  (limit {limit} MB)")
    mb, found = "MB", row["memory_kb"]
    measured = {
        "time to ready, first start": (row["first_start_s"], "s"),
        "processor time to ready, first start": (row["first_start_cpu_s"], "s"),
        "time to ready, later start": (row["again_start_s"], "s"),
        "processor time to ready, later start": (row["again_start_cpu_s"], "s"),
        "time to stop": (row["stop_s"], "s"),
        "resident, web + worker + PostgreSQL + Valkey": (row["platform_rss_mb"], mb),
        "proportional, web + worker + PostgreSQL + Valkey": (row["platform_pss_mb"], mb),
        "resident, engine process with the 4-bit model": (row["engine_rss_mb"], mb),
        **{f"resident, {name}": (kinds["Rss"] / 1000, mb) for name, kinds in found.items()},
    }
    figures.write("footprint", figures.rows(measured))


if __name__ == "__main__":
    main()
