"""How quickly does a large installation answer what its pages ask?

    DATABASE_URL=postgresql://.../hone_reads REDIS_URL=... python bench/reads.py [--repeat 40]
    DATABASE_URL=postgresql://... REDIS_URL=... python bench/reads.py --peers [--load otlp_load.py]

Reads a database that bench/seed_traces.py filled, through one web process over HTTP: p50 and p95
of each read in milliseconds, also in bench/results/reads-SIZE.json. `--repeat` calls each, after
two that do not count. With `--walk MS` it asks every list there is, pages behind the first and the
public API's too, and fails where a p95 is over MS; nothing is written then. With `--peers` it fills
a database of its own with what other products were measured with (bench/reads_peers.py) and prints
their best beside each read.
"""

import argparse
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import figures
import ingest
import psycopg
import reads_peers
from seed_traces import NEEDLE

ROOT = Path(__file__).parents[1]
SECRET = "bench" * 10
WARM = 2  # calls of each read that do not count


def environment() -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "hone.config.settings.prod",
        "HONE_SERVER_SECRET": SECRET,
        "HONE_LOG_LEVEL": "ERROR",
        "HONE_REDIS_PREFIX": f"hone-reads-{os.getpid()}",
        "PYTHONPATH": os.environ.get("PYTHONPATH") or str(ROOT / "platform"),
    }


MAKE_KEY = """
import django
django.setup(set_prefix=False)
from hone.accounts.models import Project, User
from hone.accounts.services import api_key_create
project, person = Project.objects.get(slug="demo"), User.objects.first()
print(api_key_create(project=project, name="bench", created_by=person)[1])
"""


def key_make() -> str:
    """A key of the demo project."""
    made = subprocess.run(
        [sys.executable, "-c", MAKE_KEY], env=environment(), check=True, capture_output=True
    )
    return made.stdout.decode().strip()


