"""`demo.env`: address, sign-in and keys of the first account, readable by its owner only."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from hone.supervisor.datadir import private_file_write

NAMES = (
    "HONE_URL",
    "HONE_EMAIL",
    "HONE_PASSWORD",
    "HONE_PUBLIC_KEY",
    "HONE_SECRET_KEY",
    "HONE_MODEL",
)


def demo_env_read(path: Path) -> dict[str, str]:
    """The file's values by name; empty when there is no file."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): "".join(shlex.split(value)) for name, value in pairs}


def demo_env_update(path: Path, values: Mapping[str, str]) -> dict[str, str]:
    """Set some values, keep the others, and return all; a shell can `source` the file."""
    found = {**demo_env_read(path), **values}
    lines = [f"{name}={shlex.quote(found[name])}" for name in NAMES if name in found]
    private_file_write(path, "\n".join(lines) + "\n")
    return found
