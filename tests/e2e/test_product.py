"""What a user does with a running product: SDK, live traces, batch runs, and bad input."""

import http.client
import json
import os
import queue
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
Until = Callable[..., Any]
QUESTION = [{"role": "user", "content": "Name a color of the sea."}]


@pytest.fixture
def client(hone_server: Any) -> Iterator[openai.OpenAI]:
    with hone_server.openai() as client:
        yield client


def trace_of(hone_server: Any, trace_id: str) -> dict[str, Any]:
    status, body = hone_server.get(f"/api/projects/demo/traces/{trace_id}")
    assert status == 200, body
    return dict(body)


def test_the_console_said_one_line_when_it_was_ready(hone_server: Any) -> None:
    lines = hone_server.said.splitlines()
    assert lines.count(f"Hone is ready: {hone_server.url}") == 1


def test_the_sign_in_is_for_its_owners_eyes(hone_server: Any) -> None:
    path = hone_server.data_dir / "demo.env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert all(hone_server.known.values())


def test_the_sdk_lists_the_model_and_chats(hone_server: Any, client: openai.OpenAI) -> None:
    assert hone_server.model in [row.id for row in client.models.list()]
    raw = client.chat.completions.with_raw_response.create(
        model=hone_server.model, messages=QUESTION, max_tokens=16, temperature=0
    )
    answer = raw.parse()
    assert answer.choices[0].message.content
    trace = trace_of(hone_server, raw.headers["x-hone-trace-id"])
    names = {row["name"] for row in trace["observations"]}
    assert names == {"chat completion", "generation", "queue", "prefill", "decode"}
    generation = next(row for row in trace["observations"] if row["type"] == "generation")
    assert generation["usage"]["output"] == answer.usage.completion_tokens
    assert float(generation["cost"]["total"]) == 0
    assert generation["model"] == hone_server.model


def test_the_sdk_streams(hone_server: Any, client: openai.OpenAI) -> None:
    with client.chat.completions.create(
        model=hone_server.model, messages=QUESTION, max_tokens=24, temperature=0, stream=True
    ) as stream:
        chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    whole = client.chat.completions.create(
        model=hone_server.model, messages=QUESTION, max_tokens=24, temperature=0
    )
    assert text == whole.choices[0].message.content
    assert len(chunks) > 5


def test_a_text_completion_works(hone_server: Any, client: openai.OpenAI) -> None:
    answer = client.completions.create(
        model=hone_server.model, prompt="The sea is", max_tokens=8, temperature=0
    )
    assert answer.choices[0].text


def test_a_call_appears_on_the_live_feed_without_reloading(
    hone_server: Any, client: openai.OpenAI
) -> None:
    seen: queue.Queue[str] = queue.Queue()
    connected = threading.Event()
    ended = threading.Event()
    headers = {"authorization": f"Bearer {hone_server.secret_key}"}

    def listen() -> None:
        url = f"{hone_server.url}/api/projects/demo/live"
        with (
            httpx.Client(timeout=30) as http_client,
            http_client.stream("GET", url, headers=headers) as response,
        ):
            assert response.status_code == 200
            connected.set()
            for line in response.iter_lines():
                seen.put(line)
                if ended.is_set():
                    return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    assert connected.wait(30)
    raw = client.chat.completions.with_raw_response.create(
        model=hone_server.model, messages=QUESTION, max_tokens=4
    )
    trace_id = raw.headers["x-hone-trace-id"]
    while trace_id not in (line := seen.get(timeout=30)):
        assert not line.startswith("event: error")
    ended.set()
    thread.join(30)


def test_the_demo_has_prompts_and_real_traces(hone_server: Any) -> None:
    _, prompts = hone_server.get("/api/projects/demo/prompts?limit=200")
    assert {row["name"] for row in prompts["data"]} >= {"support/reply", "summarize"}
    _, traces = hone_server.get("/api/projects/demo/traces?limit=200")
    demo = [row for row in traces["data"] if row["prompts"]]
    assert len(demo) >= 4
    assert any(row["error_count"] for row in traces["data"])


def test_a_stored_prompt_is_answered_and_named_in_the_trace(
    hone_server: Any, client: openai.OpenAI
) -> None:
    raw = client.chat.completions.with_raw_response.create(
        model=hone_server.model,
        messages=[],
        max_tokens=8,
        extra_body={"prompt": "summarize@production", "variables": {"text": "The sea is blue."}},
    )
    trace = trace_of(hone_server, raw.headers["x-hone-trace-id"])
    generation = next(row for row in trace["observations"] if row["type"] == "generation")
    assert generation["prompt"] == {"name": "summarize", "version": 2}


