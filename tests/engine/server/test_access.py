import httpx
import pytest

from hone_engine.engine import EngineThread
from hone_engine.server import ServerHandle


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer sk-charlie"},
        {"authorization": "Bearer"},
        {"authorization": "Basic sk-alice"},
        {"authorization": "sk-alice"},
        {"authorization": b"Bearer \xff\xfe"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"),
        ("GET", "/v1/models/smollm2-135m"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/completions"),
    ],
)
def test_charlie_without_the_key_is_refused_everywhere(
    engine: EngineThread,
    locked_server: ServerHandle,
    method: str,
    path: str,
    headers: dict[str, str],
) -> None:
    response = httpx.request(method, locked_server.url + path, headers=headers)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "invalid_api_key"
    assert response.headers["www-authenticate"] == "Bearer"


def test_alice_with_the_key_is_served(engine: EngineThread, locked_server: ServerHandle) -> None:
    for scheme in ("Bearer", "bearer"):
        headers = {"authorization": f"{scheme} sk-alice"}
        response = httpx.get(locked_server.url + "/v1/models", headers=headers)
        assert response.status_code == 200
        assert response.json()["data"][0]["id"] == "smollm2-135m"


def test_health_and_metrics_are_open(engine: EngineThread, locked_server: ServerHandle) -> None:
    assert httpx.get(locked_server.url + "/health").status_code == 200
    assert httpx.get(locked_server.url + "/metrics").status_code == 200
