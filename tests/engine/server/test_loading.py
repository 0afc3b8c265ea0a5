"""A model in the place of another while the server listens and clients ask."""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hone_engine.config import EngineConfig
from hone_engine.engine import EngineThread
from hone_engine.server import Loadable, Loader, serve_in_thread

ADMIN = {"authorization": "Bearer sk-root"}
CONFIG = EngineConfig(
    max_batch=4, max_step_tokens=128, cache_tokens=1024, context_len=512, max_waiting=40
)


@pytest.fixture
def shelf(smollm2_dir: Path, tmp_path: Path) -> Path:
    """Three models: the same one twice, and one whose weights end too early."""
    for name in ("first", "second", "broken", "no-model"):
        (tmp_path / name).mkdir()
    for name in ("first", "second", "broken"):
        for file in smollm2_dir.iterdir():
            (tmp_path / name / file.name).symlink_to(file)
    weights = tmp_path / "broken/model.safetensors"
    weights.unlink()
    shutil.copyfile(smollm2_dir / "model.safetensors", weights)
    with weights.open("r+b") as file:
        file.truncate(weights.stat().st_size - 1000)
    return tmp_path


@pytest.fixture
def changing(shelf: Path) -> Iterator[tuple[httpx.Client, Loader]]:
    """A client of a server over the first model, which lets requests end for 1 s."""
    engine = EngineThread.load(shelf / "first", CONFIG)
    loader = Loader(engine, Loadable(shelf / "first", CONFIG, shelf), grace_s=1.0)
    handle = serve_in_thread(engine, api_key="sk-alice", loader=loader, admin_key="sk-root")
    headers = {"authorization": "Bearer sk-alice"}
    with httpx.Client(base_url=handle.url, timeout=30, headers=headers) as client:
        yield client, loader
    handle.close()
    engine.close()


def ask(client: httpx.Client, model: str, **more: Any) -> httpx.Response:
    body = {"model": model, "prompt": "The sea is", "temperature": 0, "max_tokens": 5}
    return client.post("/v1/completions", json={**body, **more})


def loaded(client: httpx.Client) -> dict[str, Any]:
    """The state once nothing loads any more."""
    deadline = time.monotonic() + 30
    while (state := client.get("/admin/load", headers=ADMIN).json())["status"] == "loading":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return dict(state)


def test_another_model_answers_and_the_one_before_is_gone(changing: Any) -> None:
    client, _ = changing
    before = ask(client, "first").json()["choices"][0]["text"]
    answer = client.post("/admin/load", headers=ADMIN, json={"model": "second"})
    assert answer.status_code == 202
    assert (answer.json()["status"], answer.json()["model"]) == ("loading", "second")
    assert loaded(client) == {"status": "ready", "model": "second", "error": None}
    assert ask(client, "first").status_code == 404
    assert ask(client, "second").json()["choices"][0]["text"] == before
    assert client.get("/v1/models").json()["data"][0]["id"] == "second"
    health = client.get("/health").json()
    assert (health["status"], health["model"]) == ("ok", "second")
    finished = 'hone_engine_requests_total{outcome="finished"} 2'
    assert finished in client.get("/metrics").text  # no count goes back


def test_who_asks_meanwhile_is_told_to_come_again(changing: Any) -> None:
    client, _ = changing
    long = threading.Thread(
        target=ask, args=(client, "first"), kwargs={"max_tokens": 400, "ignore_eos": True}
    )
    long.start()
    while not client.get("/health").json()["running"]:
        time.sleep(0.01)
    assert client.post("/admin/load", headers=ADMIN, json={}).status_code == 202
    refused = ask(client, "first")
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "model_loading"
    assert int(refused.headers["retry-after"]) >= 1
    health = client.get("/health")
    assert (health.status_code, health.json()["status"]) == (503, "loading")
    again = client.post("/admin/load", headers=ADMIN, json={})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "model_loading")
    assert loaded(client)["status"] == "ready"
    long.join()
    assert ask(client, "first").status_code == 200


