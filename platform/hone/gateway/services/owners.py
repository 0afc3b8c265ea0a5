"""Processes as owners of rows: which one this is, and which ones of this host are gone."""

import os
import socket
from pathlib import Path


def worker_name() -> str:
    """This process as an owner of leases: host:pid."""
    return f"{socket.gethostname()}:{os.getpid()}"


def owner_is_gone(owner: str) -> bool:
    """Whether `owner` was a process of this host that does not run any more."""
    host, _, pid = owner.rpartition(":")
    if host != socket.gethostname() or not pid.isdigit() or int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _is_zombie(int(pid))


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
