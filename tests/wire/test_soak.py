import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(240)
def test_a_crowd_that_comes_and_goes_is_served(model_dir: Path, tmp_path: Path) -> None:
    """The short form of bench/soak_engine.py: 64 streaming clients with random aborts."""
    out = tmp_path / "soak.json"
    command = [sys.executable, str(ROOT / "bench" / "soak_engine.py"), str(model_dir)]
    command += ["--seconds", "20", "--compare", "12", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=220)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(out.read_text())
    assert row["verdict"] == "good"
    assert row["finished"] > 0
    assert row["aborted"] > 0
    assert row["health_checks"] > 10
