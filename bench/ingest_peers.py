"""Hone beside arize-phoenix and mlflow: one load, one run, one table.

    DATABASE_URL=postgresql://... python bench/ingest_peers.py --load otlp_load.py
        --phoenix VENV --mlflow VENV [--traces 5000] [--servers hone:machine,phoenix:sqlite,...]

Starts one server after the other with fresh data (bench/ingest_starts.py), sends each the same
exports of traces of four spans over 4 connections with a client that retries as exporters do, and
waits until the database holds all that was acknowledged and the API shows the trace that was
acknowledged last. Acknowledged spans a second count up to the last answer; queryable ones up to the
moment when all of them are there. Missing are those that were acknowledged and are not there
--settle seconds after the last answer, so what a server that answers first and writes later has not
written by then. Memory is the most that the server with all its processes, its PostgreSQL and its
broker held. Bytes are the growth of the database, of ours without the index of words, which a job
makes later and the others have not. For ours the roof is binary COPY of the same rows into the same
PostgreSQL. Without a load generator of its own, bench/otlp_bodies.py makes the load. Prints one
table and writes a row a figure into bench/results/ingest.json.
"""

import argparse
import os
import threading
import time
from pathlib import Path
from typing import Any

import figures
from ingest import roof
from ingest_checks import foreign_bodies, last_trace
from ingest_starts import Setup, started
from ingest_subjects import Hone, Subject
from otlp_bodies import bodies_of
from otlp_client import Load, Sent

WARM_TRACES, WARM_SEED, SPANS = 100, 900, 4
MEMORY_PAUSE_S = 1.0
SERVERS = ("hone:machine", "hone:embedded", "phoenix:sqlite", "mlflow:sqlite")
COLUMNS = {
    "acknowledged_per_s": ("spans acknowledged", "spans/s"),
    "queryable_per_s": ("spans queryable", "spans/s"),
    "lag_s": ("lag until queryable", "s"),
    "missing": ("acknowledged spans that are not there", "spans"),
    "p50_ms": ("latency p50", "ms"),
    "p99_ms": ("latency p99", "ms"),
    "rss_mb": ("most resident memory", "MB"),
    "pss_mb": ("most proportional memory", "MB"),
    "bytes_per_span": ("growth of the database", "bytes/span"),
    "share_of_copy": ("share of binary COPY", "of 1"),
}


