"""How many spans a second become durable through POST /v1/traces, and what does one cost?

    DATABASE_URL=postgresql://... REDIS_URL=redis://... python bench/ingest.py [--traces 5000]

Makes a database of its own beside DATABASE_URL's, starts one web process on it, and sends traces of
four spans (agent, retriever, two generations; about 2.3 KB a span in protobuf) over keep-alive
connections; all bodies are built before the clock starts. With --load it sends what another
generator makes (bench/platform's otlp_load.py). Then it looks how long after the last answer the
API shows the last trace, counts what is in the database, adds the costs up by model,
and copies the same rows in binary, in batches of 1,000, into a table of the same shape with the
same indexes: the roof, which no door in front of this PostgreSQL can beat. Each run appends a line
to the result file. Load generator, server and database share the machine.
"""

import argparse
import gzip
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import figures
import psutil
import psycopg
from ingest_checks import costs, foreign_bodies, lag_ms, last_trace, memory_mb, postgres_mb
from otlp_bodies import bodies_of

ROOT = Path(__file__).parents[1]
WARM_TRACES, WARM_SEED, WARM_READS = 100, 900, 4
ROOF_BATCH = 1000  # rows in one commit of the roof


def send_all(port: int, bodies: list[bytes], connections: int, headers: dict[str, str]) -> Any:
    """Wall time and the latency of each request; anything but 200 ends the run."""
    waiting, latencies, lock, wrong = iter(bodies), [], threading.Lock(), []

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not wrong:
            with lock:
                body = next(waiting, None)
            if body is None:
                break
            started = time.perf_counter()
            connection.request("POST", "/v1/traces", body, headers)
            answer = connection.getresponse()
            text = answer.read()
            latencies.append(time.perf_counter() - started)
            if answer.status != 200 or text:
                wrong.append((answer.status, text))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(connections)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.perf_counter() - started
    if wrong:
        raise SystemExit(f"refused: {wrong[0]}")
    return wall, sorted(latencies)


@contextmanager
def database(url: str) -> Iterator[str]:
    """A fresh database on the server of `url`."""
    name = f"hone_bench_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def web(url: str, workers: int) -> Iterator[tuple[int, dict[str, str], psutil.Process]]:
    """The product's web process: port, what bootstrap made (keys, project), process."""
    environment = os.environ | {
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "hone.config.settings.prod",
        "HONE_SERVER_SECRET": "bench" * 10,
        "HONE_LOG_LEVEL": "ERROR",
        "HONE_REDIS_PREFIX": f"hone-bench-{os.getpid()}",
        "PYTHONPATH": f"{ROOT / 'platform'}",
    }
    made = subprocess.run(
        [sys.executable, "-m", "django", "bootstrap"],
        env=environment, check=True, capture_output=True,
    )  # fmt: skip
    house = json.loads(made.stdout)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "hone.config.asgi:application", "--lifespan", "off",
               "--port", str(port), "--workers", str(workers), "--no-access-log"]  # fmt: skip
    server = subprocess.Popen([*command, "--log-level", "error"], env=environment)
    try:
        while not answers(port):
            assert server.poll() is None, "the server ended"
            time.sleep(0.1)
        yield port, house, psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


def answers(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False


def cpu_s(process: psutil.Process) -> float:
    """CPU seconds of the process and its children."""
    family = [process, *process.children(recursive=True)]
    return sum(t.user + t.system for t in (one.cpu_times() for one in family))


def postgres_cpu_s(name: str) -> float:
    """CPU seconds of the backends of a database."""
    times = [
        process.cpu_times()
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] == "postgres" and name in " ".join(process.info["cmdline"] or ())
    ]
    return sum(t.user + t.system for t in times)


def roof(url: str, spans: int) -> float:
    """Rows a second of the same rows by binary COPY alone, ROOF_BATCH in a commit."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE roof (LIKE traces_observation INCLUDING ALL)")
        portions = []
        for offset in range(0, spans, ROOF_BATCH):
            query = (
                "COPY (SELECT * FROM traces_observation ORDER BY seq, trace_id, span_id"
                f" LIMIT {ROOF_BATCH} OFFSET {offset}) TO STDOUT (FORMAT BINARY)"
            )
            with connection.cursor().copy(query) as copy:
                portions.append(b"".join(copy))
        started = time.perf_counter()
        for portion in portions:
            with connection.cursor().copy("COPY roof FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(portion)
        return spans / (time.perf_counter() - started)


def stored(url: str) -> tuple[int, int, str]:
    """Spans in the database, bytes of all their tables, and the server's version."""
    with psycopg.connect(url) as connection:
        [spans] = connection.execute("SELECT count(*) FROM traces_observation").fetchone() or (0,)
        [size] = connection.execute(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class"
            " WHERE relname LIKE 'traces\\_%' AND relkind = 'r'"
        ).fetchone() or (0,)
        return spans, size, connection.info.parameter_status("server_version") or ""


