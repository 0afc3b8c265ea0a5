"""The whole product as a user starts it: `hone up` on a folder of its own, the model inside."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from openai import OpenAI
from psycopg import sql

from hone.supervisor import model, probe
from hone.supervisor.demoenv import demo_env_read

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
STOP_PATIENCE_S = 40.0
DATABASE = "HONE_E2E_DATABASE_URL"
REDIS = "HONE_E2E_REDIS_URL"


@dataclass
class HoneServer:
    """A running product; `stop` and `start` it again in tests of their own only."""

    data_dir: Path
    port: int
    environment: dict[str, str]
    arguments: tuple[str, ...]
    process: subprocess.Popen[str] | None = None
    output: Path = field(init=False)

    def __post_init__(self) -> None:
        self.output = self.data_dir.parent / "console.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def known(self) -> dict[str, str]:
        return demo_env_read(self.data_dir / "demo.env")

    @property
    def email(self) -> str:
        return self.known["HONE_EMAIL"]

    @property
    def password(self) -> str:
        return self.known["HONE_PASSWORD"]

    @property
    def public_key(self) -> str:
        return self.known["HONE_PUBLIC_KEY"]

    @property
    def secret_key(self) -> str:
        return self.known["HONE_SECRET_KEY"]

    @property
    def model(self) -> str:
        return self.known["HONE_MODEL"]

    @property
    def project(self) -> str:
        return "demo"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def said(self) -> str:
        """What it printed so far."""
        return self.output.read_text()

    def child_pid(self, name: str) -> int:
        """The process id of postgres, valkey, web, worker or gpu; waits while it is restarted."""

        def pid() -> int | None:
            rows = json.loads((self.data_dir / "run" / "pids.json").read_text())
            return int(rows[name][0]) if name in rows else None

        return int(until(pid, f"a process {name}"))

    def openai(self, **options: Any) -> OpenAI:
        return OpenAI(
            base_url=f"{self.url}/v1", api_key=self.secret_key, **{"max_retries": 0, **options}
        )

    def get(self, path: str) -> tuple[int, Any]:
        answer = probe.ask(self.url, path, secret=self.secret_key, timeout_s=30)
        return answer.status, answer.body

    def post(self, path: str, body: object = None) -> tuple[int, Any]:
        answer = probe.ask(
            self.url, path, method="POST", secret=self.secret_key, body=body, timeout_s=60
        )
        return answer.status, answer.body

    def start(self) -> float:
        """Start and wait until it says that it is ready; returns the seconds that took."""
        command = [sys.executable, "-m", "hone.cli", "up", "--data-dir", str(self.data_dir)]
        started = time.monotonic()
        before = self.said.count("Hone is ready") if self.output.exists() else 0
        with self.output.open("a") as file:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port), *self.arguments],
                env=self.environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=self.data_dir.parent,
            )
        until(lambda: self.said.count("Hone is ready") > before, "ready", self._check)
        return time.monotonic() - started

    def seeded(self) -> "HoneServer":
        """Itself, once the demo's prompts and traces are there."""
        marker = self.data_dir / "demo.seeded"
        until(marker.exists, "the demo's content", self._check_demo)
        return self

    def stop(self, number: signal.Signals = signal.SIGINT) -> float:
        """Stop it as Ctrl-C does; returns the seconds that took."""
        started = time.monotonic()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(STOP_PATIENCE_S)
        return time.monotonic() - started

    def _check_demo(self) -> None:
        self._check()
        assert "could not be made" not in self.said, self.said

    def _check(self) -> None:
        assert self.process is not None
        assert self.process.poll() is None, f"it ended:\n{self.said}"


def until(
    question: Callable[[], Any],
    what: str,
    check: Callable[[], None] = lambda: None,
    patience_s: float = PATIENCE_S,
) -> Any:
    """The first true answer to the question; fails when there is none in time."""
    deadline = time.monotonic() + patience_s
    while not (answer := question()):
        check()
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)
    return answer


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@contextlib.contextmanager
def outside_stores() -> Iterator[dict[str, str]]:
    """The servers named for these tests: a database made for this product, an empty broker."""
    found: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        if url := os.environ.get(DATABASE):
            name = f"hone_e2e_{uuid.uuid4().hex[:8]}"
            admin = stack.enter_context(psycopg.connect(url, autocommit=True))
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            stack.callback(admin.execute, drop)
            head, _, query = url.partition("?")
            found["DATABASE_URL"] = head.rpartition("/")[0] + f"/{name}" + (query and f"?{query}")
        if url := os.environ.get(REDIS):
            client = stack.enter_context(redis.Redis.from_url(url))
            found["REDIS_URL"] = url
            found["HONE_REDIS_PREFIX"] = prefix = f"hone-e2e-{uuid.uuid4().hex[:8]}"

            def forget() -> None:
                for key in client.scan_iter(f"{prefix}*"):
                    client.delete(key)

            stack.callback(forget)
        yield found


@contextlib.contextmanager
def running(*arguments: str, **environment: str) -> Iterator[HoneServer]:
    folder = Path(tempfile.mkdtemp(prefix="hone-e2e-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stores = stack.enter_context(outside_stores())
        outer = {
            name: value
            for name, value in os.environ.items()
            if name not in ("DATABASE_URL", "REDIS_URL", "HONE_SERVER_SECRET", "HONE_DATA_DIR")
        }
        path = os.pathsep.join((str(ROOT / "platform"), str(ROOT / "inference")))
        env = {**outer, "PYTHONPATH": path, **stores, **environment}
        server = HoneServer(folder / "data", free_port(), env, arguments)
        stack.callback(server.stop)
        server.start()
        yield server


@pytest.fixture(scope="session")
def hone_server() -> Iterator[HoneServer]:
    """One product for all tests that only use it: demo content inside, never stopped by a test."""
    if model.demo_model() is None:
        pytest.fail("the package of the demo's model is not installed")
    with running("--demo") as server:
        yield server.seeded()


def starter() -> Iterator[Callable[..., HoneServer]]:
    """`start("--demo", NAME="value")`: a product of the caller's own, to be killed at will."""
    with contextlib.ExitStack() as stack:
        yield lambda *arguments, **env: stack.enter_context(running(*arguments, **env))


hone_start = pytest.fixture(starter, name="hone_start")
hone_start_module = pytest.fixture(starter, scope="module", name="hone_start_module")


@pytest.fixture
def wait_until() -> Callable[..., Any]:
    """`wait_until(question, "what")`: the first true answer within two minutes."""
    return until