def test_a_run_from_the_command_line_answers_every_row(hone_server: Any, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    texts = [f"Number {number} is a number." for number in range(12)]
    rows.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    command = [sys.executable, "-m", "hone.cli", "run", "summarize@production", str(rows)]
    done = subprocess.run(
        [*command, "--data-dir", str(hone_server.data_dir), "-p", "max_tokens=8"],
        env=hone_server.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "12 answers, 0 failed" in done.stderr
    answers = [
        json.loads(line) for line in (tmp_path / "rows.answers.jsonl").read_text().splitlines()
    ]
    assert [row["variables"]["text"] for row in answers] == texts
    assert all(row["output"] for row in answers)
    assert trace_of(hone_server, answers[0]["trace_id"])["trace"]["tags"] == ["run"]


def test_an_interrupted_run_goes_on_where_it_was(
    hone_server: Any, tmp_path: Path, wait_until: Until
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("text\n" + "".join(f"Number {number}.\n" for number in range(40)))
    command = [sys.executable, "-m", "hone.cli", "run", "summarize@production", str(rows)]
    arguments = ["--data-dir", str(hone_server.data_dir), "-p", "max_tokens=30", "--name", "twice"]

    def run() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, *arguments], env=hone_server.environment, stderr=subprocess.PIPE, text=True
        )

    with run() as first:
        memory = tmp_path / ".rows.answers.jsonl.runs.json"
        wait_until(memory.exists, "a run on the server")
        first.send_signal(signal.SIGINT)
        _, said = first.communicate(timeout=30)
        assert first.returncode == 130
        assert "The same command picks the answers up" in said
    with run() as second:
        _, said = second.communicate(timeout=120)
        assert second.returncode == 0, said
    assert len((tmp_path / "rows.answers.jsonl").read_text().splitlines()) == 40
    assert not memory.exists()
    _, runs = hone_server.get("/api/projects/demo/runs")
    assert [row["name"] for row in runs["data"]].count("twice") == 1


# Bad input: each a clear error, and the product goes on ------------------------------------


def send(hone_server: Any, body: bytes, key: str | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", hone_server.port, timeout=60)
    try:
        connection.request(
            "POST",
            "/v1/chat/completions",
            body,
            {"authorization": f"Bearer {key or hone_server.secret_key}"},
        )
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def chat(hone_server: Any, **more: Any) -> bytes:
    return json.dumps({"model": hone_server.model, "messages": QUESTION, **more}).encode()


def test_bad_input_is_told_and_the_product_goes_on(hone_server: Any) -> None:
    long = [{"role": "user", "content": "sea " * 20_000}]
    cases: list[tuple[bytes, int]] = [
        (b"{", 400),
        (b'{"model": "\xff"}', 400),
        (chat(hone_server, max_tokens=0), 400),
        (chat(hone_server, max_tokens=-1), 400),
        (chat(hone_server, max_tokens="many"), 400),
        (chat(hone_server, messages=long), 400),
        (chat(hone_server, messages=[{"role": "user"}]), 400),
        (chat(hone_server, temperature=-1), 400),
        (chat(hone_server, no_such_parameter=1), 400),
        (chat(hone_server, model="nobody"), 404),
        (chat(hone_server, prompt="nobody@production"), 404),
    ]
    for body, status in cases:
        found, answer = send(hone_server, body)
        assert found == status, (body[:80], answer)
        assert answer["error"]["message"]
    assert hone_server.get("/health")[0] == 200


def test_a_huge_max_tokens_is_answered_or_refused_and_never_hangs(hone_server: Any) -> None:
    body = chat(hone_server, max_tokens=10**9, stop=["e"], temperature=0)
    assert send(hone_server, body)[0] in (200, 400)
    body = chat(hone_server, max_tokens=10**30)
    assert send(hone_server, body)[0] == 400


def test_a_body_of_100_megabytes_is_refused(hone_server: Any) -> None:
    status, answer = send(hone_server, b"x" * 100_000_000)
    assert status == 413
    assert "bytes" in answer["error"]["message"]
    assert hone_server.get("/health")[0] == 200


def test_a_wrong_and_a_revoked_key_are_refused(hone_server: Any, wait_until: Until) -> None:
    assert send(hone_server, chat(hone_server), key="sk-hone-wrong")[0] == 401
    with httpx.Client(base_url=hone_server.url) as person:
        person.get("/api/auth/me")
        headers = {"x-csrftoken": person.cookies["csrftoken"]}
        credentials = {"email": hone_server.email, "password": hone_server.password}
        signed = person.post("/api/auth/login", json=credentials, headers=headers)
        assert signed.status_code == 200, signed.text
        headers = {"x-csrftoken": person.cookies["csrftoken"]}
        made = person.post("/api/projects/demo/keys", json={"name": "x"}, headers=headers).json()
        body = chat(hone_server, max_tokens=1)
        assert send(hone_server, body, made["secret_key"])[0] == 200
        gone = person.delete(f"/api/projects/demo/keys/{made['id']}", headers=headers)
        assert gone.status_code in (200, 204)
    assert send(hone_server, body, made["secret_key"])[0] == 401


def test_no_secret_is_in_a_log_or_a_command_line(hone_server: Any) -> None:
    secrets = [hone_server.secret_key, hone_server.password]
    for log in (hone_server.data_dir / "logs").iterdir():
        text = log.read_text()
        if log.name != "setup.log":
            assert not any(secret in text for secret in secrets), log.name
    names = ("web", "worker", "gpu")
    lines = [Path(f"/proc/{hone_server.child_pid(name)}/cmdline").read_bytes() for name in names]
    assert not any(secret.encode() in line for line in lines for secret in secrets)
    assert os.access(hone_server.data_dir, os.R_OK)
