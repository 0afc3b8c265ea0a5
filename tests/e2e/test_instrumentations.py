"""Real instrumentations of the openai package, unchanged, against the running product.

Each runs in an environment of its own (scripts/client_env.py), calls the gateway, which the local
engine answers, and exports to /v1/traces. What they saw is read back through our own API.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hone.sdk as hone
from hone.sdk.openai import OpenAI

CLIENTS = Path(__file__).parent / "clients"
ROOT = Path(__file__).parents[2]
NAMES = ["openinference", "openai-v2", "traceloop"]
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def pythons() -> dict[str, str]:
    """The interpreter of each client's environment."""

    def made(name: str) -> str:
        command = [sys.executable, ROOT / "scripts" / "client_env.py", CLIENTS / f"{name}.txt"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    with ThreadPoolExecutor() as pool:
        return dict(zip(NAMES, pool.map(made, NAMES), strict=True))


@pytest.fixture(scope="module")
def said(hone_server: Any, pythons: dict[str, str]) -> dict[str, Any]:
    """What each client saw, by its name; they run at once."""
    environment = {
        **{k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{hone_server.url}/v1/traces",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": f"Authorization=Bearer%20{hone_server.secret_key}",
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        "TRACELOOP_TELEMETRY": "false",
    }

    def run(name: str) -> Any:
        given = [f"{hone_server.url}/v1", hone_server.secret_key, hone_server.model]
        done = subprocess.run(
            [pythons[name], CLIENTS / "instrumented.py", name, *given],
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    with ThreadPoolExecutor() as pool:
        return dict(zip(NAMES, pool.map(run, NAMES), strict=True))


def call_of(hone_server: Any, trace_id: str, root: str) -> dict[str, Any]:
    """The one model call of a trace, the client's, below its root.

    A client that sends `traceparent` has the gateway's own spans of the call below it, which count
    nothing: the tokens are the client's to tell.
    """
    status, found = hone_server.get(f"/api/projects/{hone_server.project}/traces/{trace_id}")
    assert status == 200, found
    by_name = {row["name"]: row for row in found["observations"]}
    (call,) = [row for row in found["observations"] if row["type"] == "generation"]
    assert call["scope"] != "hone.gateway"
    assert found["trace"]["total_tokens"] == sum(
        count for part, count in call["usage"].items() if part.startswith(("input", "output"))
    )
    assert call["parent_id"] == by_name[root]["id"]
    for row in found["observations"]:
        if row["name"] == "chat completion":
            assert (row["scope"], row["parent_id"]) == ("hone.gateway", call["id"])
    assert found["trace"]["models"] == [hone_server.model]
    return call


def texts_of(value: Any) -> list[str]:
    """Every text of a conversation, in whatever dialect's shape."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts_of(item)]
    return [text for item in value or [] for text in texts_of(item)]


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("name", NAMES)
def test_a_real_instrumentations_call_reads_back(
    hone_server: Any, said: dict[str, Any], name: str, way: str
) -> None:
    seen = said[name][way]
    assert seen["text"]
    call = call_of(hone_server, seen["trace_id"], way)
    assert call["model"] == hone_server.model
    counts = call["usage"]
    given = sum(n for part, n in counts.items() if part.startswith("input"))
    answered = sum(n for part, n in counts.items() if part.startswith("output"))
    assert [given, answered] == seen["usage"]
    assert "What is the capital city of France?" in texts_of(call["input"])
    assert "Answer in one sentence." in texts_of(call["input"])
    assert seen["text"] in texts_of(call["output"])
    assert float(call["model_parameters"]["temperature"]) == 0
    assert call["level"] == "DEFAULT"


@pytest.fixture
def recording(hone_server: Any) -> Iterator[None]:
    assert hone.init(hone_server.url, secret_key=hone_server.secret_key, set_global=False)
    yield
    hone.shutdown()


def test_our_own_wrapper_and_the_gateway_make_one_trace(hone_server: Any, recording: None) -> None:
    with (
        OpenAI(base_url=f"{hone_server.url}/v1", api_key=hone_server.secret_key) as client,
        hone.propagate(session="wrapped", tags=["sdk"]),
        hone.span("application") as root,
    ):
        answer = client.chat.completions.create(
            model=hone_server.model,
            messages=[{"role": "user", "content": "What is the capital city of France?"}],
            max_tokens=8,
        )
        hone.score("helpful", True, comment="it knows")
    assert hone.flush()
    status, found = hone_server.get(f"/api/projects/{hone_server.project}/traces/{root.trace_id}")
    assert status == 200
    rows = {row["id"]: row for row in found["observations"]}
    (generation,) = [row for row in rows.values() if row["type"] == "generation"]
    chain = [generation]
    while chain[-1]["parent_id"]:
        chain.append(rows[chain[-1]["parent_id"]])
    assert [row["name"] for row in chain][-2:] == [f"chat {hone_server.model}", "application"]
    assert answer.usage is not None
    assert found["trace"]["total_tokens"] == answer.usage.total_tokens, "counted once"
    assert found["trace"]["session_id"] == "wrapped"
    assert hone.stats().refused == 0
