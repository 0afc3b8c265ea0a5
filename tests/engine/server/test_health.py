import asyncio
import threading
from typing import Any

import httpx
import pytest

from hone_engine.engine import EngineThread
from hone_engine.server import app


def figures(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_health_tells_that_the_loop_turns_and_with_what_load(client: httpx.Client) -> None:
    response = client.get("/health")
    assert response.status_code == 200
    body = response.json()
    assert body["status"] == "ok"
    assert body["model"] == "smollm2-135m"
    assert body["context_length"] == 512
    assert (body["running"], body["waiting"], body["kv_tokens_used"]) == (0, 0, 0)
    assert body["kv_tokens_total"] == 4096
    assert 0 <= body["heartbeat_age_s"] < 5
    assert body["memory_bytes"] > 10**8


async def test_health_is_503_when_the_loop_stands_still(
    engine: EngineThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, run = threading.Event(), engine.engine.model.runner.run

    def wait(chunks: Any) -> Any:
        go.wait(20)
        return run(chunks)

    transport = httpx.ASGITransport(app(engine, stalled_after_s=0.1))
    async with httpx.AsyncClient(transport=transport, base_url="http://engine") as client:
        with monkeypatch.context() as patch:
            patch.setattr(engine.engine.model.runner, "run", wait)
            pending = engine.submit(engine.text_request("a", {"max_tokens": 1}))
            async with asyncio.timeout(20):
                while (response := await client.get("/health")).status_code == 200:
                    await asyncio.sleep(0.01)
            go.set()
        await asyncio.wrap_future(pending)
    assert response.status_code == 503
    assert response.json()["status"] == "stalled"
    assert response.json()["heartbeat_age_s"] >= 0.1  # told in milliseconds


def test_metrics_count_what_was_served(client: httpx.Client, chat_body: dict[str, Any]) -> None:
    before = figures(client.get("/metrics").text)
    answer = client.post("/v1/chat/completions", json={**chat_body, "ignore_eos": True}).json()
    response = client.get("/metrics")
    after = figures(response.text)
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")

    def grown(name: str) -> float:
        return after[f"hone_engine_{name}"] - before[f"hone_engine_{name}"]

    assert grown('requests_total{outcome="finished"}') == 1
    assert grown("prompt_tokens_total") == answer["usage"]["prompt_tokens"]
    assert grown("completion_tokens_total") == 5
    assert grown("steps_total") == 5
    assert grown("first_token_seconds_count") == 1
    assert grown("token_seconds_count") == 4
    assert after["hone_engine_up"] == 1
    assert after["hone_engine_kv_tokens_used"] == 0


def test_histograms_are_cumulative_and_every_metric_is_explained(client: httpx.Client) -> None:
    text = client.get("/metrics").text
    buckets = [v for n, v in figures(text).items() if n.startswith("hone_engine_step_seconds_b")]
    assert buckets == sorted(buckets)
    assert 'le="+Inf"' in text
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
    typed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert named == typed
