"""Is every acknowledged span there exactly once, whatever was killed meanwhile?

    PYTHONPATH=platform:inference REDIS_URL=redis://... python bench/ingest_kills.py
        [--kills 20] [--outage 60]

Starts a PostgreSQL of its own (the embedded one, in a new folder) and two web processes, and sends
them the spans of the same traces, cut into small exports, with clients that retry as exporters do.
Under that load it kills -9 in turn a web process (which starts again with a clock ten minutes
behind the one before) and PostgreSQL with all its backends, `--kills` times at random moments; then
PostgreSQL stays away for `--outage` seconds; then all that was acknowledged is sent once more, in
reverse, twice. It exits with 1 unless: the spans in the database are those acknowledged, each once
and with its own content; every trace's row says what its spans say; a repeat changed nothing; the
outage was answered with 503 and Retry-After and nothing but that.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import figures
import psutil
import psycopg
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_client import Load, Sent

ROOT = Path(__file__).parents[1]
PATIENCE_S = 60.0
TRACE_SPANS, EXPORT_SPANS, TOGETHER = 12, 8, 50  # TOGETHER: traces under way at the same time
PAUSE_S = 0.02  # between the exports of a connection
BACK_S = 600  # by which the clock of a web process is behind that of the one before
SECOND_NS = 10**9
WEB = """
import sys, time, uvicorn
from datetime import timedelta
from hone.common import clock
now, now_ns = clock.now, clock.now_ns
clock.now = lambda: now() - timedelta(seconds=int(sys.argv[2]))
clock.now_ns = lambda: now_ns() - int(sys.argv[2]) * 10**9
uvicorn.run("hone.config.asgi:application", port=int(sys.argv[1]), lifespan="off",
            access_log=False, log_level="error")
"""


class Exports(Sequence[bytes]):
    """Without end: export n of one of two senders; every trace is cut over several of both."""

    def __init__(self, sender: int, base_ns: int) -> None:
        self.sender, self.base_ns = sender, base_ns

    def __len__(self) -> int:
        return sys.maxsize

    @overload
    def __getitem__(self, number: int) -> bytes: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[bytes]: ...
    def __getitem__(self, number: int | slice) -> bytes | Sequence[bytes]:
        assert isinstance(number, int)
        request = ExportTraceServiceRequest()
        spans = request.resource_spans.add().scope_spans.add().spans
        for trace, place in self.places(number):
            trace_id, span_id = ids_of(trace, place)
            begin = self.base_ns + trace * 10**6 + place * 10**3
            span = spans.add(
                trace_id=trace_id,
                span_id=span_id,
                parent_span_id=b"" if place == 0 else ids_of(trace, 0)[1],
                name=f"step {place}",
                start_time_unix_nano=begin,
                end_time_unix_nano=begin + SECOND_NS,
            )
            span.attributes.add(key="input.value").value.string_value = content_of(span_id)
        return request.SerializeToString()

    def places(self, number: int) -> list[tuple[int, int]]:
        """(trace, span) of an export: a span each of traces that both senders work on."""
        per_round = TOGETHER * TRACE_SPANS // 2
        first = number * EXPORT_SPANS
        found = []
        for at in range(first, first + EXPORT_SPANS):
            about, within = divmod(at, per_round)
            place, trace = divmod(within, TOGETHER)
            found.append((about * TOGETHER + trace, 2 * place + self.sender))
        return found


def ids_of(trace: int, place: int) -> tuple[bytes, bytes]:
    digest = hashlib.sha256(f"{trace}".encode()).digest()
    return digest[:16], hashlib.sha256(f"{trace} {place}".encode()).digest()[:8]


def content_of(span_id: bytes) -> str:
    """What only this span says, some hundred characters."""
    return " ".join(hashlib.sha256(span_id + bytes([n])).hexdigest() for n in range(8))


class Database:
    """The embedded PostgreSQL in a folder of its own."""

    def __init__(self, where: Path) -> None:
        from hone.supervisor.datadir import data_dir_open  # noqa: PLC0415
        from hone.supervisor.postgres import Postgres  # noqa: PLC0415

        self.postgres = Postgres(data_dir_open(where))
        self.postgres.prepare()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = self.postgres.command()
        account: dict[str, Any] = {} if command.user is None else {"user": command.user}
        self.process = subprocess.Popen(
            command.argv,
            env=dict(command.env),
            cwd=command.cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **account,
        )
        until(lambda: self.postgres.is_ready(self.process and self.process.pid), "PostgreSQL")
        self.postgres.database_ensure()

    def kill(self) -> None:
        """Kill the server and all its backends at once."""
        assert self.process is not None
        for one in [*psutil.Process(self.process.pid).children(), self.process]:
            with contextlib.suppress(psutil.Error):
                one.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)


class Web:
    """A web process of the product."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment, self.behind_s = environment, 0
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        argv = [sys.executable, "-c", WEB, str(self.port), str(self.behind_s)]
        self.process = subprocess.Popen(
            argv,
            env=dict(self.environment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # the pool complains of every attempt
        )
        until(self.listens, "the web process")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


def until(question: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not question():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.02)


@contextlib.contextmanager
def product() -> Iterator[tuple[Database, list[Web], str]]:
    """A database and two web processes that answer, and a secret key."""
    where = Path(tempfile.mkdtemp(prefix="hone-kills-"))
    where.chmod(0o711)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, where, ignore_errors=True)
        database = Database(where)
        database.start()
        stack.callback(database.kill)
        environment = os.environ | {
            "DATABASE_URL": database.postgres.url,
            "DJANGO_SETTINGS_MODULE": "hone.config.settings.prod",
            "HONE_SERVER_SECRET": "kills" * 10,
            "HONE_LOG_LEVEL": "CRITICAL",
            "HONE_REDIS_PREFIX": f"hone-kills-{os.getpid()}",
            "PYTHONPATH": os.pathsep.join((str(ROOT / "platform"), str(ROOT / "inference"))),
        }
        made = subprocess.run(
            [sys.executable, "-m", "django", "bootstrap"],
            env=environment, check=True, capture_output=True,
        )  # fmt: skip
        webs = [Web(environment), Web(environment)]
        for web in webs:
            web.start()
            stack.callback(web.kill)
        yield database, webs, json.loads(made.stdout)["secret_key"]


