"""Server-sent events on the wire, and what happens when somebody stops listening."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from hone_engine.engine import EngineThread
from hone_engine.server import ServerHandle, app
from hone_engine.server.replies import _event

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"


def until_idle(engine: EngineThread) -> None:
    deadline = time.monotonic() + 20
    while True:
        stats = engine.stats()
        if not (stats.num_running or stats.num_waiting or stats.kv_tokens_used):
            return
        assert time.monotonic() < deadline, "the request goes on"
        time.sleep(0.005)


def events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """The chunks of a stream; it ends with [DONE]."""
    lines = [line for line in response.iter_lines() if line and not line.startswith(":")]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    yield from (json.loads(line[6:]) for line in lines[:-1])


def test_no_character_of_an_answer_ends_a_line() -> None:
    text = "".join(map(chr, [*range(0x20), 0x7F, 0x85, 0x2028, 0x2029])) + "\u00e9\u4e2d\U0001f600"
    response = httpx.Response(200, content=_event({"text": text}) + b"data: [DONE]\n\n")
    assert list(events(response)) == [{"text": text}]


@pytest.fixture
def held(engine: EngineThread, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The device stands still until the event is set."""
    go, run = threading.Event(), engine.engine.model.runner.run

    def wait(chunks: Any) -> Any:
        go.wait(20)
        return run(chunks)

    with monkeypatch.context() as patch:
        patch.setattr(engine.engine.model.runner, "run", wait)
        yield go
        go.set()
        until_idle(engine)


