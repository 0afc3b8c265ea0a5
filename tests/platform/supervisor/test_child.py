"""One child: it comes back when it dies, ends when told to, and never outlives its parent."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hone.supervisor import child as child_module
from hone.supervisor.child import Child, Command, status_text
from hone.supervisor.console import Console
from hone.supervisor.crew import Crew
from hone.supervisor.datadir import data_dir_open, process_started_at
from hone.supervisor.errors import StartError
from hone.supervisor.startup import first_error


def command(code: str, **more: object) -> Command:
    return Command(name="x", argv=(sys.executable, "-uc", code), **more)  # type: ignore[arg-type]


async def until(true: Callable[[], bool], patience_s: float = 20.0) -> None:
    async with asyncio.timeout(patience_s):
        while not true():
            await asyncio.sleep(0.01)


async def test_a_child_that_dies_comes_back_and_it_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    child = Child(command("import time; print('up'); time.sleep(60)"), tmp_path, said.append)
    await child.start()
    first = child.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until(lambda: child.pid not in (None, first))
    assert said == ["x was killed by SIGKILL; starting it again in 0.3 s"]
    assert child.restarts == 1
    await child.stop()
    assert not child.alive


async def test_a_child_that_keeps_dying_is_started_less_and_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(child_module, "LONGEST_PAUSE_S", 0.04)
    said: list[str] = []
    child = Child(command("raise SystemExit(3)"), tmp_path, said.append)
    await child.start()
    await until(lambda: len(said) >= 4)
    await child.stop()
    assert said[0] == "x ended with status 3; starting it again in 0.0 s"


async def test_a_start_that_fails_for_a_moment_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "FIRST_PAUSE_S", 0.01)
    said: list[str] = []
    child = Child(command("import time; time.sleep(60)"), tmp_path, said.append)
    await child.start()
    first = child.pid
    assert first is not None
    spawn, failures = child._spawn, iter([True, False])

    async def scarce() -> None:
        if next(failures):
            raise BlockingIOError("no more processes")
        await spawn()

    monkeypatch.setattr(child, "_spawn", scarce)
    os.kill(first, signal.SIGKILL)
    await until(lambda: child.pid not in (None, first))
    await child.stop()
    assert "could not be started (no more processes)" in said[1]


async def test_its_words_are_logged_and_the_ready_line_is_heard(tmp_path: Path) -> None:
    code = "import time; print('one'); print('x ready'); time.sleep(60)"
    child = Child(command(code, ready_pattern="ready$"), tmp_path, print)
    await child.start()
    await asyncio.wait_for(child.ready.wait(), 20)
    await child.stop()
    assert (tmp_path / "x.log").read_text() == "one\nx ready\n"


async def test_a_line_without_end_does_not_stop_the_log(tmp_path: Path) -> None:
    child = Child(command("print('x' * 300_000); print('after')"), tmp_path, print)
    assert await child.run_once() == 0
    assert child.latest_lines[-1] == "after"


async def test_the_log_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "LOG_BYTES", 1000)
    child = Child(command("for n in range(500): print(n, 'x' * 20)"), tmp_path, print)
    assert await child.run_once() == 0
    logs = list(tmp_path.iterdir())
    assert len(logs) == 1 + child_module.LOG_FILES
    assert all(path.stat().st_size <= 1000 for path in logs)


async def test_a_child_that_does_not_end_is_killed(tmp_path: Path) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('deaf'); time.sleep(60)"
    )
    child = Child(command(code, ready_pattern="deaf", grace_s=0.2), tmp_path, print)
    await child.start()
    await asyncio.wait_for(child.ready.wait(), 20)
    await asyncio.wait_for(child.stop(), 10)
    assert not child.alive


def test_children_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    code = f"""
import asyncio, sys
from pathlib import Path
from hone.supervisor.child import Child, Command
async def main():
    child = Child(Command("x", (sys.executable, "-c", "import time; time.sleep(60)")),
                  Path({str(tmp_path)!r}), print)
    await child.start()
    print(child.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    env = {**os.environ, "PYTHONPATH": str(Path(child_module.__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=env
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert process_started_at(pid) is not None
        parent.kill()
        deadline = time.monotonic() + 10
        while process_started_at(pid) is not None:
            assert time.monotonic() < deadline, "the child outlived its parent"
            time.sleep(0.01)


async def test_a_start_that_fails_shows_the_latest_lines(tmp_path: Path) -> None:
    crew = Crew(data_dir_open(tmp_path), Console(io.StringIO()))
    with pytest.raises(StartError, match=r"(?s)no luck: it ended with status 1.*the reason"):
        await crew.run_once(command("raise SystemExit('the reason')"), "no luck")


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    crew = Crew(data_dir_open(tmp_path), Console(io.StringIO()))
    with pytest.raises(StartError, match="could not be started"):
        await crew.start(Command("x", ("/no/such/program",)))


def test_an_end_is_told_in_words() -> None:
    assert status_text(-9) == "was killed by SIGKILL"
    assert status_text(2) == "ended with status 2"


def test_of_several_failures_the_first_is_told() -> None:
    inner = ExceptionGroup("inner", [StartError("this"), StartError("that")])
    assert str(first_error(ExceptionGroup("outer", [inner, StartError("other")]))) == "this"
