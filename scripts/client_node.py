"""Environments of real JavaScript clients, each with its own pinned packages, kept between runs.

    python scripts/client_node.py tests/e2e/sdks/js-5.11.1   # prints the folder to run in

A copy of the folder lies beside the Python ones (client_env.py); its packages are installed anew
when package.json changes.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTALL = ("install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")


def client_folder(source: Path) -> Path:
    """A folder with the source's scripts and exactly the packages that its package.json names."""
    cache = Path(os.environ.get("HONE_CLIENT_ENVS") or ROOT / ".cache" / "clients")
    folder = cache / source.name
    wanted = hashlib.sha256((source / "package.json").read_bytes()).hexdigest()
    stamp = folder / ".ready"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{source.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two runs at once, one makes it
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(source, folder)
            subprocess.run([tool("npm"), *INSTALL], cwd=folder, env=environment(), check=True)
            stamp.write_text(wanted)
        for script in source.glob("*.mjs"):
            shutil.copy(script, folder)
    return folder


def environment() -> dict[str, str]:
    """This one, with what the project's own environment brings first: Node.js may come from it."""
    found = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{found}{os.pathsep}{os.environ.get('PATH', '')}"}


def tool(name: str) -> str:
    """Where `node` or `npm` is; raises RuntimeError."""
    found = shutil.which(name, path=environment()["PATH"])
    if found is None:
        raise RuntimeError(f"{name} is missing: scripts/setup.sh test installs it")
    return found


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(client_folder(Path(given)))