def kill_one(number: int, database: Database, webs: list[Web]) -> str:
    """One kill and the start after it; what was killed."""
    if number % 2:
        database.kill()
        time.sleep(random.uniform(0.0, 0.5))
        database.start()
        return "PostgreSQL"
    web = webs[number // 2 % len(webs)]
    web.kill()
    web.behind_s += BACK_S
    web.start()
    return "web"


def acknowledged_more(loads: list[Load], more: int) -> None:
    """Wait until each sender has so many more exports acknowledged."""
    wanted = [len(load.sent.acknowledged) + more for load in loads]
    until(
        lambda: all(
            len(load.sent.acknowledged) >= number
            for load, number in zip(loads, wanted, strict=True)
        ),
        f"acknowledgements; had {[load.sent.outcomes for load in loads]}",
    )


def stored(url: str) -> tuple[list[tuple[bytes, bytes, str]], str]:
    """Every span with its content, and a digest of all that is stored but the order of arrival."""
    with psycopg.connect(url) as connection:
        spans = connection.execute(
            "SELECT trace_id, span_id, input FROM traces_observation ORDER BY trace_id, span_id"
        ).fetchall()
        [digest] = connection.execute(
            "SELECT md5(string_agg(t::text, '|' ORDER BY t.trace_id)) FROM traces_trace t"
        ).fetchone() or ("",)
    return [(bytes(trace), bytes(span), text) for trace, span, text in spans], str(digest)


def faults_of(exports: list[Exports], sent: list[Sent], url: str) -> list[str]:
    """What is not as it must be."""
    promised = sorted(
        ids_of(*place)
        for one, result in zip(exports, sent, strict=True)
        for number in result.acknowledged
        for place in one.places(number)
    )
    spans, _ = stored(url)
    there = [(trace, span) for trace, span, _ in spans]
    faults = []
    if missing := set(promised) - set(there):
        faults.append(f"{len(missing)} acknowledged spans are missing")
    if more := [key for key, number in Counter(there).items() if number > 1]:
        faults.append(f"{len(more)} spans are there more than once")
    if strange := set(there) - set(promised):
        faults.append(f"{len(strange)} spans are there that nobody acknowledged")
    if wrong := [span for _, span, text in spans if text != content_of(span)]:
        faults.append(f"{len(wrong)} spans hold what is not theirs")
    with psycopg.connect(url) as connection:
        [odd] = connection.execute(SUMMED_UP).fetchone() or (None,)
    if odd:
        faults.append(f"{odd} traces say of themselves what their spans do not")
    return faults


# Counts, times and the name of every trace, counted anew from its spans.
SUMMED_UP = """
    SELECT count(*) FROM traces_trace t FULL JOIN (
        SELECT project_id, trace_id, count(*) AS number, min(start_time) AS started,
            max(start_time) AS latest, max(end_time) AS ended,
            (array_agg(name ORDER BY parent_span_id IS NOT NULL, start_time, span_id))[1] AS name
        FROM traces_observation GROUP BY project_id, trace_id
    ) o USING (project_id, trace_id)
    WHERE (t.observation_count, t.started_at, t.latest_start_at, t.ended_at, t.name)
        IS DISTINCT FROM (o.number, o.started, o.latest, o.ended, o.name)
"""


def repeated(exports: list[Exports], sent: list[Sent], webs: list[Web], headers: Any) -> None:
    """Send all that was acknowledged again, from the last to the first, each to the other web."""
    loads = [
        Load(address(web), [one[n] for n in reversed(result.acknowledged)], headers)
        for one, result, web in zip(exports, sent, reversed(webs), strict=True)
    ]
    for load in loads:
        load.join()


def address(web: Web) -> str:
    return f"http://127.0.0.1:{web.port}/v1/traces"


def outage(database: Database, loads: list[Load], seconds: float) -> list[str]:
    """PostgreSQL stays away; what the clients were told that they must not be."""
    before = [(Counter(load.sent.outcomes), len(load.sent.waits)) for load in loads]
    database.kill()
    time.sleep(seconds)
    told: Counter[int | str] = Counter()
    waits: list[float] = []
    for load, (outcomes, number) in zip(loads, before, strict=True):
        told += load.sent.outcomes - outcomes
        waits += load.sent.waits[number:]
    database.start()
    acknowledged_more(loads, 20)
    told.pop(200, None)  # of before the kill
    if set(told) != {503} or len(waits) < told[503] or min(waits) < 1:
        return [f"the outage was answered with {dict(told)}, Retry-After {waits[:9]}"]
    return []


def series(options: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """Faults, and the figures."""
    exports = [Exports(sender, time.time_ns() - 7200 * SECOND_NS) for sender in (0, 1)]
    killed: Counter[str] = Counter()
    with product() as (database, webs, secret):
        headers = {"Authorization": f"Bearer {secret}"}
        loads = [
            Load(address(web), one, headers, connections=3, pause_s=PAUSE_S)
            for web, one in zip(webs, exports, strict=True)
        ]
        for number in range(options.kills):
            acknowledged_more(loads, random.randrange(10, 40))
            time.sleep(random.uniform(0.0, 0.1))
            killed[kill_one(number, database, webs)] += 1
            print(f"killed {dict(killed)}", flush=True)
        acknowledged_more(loads, 20)
        faults = outage(database, loads, options.outage)
        sent = [load.stop() for load in loads]
        faults += faults_of(exports, sent, database.postgres.url)
        before = stored(database.postgres.url)
        for _ in range(2):
            repeated(exports, sent, webs, headers)
        if stored(database.postgres.url) != before:
            faults.append("repeats in reverse changed what is stored")
        outcomes = sum((one.outcomes for one in sent), Counter())
    return faults, {
        "spans": len(before[0]),
        "kills": killed,
        "outcomes": outcomes,
        "refused": [one.refused[:1] for one in sent if one.refused],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Kills under load: nothing acknowledged is lost.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--outage", type=float, default=60.0, help="seconds without a database, 5 at least"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dry", action="store_true", help="write no results")
    options = parser.parse_args()
    random.seed(options.seed)
    faults, row = series(options)
    if row["refused"]:
        faults.append(f"refused for good: {row['refused']}")
    print(f"{row['spans']} spans acknowledged and stored; answers: {dict(row['outcomes'])}")
    print("\n".join(faults) or "every acknowledged span is there exactly once")
    if not options.dry:
        how = f"{options.kills} kills and an outage of {options.outage:.0f} s"
        figures.write("ingest", figures.rows({
            f"acknowledged spans, {how}": (row["spans"], "spans"),
            f"faults found, {how}": (len(faults), "faults"),
        }), keep=True)  # fmt: skip
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
