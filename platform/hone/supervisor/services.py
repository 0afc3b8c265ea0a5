"""Which processes make up Hone and how each starts; docker-compose.yml runs the same commands."""

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hone.supervisor.child import Command
from hone.supervisor.datadir import DataDir

SETTINGS_MODULE = "hone.config.settings.prod"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
WORKER_THREADS = 4
CELERY_READY = r"\w+@\S+ ready"
ENGINE_READY = r"engine answers at http://"
SERVER_MODULES = ("django", "rest_framework", "uvicorn", "celery", "redis", "psycopg")


@dataclass(frozen=True, slots=True)
class Address:
    """Where the web process listens."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK

    @property
    def url(self) -> str:
        """The address to type into a browser of this machine."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def web_argv(host: str, port: int) -> tuple[str, ...]:
    """uvicorn with the ASGI application; open streams get 3 s when it stops."""
    return (
        *("python", "-m", "uvicorn", "hone.config.asgi:application"),
        *("--host", host, "--port", str(port)),
        *("--lifespan", "off", "--no-access-log", "--no-server-header"),
        *("--timeout-graceful-shutdown", "3"),
        *("--ws", "hone.common.websocket:WebSocketProtocol"),
    )


def worker_argv() -> tuple[str, ...]:
    """Celery for ordinary jobs."""
    return _celery_argv("worker", "default,rollups", WORKER_THREADS)


def gpu_worker_argv() -> tuple[str, ...]:
    """Celery for the queue `gpu`; only this process imports the engine."""
    return (*_celery_argv("gpu", "gpu", 2), "-I", "hone.gateway.local_engine")


def setup_argv() -> tuple[str, ...]:
    """Brings the database to this version and makes the first account."""
    return ("python", "-m", "django", "bootstrap")


def _celery_argv(name: str, queues: str, threads: int) -> tuple[str, ...]:
    return (
        *("python", "-m", "celery", "-A", "hone.config.celery", "worker"),
        *("-n", f"{name}@%h", "-Q", queues, "-P", "threads", "-c", str(threads)),
        *("--loglevel", "INFO", "--without-gossip", "--without-mingle"),
    )


def server_missing() -> list[str]:
    """Packages of the server extra that are not installed."""
    return [name for name in SERVER_MODULES if importlib.util.find_spec(name) is None]


def source_roots() -> list[str]:
    """Folders that must be on PYTHONPATH so that children import the same sources.

    Installed packages need none: site-packages before the standard library could shadow it.
    """
    installed = {str(Path(sysconfig.get_path(name)).resolve()) for name in ("purelib", "platlib")}
    roots: list[str] = []
    for package in ("hone", "hone_engine"):
        spec = importlib.util.find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            root = str(Path(location).resolve().parent)
            if root not in roots and root not in installed:
                roots.append(root)
    return roots


def environment_make(
    *,
    data: DataDir,
    address: Address,
    database_url: str,
    redis_url: str,
    secret_key: str,
    outer: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The environment of web and workers: the caller's own, and what Hone adds to it."""
    hosts = [address.host, *LOOPBACK, "[::1]"] if address.is_loopback else ["*"]
    defaults = {
        "HONE_ALLOWED_HOSTS": ",".join(dict.fromkeys(hosts)),
        "HONE_URL": address.url,
        "HONE_ALLOW_PRIVATE_CONNECTIONS": "1" if address.is_loopback else "0",
        # glibc gives every thread its own heap otherwise: tens of megabytes for nothing.
        "MALLOC_ARENA_MAX": "2",
    }
    path = [*source_roots(), *filter(None, outer.get("PYTHONPATH", "").split(os.pathsep))]
    fixed = {
        "DJANGO_SETTINGS_MODULE": SETTINGS_MODULE,
        "HONE_SERVER_SECRET": secret_key,
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "HONE_DATA_DIR": str(data.root),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
        "PYTHONUNBUFFERED": "1",
    }
    return {**defaults, **outer, **fixed}


def command(
    name: str, argv: tuple[str, ...], env: Mapping[str, str], ready_pattern: str | None = None
) -> Command:
    """One of the argv above as a child that runs under this interpreter."""
    return Command(
        name=name, argv=(sys.executable, *argv[1:]), env=env, ready_pattern=ready_pattern
    )
