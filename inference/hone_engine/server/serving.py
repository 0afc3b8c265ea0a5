"""Listening: as a process of its own, or on a thread of another one."""

import contextlib
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from hone_engine.engine import EngineThread
from hone_engine.server.app import app
from hone_engine.server.loading import Loader

logger = logging.getLogger(__name__)

START_S = 30.0
GRACE_S = 3  # for answers under way when it is to stop


class ServerHandle:
    """A server on a thread, listening until `close`."""

    def __init__(self, server: uvicorn.Server, bound: socket.socket):
        self._server = server
        self._bound = bound
        self.host, self.port = bound.getsockname()[:2]
        self._thread = threading.Thread(target=self._run, name="hone-engine-http", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + START_S
        while not server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError(f"the engine's HTTP server did not start on {self.url}")
            time.sleep(0.005)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def close(self) -> None:
        """Stop listening; answers under way get a few seconds. The engine goes on."""
        self._server.should_exit = True
        self._thread.join(GRACE_S + 10)
        self._bound.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._bound])


def serve_in_thread(
    engine: EngineThread,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    api_key: str | None = None,
    loader: Loader | None = None,
    admin_key: str | None = None,
) -> ServerHandle:
    """Serve from a thread; returns when it listens. Port 0 takes a free one. Raises OSError when
    the address cannot be had."""
    served = app(engine, api_key=api_key, loader=loader, admin_key=admin_key)
    return ServerHandle(_server(served), _bind(host, port))


def serve(
    engine: EngineThread,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    api_key: str | None = None,
    loader: Loader | None = None,
    admin_key: str | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then close the engine. `on_ready` gets the address once it
    listens. Raises OSError when the address cannot be had. Main thread only."""
    bound = _bind(host, port)
    server = _server(app(engine, api_key=api_key, loader=loader, admin_key=admin_key))
    name, real_port = bound.getsockname()[:2]
    # uvicorn raises the signal that stopped it again; as SIGINT, so that what follows is done too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if on_ready is not None:
            on_ready(f"http://{name}:{real_port}")  # bound: who connects now is served in turn
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[bound])
    finally:
        bound.close()
        engine.close()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(512)
    except OSError as error:
        bound.close()
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}") from None
    return bound


def _server(served: Starlette) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            served,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_keep_alive=75,
            timeout_graceful_shutdown=GRACE_S,
        )
    )
