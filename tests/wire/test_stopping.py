"""Being told to stop, or killed, in the middle of an answer."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

BODY: dict[str, Any] = {
    "model": "smollm2-135m",
    "prompt": "Once",
    "stream": True,
    "max_tokens": 8000,
    "ignore_eos": True,
}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_ends_the_server_and_its_streams_in_seconds(
    own_server: tuple["subprocess.Popen[bytes]", str], how: signal.Signals
) -> None:
    process, url = own_server
    with httpx.stream("POST", url + "/v1/completions", json=BODY, timeout=30) as response:
        lines = response.iter_lines()
        assert json.loads(next(lines).removeprefix("data: "))["choices"]
        began = time.monotonic()
        process.send_signal(how)
        with pytest.raises(httpx.TransportError):
            for _ in lines:
                pass
    assert process.wait(20) == (-how if how == signal.SIGKILL else 0)
    assert time.monotonic() - began < 20


def test_a_taken_port_is_one_clear_line(engine_url: str, model_dir: Path, run_cli: Any) -> None:
    port = engine_url.rpartition(":")[2]
    done = run_cli("serve", str(model_dir), "--port", port)
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr
