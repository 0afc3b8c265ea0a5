"""The database dies under load: clients are told to come again, and nothing they were promised
is missing afterwards."""

import http.client
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hone.supervisor.datadir import data_dir_open
from hone.supervisor.postgres import Postgres

PATIENCE_S = 60.0


class OwnPostgres:
    """An embedded server of this test, with every commit on disk."""

    def __init__(self, where: Path) -> None:
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
        deadline = time.monotonic() + PATIENCE_S
        while not self.postgres.is_ready(self.process.pid):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        self.postgres.database_ensure()

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)


@pytest.fixture
def own_postgres() -> Iterator[OwnPostgres]:
    where = Path(tempfile.mkdtemp(prefix="hone-pg-"))  # short: the path of a socket is limited
    where.chmod(0o711)
    own = OwnPostgres(where)
    own.start()
    yield own
    own.kill()
    shutil.rmtree(where, ignore_errors=True)


def refusal(load: Any) -> tuple[int, str | None]:
    """Status and Retry-After of an export that another client sends while the database is away."""
    sender = load.senders[0]
    connection = http.client.HTTPConnection("127.0.0.1", sender.server.port, timeout=40)
    headers = {
        "Content-Type": "application/x-protobuf",
        "Authorization": f"Bearer {sender.secret}",
    }
    body = sender.export({"span_id": f"{0xFFFF:016x}", "trace_id": f"{0xFFFF:032x}"})
    try:
        connection.request("POST", "/v1/traces", body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("Retry-After")
    finally:
        connection.close()


def test_a_database_killed_under_load_costs_nothing_acknowledged(
    servers: None, own_postgres: OwnPostgres, make_server: Any, make_load: Any
) -> None:
    server = make_server(own_postgres.postgres.url)
    made = subprocess.run(
        [sys.executable, "-m", "django", "bootstrap"],
        env=server.environment,
        check=True,
        capture_output=True,
    )
    server.start()
    load = make_load(server, json.loads(made.stdout)["secret_key"])
    told: list[tuple[int, str | None]] = []
    for _ in range(2):
        load.wait_for(40)
        own_postgres.kill()
        told.append(refusal(load))
        own_postgres.start()
    load.wait_for(40)
    load.end()
    with psycopg.connect(own_postgres.postgres.url) as connection:
        rows = connection.execute("SELECT encode(span_id, 'hex') FROM traces_observation")
        stored = sorted(span_id for (span_id,) in rows)
        [counted] = connection.execute(
            "SELECT sum(observation_count)::int FROM traces_trace"
        ).fetchone() or (0,)
    assert stored == load.acknowledged()
    assert [status for status, _ in told] == [503, 503]
    assert all(after is not None and int(after) >= 1 for _, after in told)
    assert counted == len(stored)
    assert load.failures()[503] > 0
    assert set(load.failures()) == {503}
