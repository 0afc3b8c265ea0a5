"""The engine's HTTP face on a real socket."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from hone_engine.engine import EngineThread
from hone_engine.server import ServerHandle, serve_in_thread

MODEL = "smollm2-135m"
KEY = "sk-alice"


@pytest.fixture(scope="session")
def session_server(session_engine: EngineThread) -> Iterator[ServerHandle]:
    handle = serve_in_thread(session_engine)
    yield handle
    handle.close()


@pytest.fixture
def client(engine: EngineThread, session_server: ServerHandle) -> Iterator[httpx.Client]:
    """A client of a server without a key."""
    with httpx.Client(base_url=session_server.url, timeout=30) as client:
        yield client


@pytest.fixture(scope="session")
def locked_server(session_engine: EngineThread) -> Iterator[ServerHandle]:
    """The same engine behind Alice's key."""
    handle = serve_in_thread(session_engine, api_key=KEY)
    yield handle
    handle.close()


@pytest.fixture
def chat_body() -> dict[str, Any]:
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Name a color."}],
        "temperature": 0,
        "max_tokens": 5,
    }


@pytest.fixture
def text_body() -> dict[str, Any]:
    return {"model": MODEL, "prompt": "The sea is", "temperature": 0, "max_tokens": 5}
