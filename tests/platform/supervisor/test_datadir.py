"""The data folder: one owner at a time, nothing readable by others, leftovers ended."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hone.supervisor.datadir import (
    data_dir_lock,
    data_dir_open,
    leftovers_end,
    pids_write,
    private_file_write,
    process_started_at,
    secret_read,
)
from hone.supervisor.demoenv import demo_env_read, demo_env_update
from hone.supervisor.errors import StartError


def test_a_folder_is_made_with_what_belongs_in_it(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path / "deep" / "data")
    assert all(folder.is_dir() for folder in (data.logs, data.run, data.valkey, data.models))


def test_a_file_in_its_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(StartError, match="is a file"):
        data_dir_open(tmp_path / "data")


def test_a_folder_that_cannot_be_written_is_told() -> None:
    with pytest.raises(StartError, match="--data-dir"):
        data_dir_open(Path("/proc/hone"))


def test_a_second_owner_is_told_of_the_first(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path)
    with data_dir_lock(data), pytest.raises(StartError, match=f"process {os.getpid()}"):
        data_dir_lock(data)
    data_dir_lock(data).close()


def test_the_secret_is_made_once_and_is_its_owners_only(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path)
    secret = secret_read(data)
    assert len(secret) >= 50
    assert secret_read(data) == secret
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600


def test_an_empty_secret_is_told_and_not_replaced(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path)
    (tmp_path / "secret.key").write_text("\n")
    with pytest.raises(StartError, match="backup"):
        secret_read(data)


def test_a_private_file_is_private_from_its_first_moment(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("old")
    path.chmod(0o644)
    private_file_write(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["keys"]


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def test_children_of_a_killed_supervisor_are_ended(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path)
    with sleeper() as process:
        pids_write(data, {"web": process.pid})
        assert leftovers_end(data) == ["web"]
        assert process.wait(10) == -signal.SIGTERM
    assert leftovers_end(data) == []


def test_a_process_that_only_has_the_same_number_is_left_alone(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path)
    with sleeper() as process:
        (data.run / "pids.json").write_text(f'{{"web": [{process.pid}, 1]}}')
        assert leftovers_end(data) == []
        assert process.poll() is None
        process.kill()


@pytest.mark.parametrize("text", ["", "[]", '{"web": 3}', '{"web": ["x", 1]}'])
def test_a_damaged_note_of_children_is_no_obstacle(tmp_path: Path, text: str) -> None:
    data = data_dir_open(tmp_path)
    (data.run / "pids.json").write_text(text)
    assert leftovers_end(data) == []


def test_a_process_that_is_gone_has_no_start_time() -> None:
    process = subprocess.Popen(["true"])
    deadline = time.monotonic() + 10
    while process_started_at(process.pid) is not None:  # also as a zombie
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.wait()
    assert process_started_at(os.getpid()) is not None


def test_sockets_of_a_long_path_lie_in_a_short_one(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path / ("long" * 30))
    folder = data.sockets()
    try:
        assert len(str(folder)) < 60
        assert data.sockets() == folder
        assert folder.stat().st_uid == os.getuid()
    finally:
        folder.rmdir()


def test_the_demos_values_are_kept_quoted_and_private(tmp_path: Path) -> None:
    path = tmp_path / "demo.env"
    demo_env_update(path, {"HONE_URL": "http://x", "HONE_PASSWORD": "a b'c"})
    demo_env_update(path, {"HONE_URL": "http://y"})
    assert demo_env_read(path) == {"HONE_URL": "http://y", "HONE_PASSWORD": "a b'c"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shell = f'. {path}; printf %s "$HONE_PASSWORD"'
    assert subprocess.run(["sh", "-c", shell], capture_output=True, text=True).stdout == "a b'c"


def test_no_file_has_no_values(tmp_path: Path) -> None:
    assert demo_env_read(tmp_path / "demo.env") == {}