def percentile_ms(latencies: list[float], share: int) -> float:
    return round(1e3 * latencies[min(len(latencies) - 1, len(latencies) * share // 100)], 1)


def bodies_for(options: argparse.Namespace, traces: int, seed: int) -> list[bytes]:
    if options.load is None:
        return bodies_of(traces, options.batch, seed, options.days)
    return foreign_bodies(options.load, traces, options.batch, seed, options.days)


def run(options: argparse.Namespace) -> dict[str, Any]:
    bodies = bodies_for(options, options.traces, options.seed)
    raw_len, last = sum(map(len, bodies)), last_trace(bodies[-1])
    headers = {"Content-Type": "application/x-protobuf"}
    if options.gzip:
        bodies = [gzip.compress(body, 6) for body in bodies]
        headers["Content-Encoding"] = "gzip"
    sent = options.traces * 4
    with database(os.environ["DATABASE_URL"]) as url, web(url, options.workers) as started:
        port, house, server = started
        headers["Authorization"] = f"Bearer {house['secret_key']}"
        warm = bodies_for(options, WARM_TRACES, WARM_SEED)
        plain = {key: value for key, value in headers.items() if key != "Content-Encoding"}
        send_all(port, warm, options.connections, plain)
        # Each process imports the pages' API at its first request: not what is measured here.
        for _ in range(WARM_READS * options.workers):
            lag_ms(port, house["secret_key"], house["project"], last_trace(warm[-1]), 0.0)
        empty = stored(url)[1]
        name = urlsplit(url).path[1:]
        before = cpu_s(server), postgres_cpu_s(name)
        wall, latencies = send_all(port, bodies, options.connections, headers)
        answered = time.perf_counter()
        spent = cpu_s(server) - before[0], postgres_cpu_s(name) - before[1]
        lag = lag_ms(port, house["secret_key"], house["project"], last, answered)
        spans, size, version = stored(url)
        row = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "spans": sent,
            "spans_per_s": round(sent / wall),
            "lag_ms": lag,
            "lost": sent + WARM_TRACES * 4 - spans,
            "latency_ms": {f"p{n}": percentile_ms(latencies, n) for n in (50, 95, 99)},
            "server_cpu_us_per_span": round(spent[0] / sent * 1e6, 1),
            "postgres_cpu_us_per_span": round(spent[1] / sent * 1e6, 1),
            "server_mb": dict(zip(("rss", "pss"), memory_mb(server), strict=True)),
            "postgres_backends_pss_mb": postgres_mb(name),
            "wire_bytes_per_span": round(raw_len / sent),
            "database_bytes_per_span": round((size - empty) / sent),
            "cost_usd": costs(url),
            "postgresql": version,
        }
        best = roof(url, spans)
    return row | {
        "copy_roof_rows_per_s": round(best),
        "share_of_roof": round(sent / wall / best, 2),
        "batch": options.batch,
        "connections": options.connections,
        "workers": options.workers,
        "gzip": options.gzip,
        "load": options.load.name if options.load else None,
        "cpus": psutil.cpu_count(),
        "load_before": options.load_before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Durable spans a second through the OTLP door.")
    parser.add_argument("--traces", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=100, help="spans in one export")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1, help="web processes")
    parser.add_argument("--days", type=float, default=7.0, help="starts lie in the last so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--load", type=Path, help="take the bodies of this otlp_load.py")
    options = parser.parse_args()
    options.load_before = round(os.getloadavg()[0], 2)
    row = run(options)
    print(json.dumps(row, indent=1))
    figures.write("ingest", figures.rows(measured(row)), keep=True)


def measured(row: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    """The figures of one run, named by how many web processes took what."""
    wire = "gzip" if row["gzip"] else "plain"
    how = f"{row['workers']} web processes, {wire}, PostgreSQL {str(row['postgresql']).split()[0]}"
    return {
        f"durable spans accepted, {how}": (row["spans_per_s"], "spans/s"),
        f"spans lost, {how}": (row["lost"], "spans"),
        f"lag until queryable, {how}": (row["lag_ms"], "ms"),
        f"latency p50, {how}": (row["latency_ms"]["p50"], "ms"),
        f"latency p99, {how}": (row["latency_ms"]["p99"], "ms"),
        f"binary COPY of the same rows, {how}": (row["copy_roof_rows_per_s"], "rows/s"),
        f"size in the database, {how}": (row["database_bytes_per_span"], "bytes/span"),
        f"processor time of the server, {how}": (row["server_cpu_us_per_span"], "us/span"),
        f"resident memory of the server, {how}": (row["server_mb"]["rss"], "MB"),
    }


if __name__ == "__main__":
    main()