class Memory(threading.Thread):
    """The most memory that a server held while this ran."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(daemon=True)
        self.subject, self.most, self.ends = subject, (0, 0), threading.Event()
        self.start()

    def run(self) -> None:
        while not self.ends.wait(MEMORY_PAUSE_S):
            self.look()

    def look(self) -> None:
        rss, pss = self.subject.memory_mb()
        self.most = max(self.most[0], rss), max(self.most[1], pss)

    def end(self) -> tuple[int, int]:
        self.ends.set()
        self.join()
        self.look()
        return self.most


def bodies_for(options: argparse.Namespace, traces: int, seed: int) -> list[bytes]:
    if options.load is None:
        return bodies_of(traces, options.batch, seed, options.days)
    return foreign_bodies(options.load, traces, options.batch, seed, options.days)


def spans_in(bodies: list[bytes], numbers: list[int], batch: int, traces: int) -> int:
    """Spans of these bodies: all have `batch` but the last."""
    rest = traces * SPANS - (len(bodies) - 1) * batch
    return sum(rest if number == len(bodies) - 1 else batch for number in numbers)


def settled(subject: Subject, wanted: int, trace_id: str, limit_s: float) -> tuple[int, float]:
    """How many spans are there once all are and the trace is shown, or time is up; and when."""
    until = time.perf_counter() + limit_s
    while True:
        is_shown = subject.shows(trace_id) == SPANS
        stored = subject.num_stored()
        if (stored >= wanted and is_shown) or time.perf_counter() > until:
            return stored, time.perf_counter()
        time.sleep(0.02)


def measure(subject: Subject, options: argparse.Namespace, bodies: list[bytes]) -> dict[str, Any]:
    """Warm the server up, load it, and look what became of the spans."""
    warm = bodies_for(options, WARM_TRACES, WARM_SEED)
    Load(subject.url, warm, subject.headers, connections=options.connections).join()
    empty, _ = settled(subject, WARM_TRACES * SPANS, last_trace(warm[-1]), options.settle)
    size, memory = subject.size(), Memory(subject)
    sent = Load(
        subject.url,
        bodies,
        subject.headers,
        connections=options.connections,
        limit_s=options.limit,
    ).join()
    answered = time.perf_counter()
    if not sent.acknowledged:
        raise SystemExit(
            f"{subject.label} acknowledged nothing: {sent.outcomes} {sent.refused[:1]}"
        )
    return result(subject, options, bodies, (sent, answered, empty, size, memory))


def result(
    subject: Subject, options: argparse.Namespace, bodies: list[bytes], seen: tuple[Any, ...]
) -> dict[str, Any]:
    sent: Sent
    sent, answered, empty, size, memory = seen
    spans = spans_in(bodies, sent.acknowledged, options.batch, options.traces)
    last = last_trace(bodies[sent.acknowledged[-1]])
    stored, shown = settled(subject, empty + spans, last, options.settle)
    lag_s = max(0.0, shown - answered)
    kept = max(1, stored - empty)
    rss, pss = memory.end()
    row = {
        "spans": spans,
        "acknowledged_per_s": round(spans / sent.wall_s),
        "queryable_per_s": round(kept / (sent.wall_s + lag_s)),
        "lag_s": round(lag_s, 2),
        "missing": spans - (stored - empty),
        "p50_ms": sent.latency_ms(50),
        "p99_ms": sent.latency_ms(99),
        "rss_mb": rss,
        "pss_mb": pss,
        "bytes_per_span": round((subject.size() - size) / kept),
        "outcomes": dict(sent.outcomes),
        "share_of_copy": None,
    }
    if isinstance(subject, Hone):
        best = roof(subject.database, stored)
        row["share_of_copy"] = round(spans / sent.wall_s / best, 2)
    return row


def table(rows: dict[str, dict[str, Any]]) -> str:
    """One line a server."""
    head = ["server", "spans", *COLUMNS, "outcomes"]
    lines = [head, *([name, *(row.get(key, "") for key in head[1:])] for name, row in rows.items())]
    text = [["-" if cell is None else str(cell) for cell in line] for line in lines]
    widths = [max(len(line[at]) for line in text) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in text
    )


def named(rows: dict[str, dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """The figures of all servers by name."""
    found = {}
    for name, row in rows.items():
        how = f"{name.replace(':', ' on ')}, {options.traces * SPANS} spans offered"
        if name.startswith("hone"):
            how += f", {options.web} web processes"
        for key, (figure, unit) in COLUMNS.items():
            if row[key] is not None:
                found[f"side by side: {figure}, {how}"] = (row[key], unit)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Ingest of Hone and its peers, side by side.")
    parser.add_argument(
        "--servers", default="hone:machine,hone:embedded,phoenix:sqlite,mlflow:sqlite"
    )
    parser.add_argument("--phoenix", type=Path, help="virtual environment of arize-phoenix")
    parser.add_argument("--mlflow", type=Path, help="virtual environment of mlflow")
    parser.add_argument("--load", type=Path, help="take the bodies of this otlp_load.py")
    parser.add_argument("--traces", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=100, help="spans in one export")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--web", type=int, default=2, help="web processes of Hone")
    parser.add_argument("--days", type=float, default=7.0, help="starts lie in the last so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a server is loaded")
    parser.add_argument(
        "--settle", type=float, default=300.0, help="seconds it may take after that"
    )
    parser.add_argument("--dry", action="store_true", help="write no results")
    options = parser.parse_args()
    setup = Setup({"phoenix": options.phoenix, "mlflow": options.mlflow}, options.web)
    print(f"load average before: {os.getloadavg()[0]:.2f}", flush=True)
    bodies = bodies_for(options, options.traces, options.seed)
    rows: dict[str, dict[str, Any]] = {}
    failed: list[str] = []
    for name in options.servers.split(","):
        try:
            with started(name, setup) as subject:
                rows[name] = measure(subject, options, bodies)
        except SystemExit as error:  # the others can still be measured
            failed.append(f"{name}: {error}")
        print(table(rows), flush=True)
    if not options.dry:
        figures.write("ingest", figures.rows(named(rows, options)), keep=True)
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
