import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TINY = ROOT / "tests" / "engine" / "models" / "golden" / "tiny" / "llama3"
TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"@": 0}, "unk_token": "@"},
}


def serve(path: Path, port: int) -> subprocess.Popen[str]:
    args = [sys.executable, "-m", "hone_engine", "serve", str(path), "--cache-tokens", "256"]
    return subprocess.Popen(
        [*args, "--port", str(port)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "inference")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    shutil.copytree(TINY, tmp_path / "tiny")
    (tmp_path / "tiny" / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    return tmp_path / "tiny"


def test_serve_says_where_it_listens_and_ends_on_a_signal(tiny: Path) -> None:
    server = serve(tiny, 0)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        url = line.rsplit(" ", 1)[1].strip()
        assert line.startswith("tiny (cpu, ")
        with urllib.request.urlopen(url.removesuffix("/v1") + "/health", timeout=30) as answer:
            assert json.load(answer)["status"] == "ok"
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.communicate()


def test_a_port_that_is_taken_is_one_line(tiny: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = serve(tiny, taken.getsockname()[1])
        _, error = server.communicate(timeout=100)
    assert server.returncode == 1
    assert error.startswith("hone: cannot listen on 127.0.0.1")
    assert error.count("\n") == 1
