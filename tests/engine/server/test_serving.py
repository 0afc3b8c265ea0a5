import socket

import httpx
import pytest

from hone_engine.engine import EngineThread
from hone_engine.server import serve_in_thread


def test_it_serves_beside_whatever_else_the_process_does(engine: EngineThread) -> None:
    handle = serve_in_thread(engine)
    assert handle.url == f"http://127.0.0.1:{handle.port}"
    assert httpx.get(handle.url + "/health").status_code == 200
    handle.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(handle.url + "/health")
    assert engine.healthy(), "the engine goes on without its server"


def test_a_taken_port_is_told(engine: EngineThread) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            serve_in_thread(engine, port=port)
