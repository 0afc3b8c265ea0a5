"""The embedded servers: made once, found again, refused where another version made them."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from hone.supervisor import postgres as postgres_module
from hone.supervisor.child import as_user
from hone.supervisor.datadir import DataDir, data_dir_open
from hone.supervisor.errors import StartError
from hone.supervisor.postgres import MAJOR, Postgres, search_allow
from hone.supervisor.valkey import Valkey


@pytest.fixture
def data() -> Iterator[DataDir]:
    # Not below tmp_path: pytest closes that to others whenever it starts, also beside this run.
    with tempfile.TemporaryDirectory(prefix="hone-stores-") as folder:
        yield data_dir_open(Path(folder) / "d")


def test_a_cluster_is_made_whole_or_not_at_all(data: DataDir) -> None:
    broken = data.root / f"postgres-{MAJOR}.new"
    broken.mkdir()
    (broken / "half").write_text("an initdb that was killed")
    postgres = Postgres(data)
    assert postgres.is_new
    postgres.prepare()
    assert (postgres.cluster / "PG_VERSION").read_text().strip() == str(MAJOR)
    assert not broken.exists()
    assert not Postgres(data).is_new


def test_another_major_versions_data_is_refused_with_the_way_out(data: DataDir) -> None:
    (data.root / "postgres-17").mkdir()
    with pytest.raises(StartError, match=r"postgres-17.*hone backup.*hone restore"):
        Postgres(data).prepare()


def test_without_the_wheel_the_two_ways_are_told(
    data: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_module, "binaries_find", lambda: None)
    with pytest.raises(StartError, match=r"pip install.*DATABASE_URL"):
        Postgres(data)


def test_only_passing_through_is_allowed_to_others(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    assert closed in search_allow(closed / "inner")
    assert closed.stat().st_mode & 0o777 == 0o701


def test_settings_are_small_and_the_socket_is_ours_alone(data: DataDir) -> None:
    argv = Postgres(data).command().argv
    assert "shared_buffers=48MB" in argv
    assert "unix_socket_permissions=0700" in argv
    assert "listen_addresses=" in argv


def test_the_server_answers_keeps_its_data_and_stops_at_once(data: DataDir) -> None:
    postgres = Postgres(data)
    postgres.prepare()
    for round_ in range(2):
        command = postgres.command()
        pid = spawn(command.argv, command.user, data.root / "log")
        try:
            deadline = time.monotonic() + 30
            while not postgres.is_ready(pid):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            postgres.database_ensure()
            with psycopg.connect(postgres.url) as connection:
                connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
                connection.execute("INSERT INTO kept VALUES (1)")
                rows = connection.execute("SELECT count(*) FROM kept").fetchone()
            assert rows == (round_ + 1,)
        finally:
            os.kill(pid, signal.SIGINT)
            _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0


def spawn(argv: tuple[str, ...], user: str | None, log: Path) -> int:
    with log.open("a") as file:
        process = subprocess.Popen(argv, stdout=file, stderr=file, cwd="/", **as_user(user))
    process.returncode = 0  # waited for by the test itself
    return int(process.pid)


def test_a_broker_that_is_not_there_is_not_ready(data: DataDir) -> None:
    valkey = Valkey(data)
    assert not valkey.is_ready()
    assert valkey.url.startswith("unix:///")
    assert "appendonly" in " ".join(valkey.command().argv)
