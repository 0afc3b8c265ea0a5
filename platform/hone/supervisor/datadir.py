"""The data folder: what lies where, who may use it, and what an earlier run left behind."""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hone.supervisor.errors import StartError

LONGEST_SOCKET_PATH = 100  # the kernel takes 107 bytes; PostgreSQL adds `.lock`


@dataclass(frozen=True, slots=True)
class DataDir:
    """Paths below one data folder; everything Hone remembers is in it."""

    root: Path

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def valkey(self) -> Path:
        return self.root / "valkey"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def demo_env(self) -> Path:
        return self.root / "demo.env"

    def postgres(self, major: int) -> Path:
        """The cluster of one major version: a newer server never touches an older one's files."""
        return self.root / f"postgres-{major}"

    def sockets(self) -> Path:
        """A private folder for Unix sockets, in the data folder unless its path is too long."""
        if len(os.fsencode(self.run / "pg" / ".s.PGSQL.5432")) <= LONGEST_SOCKET_PATH:
            return self.run
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:10]
        short = Path(tempfile.gettempdir()) / f"hone-{os.getuid()}-{digest}"
        with contextlib.suppress(FileExistsError):
            short.mkdir(mode=0o711)
        if short.is_symlink() or short.stat().st_uid != os.getuid():
            raise StartError(f"{short} belongs to someone else; remove it and start again.")
        return short


def data_dir_open(path: Path) -> DataDir:
    """Make the folder and its subfolders; raises StartError when it cannot be written."""
    data = DataDir(path.expanduser().absolute())
    try:
        data.root.mkdir(parents=True, exist_ok=True, mode=0o711)
        for folder in (data.logs, data.run, data.valkey, data.models):
            folder.mkdir(exist_ok=True, mode=0o711)
        probe = data.run / "probe"
        probe.write_text("")
        probe.unlink()
    except FileExistsError as error:
        raise StartError(f"{error.filename} is a file, a folder is wanted.") from error
    except OSError as error:
        raise StartError(
            f"The data folder {data.root} cannot be written ({error.strerror}). "
            "Name another one: hone up --data-dir FOLDER"
        ) from error
    return data


def data_dir_lock(data: DataDir) -> IO[str]:
    """Hold the folder for this process until the returned file is closed; the kernel frees it.

    Raises StartError naming the process that has it.
    """
    lock = (data.run / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        raise StartError(
            f"The data folder {data.root} is in use by another `hone up` (process {holder}). "
            "Stop it, or name another folder: --data-dir FOLDER"
        ) from error
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def secret_read(data: DataDir, name: str = "secret.key") -> str:
    """The installation's secret: made once, readable by its owner only."""
    path = data.root / name
    if not path.exists():
        private_file_write(path, secrets.token_urlsafe(48))
    text = path.read_text().strip()
    if not text:
        raise StartError(f"{path} is empty; restore it from a backup: it opens stored secrets.")
    return text


def private_file_write(path: Path, text: str) -> None:
    """Replace `path` in one step by a file that only its owner can read."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(text)
    new.replace(path)


def process_started_at(pid: int) -> int | None:
    """Kernel start time of a process (clock ticks since boot), None if there is no such process.

    A pid is used again by the kernel, the pair of pid and start time is not.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def pids_write(data: DataDir, pids: dict[str, int]) -> None:
    """Note the running children, so that the next start can end what a crash left behind."""
    rows = {name: [pid, process_started_at(pid)] for name, pid in pids.items()}
    path = data.run / "pids.json"
    new = path.with_suffix(".new")
    new.write_text(json.dumps(rows))
    new.replace(path)


def pids_forget(data: DataDir) -> None:
    """All children ended in order."""
    (data.run / "pids.json").unlink(missing_ok=True)


def leftovers_end(data: DataDir, patience_s: float = 20.0) -> list[str]:
    """End children of a supervisor that was killed; returns their names.

    Called under the folder's lock, so nobody else's living children are in the list.
    """
    try:
        rows = json.loads((data.run / "pids.json").read_text())
        living = {name: (int(pid), int(at)) for name, (pid, at) in rows.items() if at is not None}
    except (OSError, ValueError, TypeError, AttributeError):
        return []
    living = {name: row for name, row in living.items() if process_started_at(row[0]) == row[1]}
    names = list(living)
    for name, (pid, _) in living.items():
        _signal(pid, signal.SIGINT if name == "postgres" else signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while living and time.monotonic() < deadline:
        time.sleep(0.05)
        living = {name: row for name, row in living.items() if process_started_at(row[0]) == row[1]}
    for name, (pid, _) in living.items():
        _signal(pid, signal.SIGQUIT if name == "postgres" else signal.SIGKILL)
    pids_forget(data)
    return names


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
