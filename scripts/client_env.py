"""Environments of real clients, each with its own pinned packages, kept between runs.

    python scripts/client_env.py tests/e2e/clients/openinference.txt   # prints its python

They lie in HONE_CLIENT_ENVS (default: .cache/clients, which git ignores) and are made anew when the
file of pins changes, or requirements.lock where the pins name it.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"


def client_python(pins: Path, interpreter: str = sys.executable, name: str = "") -> Path:
    """The interpreter of the environment with exactly these pins; made where it is missing."""
    cache = Path(os.environ.get("HONE_CLIENT_ENVS") or ROOT / ".cache" / "clients")
    folder = cache / (name or pins.stem)
    text = pins.read_text() + (LOCK.read_text() if LOCK.name in pins.read_text() else "")
    wanted = hashlib.sha256(f"{_version(interpreter)} {text}".encode()).hexdigest()
    stamp, python = folder / ".ready", folder / "bin" / "python"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two runs at once, one makes it
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([interpreter, "-m", "venv", "--without-pip", folder], check=True)
            # Our own pip installs into it: no other has to be unpacked.
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
            subprocess.run([*pip, "install", "-q", "--no-compile", "-r", pins], check=True)
            stamp.write_text(wanted)
    return python


def _version(interpreter: str) -> str:
    done = subprocess.run([interpreter, "-VV"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(client_python(Path(argument)))
