"""`hone prompts`: a folder of Markdown files in Git and the prompts of a project, kept alike."""

import base64
import io
import json
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hone.supervisor.console import Console

TIMEOUT_S: Final = 60.0
SUFFIX: Final = ".md"
PROBLEMS: Final = ("behind", "conflict", "refused")


class PromptsError(Exception):
    """It cannot go on; the message says why."""


@dataclass(frozen=True, slots=True)
class Door:
    """A server that speaks Langfuse's API, and a project's key of it."""

    url: str
    authorization: str

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> bytes:
        """The answer's body; raises PromptsError in the server's words, with its status."""
        headers = {"Authorization": self.authorization, "Content-Type": kind}
        url = self.url.rstrip("/") + path
        request = urllib.request.Request(url, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                data: bytes = answer.read()
                return data
        except urllib.error.HTTPError as error:
            raise PromptsError(f"{error.code}: {_said(error.read())}") from error
        except OSError as error:
            raise PromptsError(f"{self.url} does not answer: {error}") from error

    def json(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.ask(method, path, data))


def door_of_pair(url: str, public: str, secret: str) -> Door:
    pair = base64.b64encode(f"{public}:{secret}".encode()).decode()
    return Door(url, f"Basic {pair}")


def door_of_secret(url: str, secret: str) -> Door:
    return Door(url, f"Bearer {secret}")


def _said(body: bytes) -> str:
    try:
        told = json.loads(body)
        error = told.get("error")
        return str(error["message"] if isinstance(error, dict) else told["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return body[:200].decode(errors="replace")


def _files_path(door: Door) -> str:
    project = door.json("GET", "/api/public/projects")["data"][0]["id"]
    return f"/api/projects/{urllib.parse.quote(project)}/prompt-files"


def pull(door: Door, folder: Path, label: str | None, console: Console) -> int:
    """Write every prompt into the folder; files of no prompt stay and are named."""
    query = f"?{urllib.parse.urlencode({'label': label})}" if label else ""
    data = door.ask("GET", _files_path(door) + query)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        texts = {_inside(folder, name): archive.read(name) for name in archive.namelist()}
    changed = 0
    for path, text in texts.items():
        if path.exists() and path.read_bytes() == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        console.line(f"  {path.relative_to(folder)}")
        changed += 1
    for path in sorted(set(_markdown(folder)) - texts.keys()):
        console.line(f"  {path.relative_to(folder)} belongs to no prompt here")
    console.line(f"{len(texts)} prompts, {changed} files changed")
    return 0


def push(
    door: Door, folder: Path, *, force: bool, dry_run: bool, message: str, console: Console
) -> int:
    """Make the prompts what the files say; 1 where one was not taken."""
    if not folder.is_dir():
        raise PromptsError(f"{folder} is no folder.")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _markdown(folder):
            archive.write(path, path.relative_to(folder).as_posix())
    query = urllib.parse.urlencode(
        {"force": str(force).lower(), "dry_run": str(dry_run).lower(), "message": message}
    )
    answer = door.ask("POST", f"{_files_path(door)}?{query}", buffer.getvalue(), "application/zip")
    files = json.loads(answer)["files"]
    for file in files:
        if file["action"] != "unchanged":
            version = f" version {file['version']}" if file["version"] else ""
            told = f": {file['message']}" if file["message"] else ""
            console.line(f"  {file['action']:9} {file['name']}{version}{told}")
    problems = sum(file["action"] in PROBLEMS for file in files)
    console.line(f"{len(files)} files, {problems} not taken{' (nothing done)' * dry_run}")
    return 1 if problems else 0


def _markdown(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        parts = path.relative_to(folder).parts
        if path.read_bytes()[:4].startswith(b"---") and not any(p.startswith(".") for p in parts):
            yield path  # others, such as a README, are no prompts


def _inside(folder: Path, name: str) -> Path:
    """The path of an archive's member; raises PromptsError where it leads out of the folder."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise PromptsError(f"The server sent a file outside of the folder: {name}")
    return folder / name