@contextmanager
def web() -> Iterator[int]:
    """The product's web process; its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "hone.config.asgi:application", "--lifespan", "off",
         "--port", str(port), "--log-level", "error"],
        env=environment(),
    )  # fmt: skip
    try:
        while True:
            try:
                http.client.HTTPConnection("127.0.0.1", port, timeout=2).request("GET", "/health")
                break
            except OSError:
                assert server.poll() is None, "the server ended"
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


class Reader:
    """One keep-alive connection that measures."""

    def __init__(self, port: int, key: str, project: str = "demo") -> None:
        self.project = project
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"authorization": f"Bearer {key}"}

    def get(self, path: str) -> tuple[float, Any]:
        """Milliseconds, and the answer."""
        started = time.perf_counter()
        address = path if path.startswith("/") else f"/api/projects/{self.project}/{path}"
        self.connection.request("GET", address, headers=self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        took = (time.perf_counter() - started) * 1000
        # What takes too long is told so in words, which is an answer, too.
        is_told = answer.status == 400 and b"takes too long" in body
        assert answer.status == 200 or is_told, (path, answer.status, body[:300])
        return took, json.loads(body)


def paths(reader: Reader) -> dict[str, list[str]]:
    """The reads by name, each as the addresses that are asked one after the other."""
    since = (datetime.now(UTC) - timedelta(days=29)).isoformat()
    _, page = reader.get(f"traces?{urlencode({'from': since, 'limit': 200})}")
    rows = random.Random(1).sample(page["data"], 40)
    words = [word for row in rows for word in row["input_preview"].split() if len(word) > 5]

    def traces(**params: str) -> str:
        return f"traces?{urlencode({'from': since, 'limit': '50', **params})}"

    return {
        "newest 50 traces": [traces()],
        "by model, 10 %": [traces(model="gemini-1.5-pro")],
        "by model, 1 %": [traces(model="o3")],
        "by model, absent": [traces(model="none-such")],
        "by text, common word": [traces(q=row["input_preview"].split()[0]) for row in rows],
        "by text, word": [traces(q=word) for word in words[:40]],
        "by text, part of a word": [traces(q=word[1:-1]) for word in words[:40]],
        "by text, rare": [traces(q=NEEDLE)],
        "by text, part of a rare one": [traces(q=NEEDLE[2:-2])],
        "by text, absent": [traces(q="nowheretobefound")],
        "one trace": [f"traces/{row['id']}" for row in rows],
        "a session": [f"sessions/{quote(row['session_id'])}?{urlencode({'from': since})}"
                      for row in rows],
        "sessions": [f"sessions?{urlencode({'from': since})}"],
        "users": [f"users?{urlencode({'from': since})}"],
        "newest 50 observations": [f"observations?{urlencode({'from': since})}"],
        "facets": [f"traces/facets?{urlencode({'from': since})}"],
        "histogram": [f"traces/histogram?{urlencode({'from': since, 'buckets': '96'})}"],
        "metrics by day": [metrics(view="observations", timeDimension={"granularity": "day"},
                                   metrics=[COUNT, COST, P95])],
        "metrics by model": [metrics(view="observations", metrics=[COUNT, COST],
                                     dimensions=[{"field": "providedModelName"}])],
        "month, p95 by model and day": [
            metrics(MONTH, view="observations", timeDimension={"granularity": "day"},
                    metrics=[COUNT, P95], dimensions=[{"field": "providedModelName"}])],
        **{
            f"month by {dimension} of {view}": [
                metrics(MONTH, view=view, metrics=[COUNT, COST, P95],
                        dimensions=[{"field": dimension}])]
            for view, dimension in (("observations", "traceName"), ("observations", "tags"),
                                    ("observations", "environment"), ("observations", "promptName"),
                                    ("traces", "name"), ("traces", "tags"))
        },
        "month by user of traces": [metrics(MONTH, view="traces", metrics=[COUNT, COST],
                                            dimensions=[{"field": "userId"}])],
        "month, traces by day": [metrics(MONTH, view="traces", metrics=[COUNT, P95],
                                         timeDimension={"granularity": "day"})],
        "daily figures": [daily()],
        "daily figures of a trace name": [daily(traceName="agent 3")],
        "daily figures of a tag": [daily(tags="team-3")],
        "daily figures of an environment": [daily(environment="staging")],
        "daily figures of a user": [daily(userId="user-7")],
        "trends of prompts, a week": ["prompt-trends?days=7"],
        "trends of prompts, four weeks": ["prompt-trends?days=28"],
    }  # fmt: skip


COUNT = {"measure": "count", "aggregation": "count"}
COST = {"measure": "totalCost", "aggregation": "sum"}
P95 = {"measure": "latency", "aggregation": "p95"}


WEEK, MONTH = 7, 30  # days


def metrics(days: int = WEEK, /, **asked: Any) -> str:
    """Figures of the last days."""
    now = datetime.now(UTC)
    window = {"fromTimestamp": (now - timedelta(days=days)).isoformat(),
              "toTimestamp": now.isoformat()}  # fmt: skip
    return f"/api/public/v2/metrics?{urlencode({'query': json.dumps(window | asked)})}"


def daily(**filters: str) -> str:
    """Figures of each day of three weeks, the first of which is cut."""
    start = (datetime.now(UTC) - timedelta(days=21)).isoformat()
    return f"/api/public/metrics/daily?{urlencode({'fromTimestamp': start, **filters})}"


def walk(reader: Reader) -> dict[str, list[str]]:
    """Every other list: second pages, combined filters, and those of the public API."""
    now = datetime.now(UTC)
    window = {"from": (now - timedelta(days=29)).isoformat()}
    of_status = json.dumps([{"type": "stringOptions", "column": "status", "operator": "any of",
                             "value": ["error"]}])  # fmt: skip
    asked: dict[str, list[str]] = {
        "observation facets": [f"observations/facets?{urlencode(window)}"],
        "facets of a model": [f"traces/facets?{urlencode({**window, 'model': 'o3'})}"],
        "histogram of a text": [f"traces/histogram?{urlencode({**window, 'q': NEEDLE})}"],
        "failed traces": [f"traces?{urlencode({**window, 'filter': of_status})}"],
        "observations by text": [f"observations?{urlencode({**window, 'q': NEEDLE})}"],
        "sessions by text": [f"sessions?{urlencode({**window, 'q': 'session-77'})}"],
        "one user": [f"users/user-7?{urlencode(window)}"],
    }
    for name in ("traces", "observations", "sessions", "users"):
        address = f"{name}?{urlencode({**window, 'limit': '200'})}"
        _, page = reader.get(address)
        cursor = urlencode({"cursor": page["next_cursor"]})
        asked[f"second page of {name}"] = [f"{address}&{cursor}"]
    for name in (
        "traces",
        "observations",
        "v2/observations",
        "sessions",
        "scores",
        "v2/scores",
        "v3/scores",
        "comments",
        "models",
        "metrics/daily",
        "v2/prompts",
        "v2/datasets",
    ):
        asked[f"public {name}"] = [f"/api/public/{name}?limit=50"]
    return asked


def measure(reader: Reader, turns: list[list[str]], repeat: int) -> tuple[float, float, int]:
    """p50, p95, rows of the last answer; the addresses of a turn are one read."""
    times, answer = [], None
    for number in range(-WARM, repeat):
        turn = [reader.get(address) for address in turns[number % len(turns)]]
        if number >= 0:
            times.append(sum(took for took, _ in turn))
            answer = turn[-1][1]
    times.sort()
    rows = answer.get("data") if isinstance(answer, dict) else None
    return statistics.median(times), times[int(len(times) * 0.95)], len(rows or [])


def of_seeded(repeat: int, most_ms: float | None) -> None:
    """Every read of the database that is there; with `most_ms` every list, none slower."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as db:
        counted = db.execute("SELECT count(*), sum(observation_count) FROM traces_trace").fetchone()
    assert counted is not None
    found: dict[str, tuple[Any, str]] = {"observations": (int(counted[1]), "rows")}
    key = key_make()
    with web() as port:
        reader = Reader(port, key)
        asked = paths(reader) | (walk(reader) if most_ms else {})
        for name, addresses in asked.items():
            p50, p95, rows = measure(reader, [[address] for address in addresses], repeat)
            found[f"{name}, p50"] = (round(p50, 1), "ms")
            found[f"{name}, p95"] = (round(p95, 1), "ms")
            print(f"{name:30} {p50:8.1f} {p95:8.1f} ms  {rows} rows", flush=True)
    size = f"{round(int(counted[1]) / 1e6, 2):g}m"
    if most_ms is None:
        figures.write(f"reads-{size}", figures.rows(found))
        return
    slow = [name for name, (value, _) in found.items() if "p95" in name and value > most_ms]
    if slow:
        raise SystemExit(f"slower than {most_ms} ms: {'; '.join(slow)}")


