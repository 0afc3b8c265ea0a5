"""Write what a benchmark measured as rows of bench/results/TOPIC.json."""

import datetime
import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def device() -> str:
    """This machine in words: processor model, cores, Python."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":", 1)[1].strip() for line in info.splitlines() if "model name" in line]
    name = names[0] if names else platform.machine()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def rows(figures: Mapping[str, tuple[Any, str]], **more: object) -> list[dict[str, Any]]:
    """One row a figure (name -> value and unit), with device, command, date and load beside it."""
    script, *arguments = sys.argv
    # Folders differ from machine to machine; their names say what was measured.
    named = [Path(part).name if part.startswith("/") else part for part in arguments]
    command = shlex.join(["python", f"bench/{Path(script).name}", *named])
    common = {
        "device": device(),
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "load": round(os.getloadavg()[0], 1),
    }
    return [
        {"figure": name, "value": value, "unit": unit, **common, **more}
        for name, (value, unit) in figures.items()
    ]


def write(topic: str, found: Sequence[Mapping[str, Any]], *, keep: bool = False) -> Path:
    """Replace the rows of a topic, or with `keep` only those of the same figures; the file."""
    path = RESULTS / f"{topic}.json"
    RESULTS.mkdir(exist_ok=True)
    named = {row["figure"] for row in found}
    before = json.loads(path.read_text()) if keep and path.exists() else []
    others = [row for row in before if row["figure"] not in named]
    path.write_text(json.dumps([*others, *found], indent=1) + "\n")
    return path
