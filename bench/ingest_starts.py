"""How the servers that bench/ingest_peers.py compares are started, each with fresh data.

A server is written NAME:DATABASE. `hone` is `hone up` without an engine, on a database of its own
on DATABASE_URL's server (`machine`) or on the PostgreSQL it brings (`embedded`). `phoenix` and
`mlflow` come from virtual environments and have a database on that server, too (`machine`), or a
file (`sqlite`, their default).
"""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from ingest_subjects import Hone, Mlflow, Phoenix, Subject, family

ROOT = Path(__file__).parents[1]
PATIENCE_S = 180.0
STOP_S = 30.0


@dataclass(frozen=True)
class Setup:
    """What all starts need."""

    peers: Mapping[str, Path]  # name -> its virtual environment
    web_processes: int


@contextmanager
def started(name: str, setup: Setup) -> Iterator[Subject]:
    """The server `NAME:DATABASE`, ready; it ends and its data goes afterwards."""
    kind, _, database = name.partition(":")
    with tempfile.TemporaryDirectory(prefix=f"bench-{kind}-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        folder.chmod(0o711)
        with _database(database) as url, _RUN[kind](folder, url, setup) as subject:
            subject.label = name
            yield subject


@contextmanager
def _database(where: str) -> Iterator[str | None]:
    """A fresh database on the server of DATABASE_URL; None for what is not on it."""
    if where != "machine":
        yield None
        return
    url, name = os.environ["DATABASE_URL"], f"bench_peers_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def _process(
    argv: list[str], folder: Path, more: dict[str, str], is_ready: Callable[[str], bool]
) -> Iterator[int]:
    """A process of its own group; its number once `is_ready` says so of what it printed."""
    log = folder / "console.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            argv,
            env=_outer() | more,
            cwd=folder,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + PATIENCE_S
        while not is_ready(log.read_text(errors="replace")):
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{argv[0]} did not start:\n{log.read_text()[-3000:]}")
            time.sleep(0.1)
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _outer() -> dict[str, str]:
    """Our environment without what names our own stores."""
    ours = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "HONE_SERVER_SECRET")
    return {name: value for name, value in os.environ.items() if name not in ours}


@contextmanager
def _hone(folder: Path, database: str | None, setup: Setup) -> Iterator[Subject]:
    port = _free_port()
    path = os.pathsep.join((str(ROOT / "platform"), str(ROOT / "inference")))
    more = {"PYTHONPATH": path, "WEB_CONCURRENCY": str(setup.web_processes)}
    if database is not None:
        more["DATABASE_URL"] = database
    argv = [sys.executable, "-m", "hone.cli", "up", "--no-engine", "--port", str(port)]
    argv += ["--data-dir", str(folder / "data")]
    with _process(argv, folder, more, lambda said: "Hone is ready" in said) as pid:
        known = dict(
            line.removeprefix("export ").split("=", 1)
            for line in (folder / "data" / "demo.env").read_text().splitlines()
            if "=" in line and not line.startswith("#")
        )
        secret = known["HONE_SECRET_KEY"].strip("'\"")
        headers = {"Authorization": f"Bearer {secret}"}
        yield Hone("", port, pid, database or _embedded_url(pid), headers)


def _embedded_url(pid: int) -> str:
    """Where the PostgreSQL below this process listens."""
    for one in family(pid):
        argv = Path(f"/proc/{one}/cmdline").read_bytes().decode(errors="replace").split("\0")
        for part in argv:
            if part.startswith("unix_socket_directories="):
                return f"postgresql://postgres@/hone?host={quote(part.partition('=')[2], safe='/')}"
    raise SystemExit("no embedded PostgreSQL was started")


@contextmanager
def _phoenix(folder: Path, database: str | None, setup: Setup) -> Iterator[Subject]:
    port, grpc = _free_port(), _free_port()
    more = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    if database is not None:
        more["PHOENIX_SQL_DATABASE_URL"] = database
    argv = [str(setup.peers["phoenix"] / "bin" / "phoenix"), "serve"]
    with _process(argv, folder, more, lambda _: _answers(port, "/healthz")) as pid:
        yield Phoenix("", port, pid, database or str(folder / "phoenix.db"))


@contextmanager
def _mlflow(folder: Path, database: str | None, setup: Setup) -> Iterator[Subject]:
    port, file = _free_port(), folder / "mlflow.db"
    argv = [
        *(str(setup.peers["mlflow"] / "bin" / "mlflow"), "server", "--host", "127.0.0.1"),
        *("--port", str(port), "--backend-store-uri", database or f"sqlite:///{file}"),
        *("--artifacts-destination", str(folder / "artifacts")),
    ]
    more = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "1",
        "PATH": f"{setup.peers['mlflow'] / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    with _process(argv, folder, more, lambda _: _answers(port, "/health")) as pid:
        headers = {"x-mlflow-experiment-id": "0"}
        yield Mlflow("", port, pid, database or str(file), headers)


_RUN = {"hone": _hone, "phoenix": _phoenix, "mlflow": _mlflow}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