def test_a_stream_that_takes_too_long_ends_with_an_error(changing: Any) -> None:
    client, loader = changing
    body = {"model": "first", "prompt": "a", "max_tokens": 480, "ignore_eos": True, "stream": True}
    with client.stream("POST", "/v1/completions", json=body) as stream:
        lines = stream.iter_lines()
        next(line for line in lines if line.startswith("data: "))
        loader._grace_s = 0.0
        loader.load(None)
        [last] = [line for line in lines if line.startswith("data: ")][-1:]
    assert "another model" in json.loads(last[6:])["error"]["message"]
    assert loaded(client)["status"] == "ready"
    assert ask(client, "first").status_code == 200


@pytest.mark.parametrize("body", [{"model": "../first"}, {"model": "no-model"}, {"model": ""}])
def test_only_models_of_the_shelf_are_loaded(changing: Any, body: dict[str, str]) -> None:
    client, _ = changing
    answer = client.post("/admin/load", headers=ADMIN, json=body)
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert error["param"] == "model"
    assert "wanted one of first, broken, first, second" in error["message"]
    assert ask(client, "first").status_code == 200


@pytest.mark.parametrize("body", [{"model": 7}, {"path": "/etc"}])
def test_other_bodies_are_refused_by_name(changing: Any, body: dict[str, Any]) -> None:
    client, _ = changing
    answer = client.post("/admin/load", headers=ADMIN, json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, next(iter(body)))


def test_a_model_that_does_not_hold_together_leaves_the_present_one(changing: Any) -> None:
    client, _ = changing
    answer = client.post("/admin/load", headers=ADMIN, json={"model": "broken"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_model")
    assert "broken/model.safetensors" in answer.json()["error"]["message"]
    assert client.get("/admin/load", headers=ADMIN).json()["status"] == "ready"
    assert ask(client, "first").status_code == 200


def test_a_load_that_fails_midway_brings_back_what_ran(
    changing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, loader = changing
    made = loader._made

    def breaks(path: Path) -> Any:
        if path.name == "second":
            raise MemoryError("8 GB are wanted, 1 GB is there")
        return made(path)

    monkeypatch.setattr(loader, "_made", breaks)
    client.post("/admin/load", headers=ADMIN, json={"model": "second"})
    state = loaded(client)
    assert state["status"] == "failed"
    assert state["error"] == "second could not be loaded: 8 GB are wanted, 1 GB is there"
    assert state["model"] == "first"
    assert ask(client, "first").status_code == 200
    assert client.get("/health").json()["status"] == "ok"


def test_without_any_model_the_server_says_so_until_one_is_loaded(
    changing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, loader = changing
    with monkeypatch.context() as patch:

        def breaks(path: Path) -> Any:
            raise MemoryError("no memory")

        patch.setattr(loader, "_made", breaks)
        client.post("/admin/load", headers=ADMIN, json={"model": "second"})
        assert loaded(client)["status"] == "failed"
    refused = ask(client, "first")
    assert refused.status_code == 503
    assert refused.json()["error"]["message"] == "there is no model: no memory"
    health = client.get("/health")
    assert (health.status_code, health.json()["status"]) == (503, "no model")
    client.post("/admin/load", headers=ADMIN, json={"model": "second"})
    assert loaded(client)["status"] == "ready"
    assert ask(client, "second").status_code == 200


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer sk-alice"}])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_only_the_admin_key_changes_the_model(
    changing: Any, method: str, headers: dict[str, str]
) -> None:
    client, _ = changing
    answer = client.request(method, "/admin/load", headers=headers, json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


def test_without_an_admin_key_there_is_no_such_address(client: httpx.Client) -> None:
    assert client.post("/admin/load", headers=ADMIN, json={}).status_code == 404