def test_a_chat_streams_role_text_end_and_usage(
    client: httpx.Client, chat_body: dict[str, Any]
) -> None:
    options = {"stream": True, "stream_options": {"include_usage": True}, "ignore_eos": True}
    with client.stream("POST", CHAT, json={**chat_body, **options}) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        chunks = list(events(response))
    opening, *pieces, end, usage = chunks
    assert {(c["id"], c["object"], c["model"]) for c in chunks} == {
        (opening["id"], "chat.completion.chunk", "smollm2-135m")
    }
    assert opening["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert all(set(c["choices"][0]["delta"]) == {"content"} for c in pieces)
    assert all(c["choices"][0]["finish_reason"] is None for c in [opening, *pieces])
    assert end["choices"][0]["delta"] == {}
    assert end["choices"][0]["finish_reason"] == "length"
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 5
    assert all(c["usage"] is None for c in chunks[:-1])
    whole = client.post(CHAT, json={**chat_body, "ignore_eos": True}).json()
    streamed = "".join(c["choices"][0]["delta"]["content"] for c in pieces)
    assert streamed == whole["choices"][0]["message"]["content"]


def test_the_timings_of_a_call_come_with_its_last_chunk(
    client: httpx.Client, text_body: dict[str, Any]
) -> None:
    with client.stream("POST", TEXT, json={**text_body, "stream": True, "n": 2}) as response:
        chunks = list(events(response))
    assert ["timings" in chunk for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    timings = chunks[-1]["timings"]
    assert set(timings) == {
        "queued_at",
        "started_at",
        "first_token_at",
        "finished_at",
        "cached_tokens",
        "prompt_tokens_per_second",
        "tokens_per_second",
    }
    assert (
        timings["queued_at"]
        <= timings["started_at"]
        <= timings["first_token_at"]
        <= timings["finished_at"]
    )
    assert timings["tokens_per_second"] > 0


def test_choices_have_their_own_texts_and_one_usage(
    client: httpx.Client, text_body: dict[str, Any]
) -> None:
    body = {**text_body, "n": 3, "temperature": 1.2, "seed": 5, "max_tokens": 8}
    answer = client.post(TEXT, json=body).json()
    texts = [choice["text"] for choice in answer["choices"]]
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert len(set(texts)) == 3
    assert answer["usage"]["prompt_tokens"] == 3
    assert answer["usage"]["completion_tokens"] <= 24
    assert [c["text"] for c in client.post(TEXT, json=body).json()["choices"]] == texts
    alone = client.post(TEXT, json={**body, "n": 1}).json()
    assert alone["choices"][0]["text"] == texts[0], "choice 0 is what the seed gives alone"


def test_a_stop_string_is_cut_off_in_a_stream_too(
    client: httpx.Client, text_body: dict[str, Any]
) -> None:
    body = {**text_body, "max_tokens": 12, "ignore_eos": True}
    whole = client.post(TEXT, json=body).json()["choices"][0]["text"]
    stop = whole[4:9]
    with client.stream("POST", TEXT, json={**body, "stop": stop, "stream": True}) as response:
        chunks = list(events(response))
    assert "".join(c["choices"][0]["text"] for c in chunks) == whole[: whole.index(stop)]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"


def test_a_cached_prompt_is_told_in_the_usage(
    client: httpx.Client, text_body: dict[str, Any]
) -> None:
    body = {**text_body, "prompt": list(range(100, 170))}
    client.post(TEXT, json=body)
    answer = client.post(TEXT, json=body).json()
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 64}
    assert answer["timings"]["cached_tokens"] == 64


def test_a_client_that_leaves_its_stream_ends_the_request(
    client: httpx.Client, engine: EngineThread, text_body: dict[str, Any]
) -> None:
    before = engine.stats().num_aborted
    body = {**text_body, "max_tokens": 400, "ignore_eos": True, "stream": True}
    with client.stream("POST", TEXT, json=body) as response:
        next(response.iter_lines())
    until_idle(engine)
    assert engine.stats().num_aborted == before + 1


def test_a_client_that_does_not_wait_for_its_answer_ends_the_request(
    session_server: ServerHandle,
    engine: EngineThread,
    text_body: dict[str, Any],
    held: threading.Event,
) -> None:
    before = engine.stats().num_aborted
    content = json.dumps({**text_body, "n": 3, "max_tokens": 400, "ignore_eos": True}).encode()
    head = f"POST {TEXT} HTTP/1.1\r\nhost: engine\r\ncontent-length: {len(content)}\r\n\r\n"
    with socket.create_connection((session_server.host, session_server.port)) as connection:
        connection.sendall(head.encode() + content)
        deadline = time.monotonic() + 20
        while engine.stats().num_running < 3:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    held.set()
    until_idle(engine)
    assert engine.stats().num_aborted == before + 3


def test_a_client_that_reads_nothing_holds_nobody_up(
    session_server: ServerHandle,
    client: httpx.Client,
    engine: EngineThread,
    text_body: dict[str, Any],
) -> None:
    body = {**text_body, "n": 8, "max_tokens": 80, "ignore_eos": True, "stream": True}
    content = json.dumps({**body, "logprobs": 20}).encode()
    head = f"POST {TEXT} HTTP/1.1\r\nhost: engine\r\ncontent-length: {len(content)}\r\n\r\n"
    with socket.socket() as stalled:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.connect((session_server.host, session_server.port))
        stalled.sendall(head.encode() + content)
        answer = client.post(TEXT, json=text_body).json()
        assert answer["choices"][0]["finish_reason"] in ("stop", "length")
        until_idle(engine)
        assert client.get("/health").json()["status"] == "ok"


def test_a_failing_step_is_an_error_in_the_stream_and_503_without(
    client: httpx.Client,
    engine: EngineThread,
    text_body: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(chunks: Any) -> None:
        raise RuntimeError("device")

    with monkeypatch.context() as patch:
        patch.setattr(engine.engine.model.runner, "run", fail)
        response = client.post(TEXT, json=text_body)
        streamed = client.post(TEXT, json={**text_body, "stream": True})
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    assert response.json()["error"]["type"] == "server_error"
    assert "RuntimeError: device" in response.json()["error"]["message"]
    assert streamed.status_code == 200
    last = [line for line in streamed.text.splitlines() if line][-1]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "engine_error"
    assert client.post(TEXT, json=text_body).status_code == 200


def test_when_the_queue_is_full_it_is_429_with_a_time(
    client: httpx.Client,
    engine: EngineThread,
    text_body: dict[str, Any],
    held: threading.Event,
) -> None:
    room = engine.engine.config.max_batch + engine.engine.config.max_waiting
    pending = [engine.submit(engine.text_request("a", {"max_tokens": 1})) for _ in range(room)]
    response = client.post(TEXT, json={**text_body, "stream": True})
    held.set()
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) >= 1
    assert response.json()["error"]["code"] == "queue_full"
    assert {future.result(20).finish_reason for future in pending} == {"length"}
    assert client.post(TEXT, json=text_body).status_code == 200


def test_many_clients_at_once_get_what_each_gets_alone(
    client: httpx.Client, text_body: dict[str, Any]
) -> None:
    def ask(n: int) -> str:
        body = {**text_body, "prompt": f"Number {n} is", "temperature": 1, "seed": n}
        text: str = client.post(TEXT, json=body).json()["choices"][0]["text"]
        return text

    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(ask, range(24)))
    assert [ask(n) for n in range(0, 24, 6)] == together[::6]


async def test_a_defect_in_the_server_is_500_in_the_same_shape(
    engine: EngineThread, text_body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(engine, "text_request", fail)
    transport = httpx.ASGITransport(app(engine), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://engine") as client:
        response = await client.post(TEXT, json=text_body)
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal_error"


async def test_a_stream_without_news_says_that_it_lives(
    engine: EngineThread,
    text_body: dict[str, Any],
    held: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hone_engine.server.replies.PING_S", 0.05)
    sent: list[bytes] = []
    content = json.dumps({**text_body, "stream": True}).encode()
    inbox = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if inbox:
            return inbox.pop()
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))
        if sent.count(b": ping\n\n") == 2:
            held.set()

    scope = {
        "type": "http",
        "method": "POST",
        "path": TEXT,
        "raw_path": TEXT.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"content-length", str(len(content)).encode())],
    }
    async with asyncio.timeout(20):
        await app(engine)(scope, receive, send)
    assert sent.count(b": ping\n\n") >= 2
    assert b"data: [DONE]\n\n" in sent
