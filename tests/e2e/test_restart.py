"""Stopped and started again, in order and not: everything is still there."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hone.supervisor.datadir import process_started_at

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def remembered(server: Any) -> tuple[set[str], set[str]]:
    _, prompts = server.get("/api/projects/demo/prompts")
    _, traces = server.get("/api/projects/demo/traces?limit=200")
    return {row["name"] for row in prompts["data"]}, {row["id"] for row in traces["data"]}


def children(server: Any) -> dict[str, int]:
    names = ["web", "worker", "gpu"]
    if not server.environment.keys() & {"DATABASE_URL", "REDIS_URL"}:
        names += ["postgres", "valkey"]
    return {name: server.child_pid(name) for name in names}


def test_everything_is_there_after_ctrl_c_and_after_a_kill(
    hone_start: Callable[..., Any],
) -> None:
    server = hone_start("--demo").seeded()
    before, keys = remembered(server), server.known
    assert before[0]
    assert before[1]
    pids = children(server)
    assert server.stop() < 20
    assert server.process.returncode == 0
    assert not [name for name, pid in pids.items() if process_started_at(pid) is not None]

    server.start()
    assert remembered(server) == before
    assert server.known == keys

    pids = children(server)
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait()
    server.start()  # while the old children may still be ending
    assert remembered(server) == before
    assert not [name for name, pid in pids.items() if process_started_at(pid) is not None]

    for pid in [server.pid, *children(server).values()]:
        os.kill(pid, signal.SIGKILL)
    server.process.wait()
    server.start()
    assert remembered(server) == before


def test_a_folder_in_use_and_a_port_in_use_are_told(hone_server: Any, tmp_path: Path) -> None:
    def second(folder: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "hone.cli", "up", "--data-dir", str(folder)]
        return subprocess.run(
            [*command, "--port", str(hone_server.port)],
            env=hone_server.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    same = second(hone_server.data_dir)
    assert same.returncode == 1
    assert f"in use by another `hone up` (process {hone_server.pid})" in same.stderr
    other = second(tmp_path / "other")
    assert other.returncode == 1
    assert f"Port {hone_server.port}" in other.stderr
    assert hone_server.get("/health")[0] == 200


def test_a_backup_is_read_into_a_new_folder(hone_start: Callable[..., Any], tmp_path: Path) -> None:
    first = hone_start("--demo").seeded()
    before = remembered(first)
    file = tmp_path / "hone.backup"

    def hone(command: str, flag: str, server: Any) -> None:
        arguments = [command, str(file), flag, "--data-dir", str(server.data_dir)]
        subprocess.run(
            [sys.executable, "-m", "hone.cli", *arguments],
            env=server.environment,
            check=True,
            timeout=120,
        )

    hone("backup", "--with-secret-key", first)  # while it runs
    first.stop()
    second = hone_start("--no-engine")
    second.stop()
    hone("restore", "--replace", second)  # while it does not
    shutil.copy(first.data_dir / "demo.env", second.data_dir)
    second.start()
    assert remembered(second) == before