def beside_peers(repeat: int, load: Path | None) -> None:
    """The reads that peers were asked, at their size, beside the best of them."""
    exports = reads_peers.bodies(load)
    ids = reads_peers.trace_ids(exports)
    found: dict[str, tuple[Any, str]] = {}
    with ingest.database(os.environ["DATABASE_URL"]) as url, ingest.web(url, 1) as started:
        port, house, _ = started
        reads_peers.fill(port, house["secret_key"], exports, environment() | {"DATABASE_URL": url})
        reader = Reader(port, house["secret_key"], house["project"])
        for name, turns in reads_peers.questions(ids).items():
            p50, p95, rows = measure(reader, turns, repeat)
            found[f"{name}, p50"] = (round(p50, 1), "ms")
            found[f"{name}, p95"] = (round(p95, 1), "ms")
            best = reads_peers.BEST_PEER[name]
            print(f"{name:20} {p50:8.1f} {p95:8.1f} ms, best peer {best} ms  {rows} rows")
    figures.write("reads-peers", figures.rows(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--walk", type=float, metavar="MS",
                        help="ask every list; fail where a p95 is over so many ms")  # fmt: skip
    parser.add_argument("--peers", action="store_true", help="at the size of the peers' figures")
    parser.add_argument("--load", type=Path, help="with --peers: take what this otlp_load.py makes")
    given = parser.parse_args()
    if given.peers:
        beside_peers(given.repeat, given.load)
    else:
        of_seeded(given.repeat, given.walk)


if __name__ == "__main__":
    main()
