"""The SDK's tests on other Pythons of this machine, without Django.

python scripts/test_sdk_versions.py [3.12 3.13 ...]   # default: 3.12
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from client_env import ROOT, client_python

VERSIONS = ("3.12",)
TESTS = ROOT / "tests" / "platform" / "sdk"
NEED_DJANGO = ("test_in_django.py", "test_real_door.py")
OPTIONS = (
    "filterwarnings=error", "timeout=120", "asyncio_mode=auto",
    "asyncio_default_fixture_loop_scope=function",
    "addopts=--import-mode=importlib",
)  # fmt: skip


def interpreter(version: str) -> str | None:
    """A Python of that version that starts; None where there is none."""
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    ask = [found, "-c", "import sys; print(sys.executable)"]
    environment = {**os.environ, "PYENV_VERSION": version}  # what pyenv's stand-ins ask for
    done = subprocess.run(ask, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def tested(version: str, python: Path) -> int:
    """Run the tests; returns pytest's exit code."""
    print(f"\n=== the SDK on Python {version}", flush=True)
    options = [word for option in OPTIONS for word in ("-o", option)]
    ignored = [f"--ignore={TESTS / name}" for name in NEED_DJANGO]
    # Neither the platform's fixtures nor its settings: nothing of Hone but the SDK is there.
    alone = [
        "-c",
        os.devnull,
        f"--rootdir={ROOT}",
        f"--confcutdir={TESTS}",
        "-p",
        "no:cacheprovider",
    ]
    command = [python, "-m", "pytest", "-q", *alone, *options, *ignored, TESTS]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "platform")}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main(*versions: str) -> int:
    """The worst exit code of all versions that are here."""
    worst = 0
    for version in versions or VERSIONS:
        found = interpreter(version)
        if found is None:
            print(f"python{version} is not here: the SDK was not tested on it", flush=True)
            continue
        python = client_python(TESTS / "pins.txt", found, f"sdk-python{version}")
        worst = max(worst, tested(version, python))
    return worst


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
