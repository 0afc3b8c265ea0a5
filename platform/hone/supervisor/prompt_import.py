"""Prompts out of Langfuse, or any server with its API, with all versions and labels."""

import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from hone.supervisor.console import Console
from hone.supervisor.prompt_files import Door, PromptsError

PROMPTS: Final = "/api/public/v2/prompts"
PAGE: Final = 100


@dataclass(slots=True)
class _Line:
    """A prompt of the source and the versions that are still to be made here, oldest first."""

    name: str
    versions: list[dict[str, Any]]
    made: dict[int, int] = field(default_factory=dict)  # number there to number here
    problem: str = ""


def langfuse_import(source: Door, target: Door, console: Console) -> int:
    """Copy every prompt that is not here yet; 1 where one could not be copied as a whole.

    Versions come in their order, so gaps close up. What contains other prompts waits for them.
    """
    here = {row["name"] for row in _listed(target)}
    lines, known = [], 0
    for row in _listed(source):
        if row["name"] in here:
            known += 1
            continue
        numbers = sorted(row["versions"])
        lines.append(_Line(row["name"], [_version(source, row["name"], n) for n in numbers]))
    while any(_advanced(target, line) for line in lines if line.versions):
        pass
    for line in lines:
        console.line(f"  {line.name}: {len(line.made)} versions{_told(line)}")
    failed = sum(bool(line.versions) for line in lines)
    console.line(
        f"{len(lines) - failed} prompts copied, {known} were here already, {failed} not whole"
    )
    return 1 if failed else 0


def _told(line: _Line) -> str:
    moved = [f"{there} is {here} here" for there, here in line.made.items() if there != here]
    told = f" ({', '.join(moved)})" if moved else ""
    if line.versions:
        told += f", stopped at version {line.versions[0]['version']}: {line.problem}"
    return told


def _listed(door: Door) -> Iterator[dict[str, Any]]:
    page, pages = 1, 1
    while page <= pages:
        body = door.json("GET", f"{PROMPTS}?page={page}&limit={PAGE}")
        yield from body["data"]
        page, pages = page + 1, body["meta"]["totalPages"]


def _version(door: Door, name: str, number: int) -> dict[str, Any]:
    path = f"{PROMPTS}/{urllib.parse.quote(name, safe='')}?version={number}&resolve=false"
    found: dict[str, Any] = door.json("GET", path)
    return found


def _advanced(target: Door, line: _Line) -> bool:
    """Make as many of the prompt's versions as can be made; whether there were any."""
    before = len(line.versions)
    while line.versions:
        version = line.versions[0]
        body = {
            "name": line.name,
            "type": version["type"],
            "prompt": version["prompt"],
            "config": version.get("config") or {},
            "labels": [label for label in version["labels"] if label != "latest"],
            "tags": version.get("tags") or [],
            "commitMessage": version.get("commitMessage"),
        }
        try:
            made = target.json("POST", PROMPTS, body)
        except PromptsError as error:
            line.problem = str(error)
            break
        line.made[version["version"]] = made["version"]
        line.versions.pop(0)
    return len(line.versions) < before
