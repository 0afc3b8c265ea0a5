"""What the SDK sends, taken by Hone's own doors and read back through its own API."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest

import hone.sdk as hone
from hone.common.asgi import Receive, Scope, Send
from hone.config import routing
from hone.prompts.services import Author, prompt_create
from hone.sdk.delivery.transport import Reply, Transport
from hone.sdk.prompts.fetch import prompts_forget
from hone.traces.services import writer

Request = tuple[str, str, bytes | None, dict[str, str]]


@pytest.fixture
def post(asgi: Callable[..., Any], transactional_db: None) -> Callable[[Request], Any]:
    """One request to the whole product, until what it wrote is announced."""
    route = routing.build()

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        await route(scope, receive, send)
        await writer.writer().told()

    def call(request: Request) -> Any:
        method, path, body, headers = request
        path, _, query = path.partition("?")
        return asgi(door, method, unquote(path), body=body or b"", headers=headers, query=query)

    return call


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch, api_key: Any, collector: Any) -> list[Request]:
    """What the SDK would send, with the key of Alice's project; sent later, in the test's thread:
    there the test's database is seen."""
    found: list[Request] = []

    def kept(
        self: Transport, method: str, path: str, body: Any = None, headers: Any = None
    ) -> Reply:
        found.append((method, path, body, {**self._headers, **(headers or {})}))
        return Reply(200, b"{}")

    monkeypatch.setattr(Transport, "ask", kept)
    assert hone.init(
        "http://hone.test",
        public_key=api_key.row.public_key,
        secret_key=api_key.secret,
        environment="staging",
        release="v7",
        service="shop",
        set_global=False,
    )
    return found


def test_a_trace_of_the_sdk_reads_back_as_it_was_said(
    requests: list[Request], post: Callable[[Request], Any], as_alice: Any
) -> None:
    @hone.observe(kind="retriever")
    def look_up(query: str) -> list[str]:
        return ["a bike", "a bell"]

    with (
        hone.propagate(session="s-1", user="u-1", tags=["web"], metadata={"plan": "gold"}),
        hone.span("answer", kind="chain", input={"question": "Hi?"}) as root,
    ):
        look_up("bikes")
        with hone.generation(
            "call", model="gpt-4o", input=[{"role": "user", "content": "Hi?"}],
            parameters={"temperature": 0.5}, metadata={"try": 1},
        ) as call:  # fmt: skip
            call.first_token()
            call.update(
                output={"role": "assistant", "content": "Hello"},
                usage={
                    "prompt_tokens": 10,
                    "completion_tokens": 4,
                    "total_tokens": 14,
                    "prompt_tokens_details": {"cached_tokens": 6},
                },
                cost={"total": 0.25},
            )
        with pytest.raises(ValueError, match="no"), hone.span("fails", kind="tool"):
            raise ValueError("no")
        root.update(output="Hello")
    hone.flush()
    for request in requests:
        assert post(request).status == 200
    found = as_alice.get(f"/api/projects/demo/traces/{root.trace_id}").json()
    trace = found["trace"]
    assert (trace["name"], trace["session_id"], trace["user_id"]) == ("answer", "s-1", "u-1")
    assert (trace["tags"], trace["environment"], trace["release"]) == (["web"], "staging", "v7")
    assert (trace["input"], trace["output"]) == ({"question": "Hi?"}, "Hello")
    assert (trace["input_tokens"], trace["output_tokens"], trace["total_tokens"]) == (10, 4, 14)
    by_name = {row["name"]: row for row in found["observations"]}
    answer, generation, tool = by_name["answer"], by_name["call"], by_name["fails"]
    assert {row["parent_id"] for row in (by_name["look_up"], generation, tool)} == {answer["id"]}
    assert (answer["type"], by_name["look_up"]["type"], tool["type"]) == (
        "chain",
        "retriever",
        "tool",
    )
    assert by_name["look_up"]["input"] == {"query": "bikes"}
    assert by_name["look_up"]["output"] == ["a bike", "a bell"]
    assert (generation["type"], generation["model"]) == ("generation", "gpt-4o")
    assert generation["model_parameters"] == {"temperature": 0.5}
    assert generation["input"] == [{"role": "user", "content": "Hi?"}]
    assert generation["output"] == {"role": "assistant", "content": "Hello"}
    assert generation["usage"] == {
        "input": 4, "output": 4, "input_cached_tokens": 6, "total": 14,
    }  # fmt: skip
    assert float(generation["cost"]["total"]) == 0.25
    assert generation["metadata"] == {"plan": "gold", "try": 1}
    assert generation["ttft_ms"] is not None
    assert (tool["level"], tool["status"], tool["status_message"]) == (
        "ERROR",
        "error",
        "ValueError: no",
    )
    assert tool["events"][0]["name"] == "exception"
    assert generation["scope"].startswith("hone.sdk")


def test_scores_of_the_sdk_are_taken(
    requests: list[Request], post: Callable[[Request], Any], as_alice: Any
) -> None:
    with hone.span("x") as span:
        hone.score("helpful", 0.5, comment="so so", metadata={"by": "test"})
        hone.score("right", True)
        hone.score("tone", "friendly", score_id="mine")
    hone.flush()
    for request in requests:
        answer = post(request)
        assert 200 <= answer.status < 300, answer.body
        assert not answer.body or not json.loads(answer.body).get("errors")
    found = as_alice.get(f"/api/projects/demo/scores?trace_id={span.trace_id}").json()["data"]
    by_name = {row["name"]: row for row in found}
    assert set(by_name) == {"helpful", "right", "tone"}
    assert by_name["helpful"]["comment"] == "so so"


def test_a_prompt_comes_from_the_real_door(
    requests: list[Request],
    post: Callable[[Request], Any],
    monkeypatch: pytest.MonkeyPatch,
    project: Any,
) -> None:
    prompt_create(
        project=project,
        author=Author("Alice", None),
        name="shop/reply",
        type="text",
        prompt="Hello {{name}}",
        labels=["production"],
    )

    def asked(self: Transport, method: str, path: str, *rest: Any) -> Reply:
        answer = post((method, path, None, self._headers))
        return Reply(answer.status, answer.body)

    monkeypatch.setattr(Transport, "ask", asked)
    prompts_forget()
    prompt = hone.get_prompt("shop/reply")
    assert prompt.compile(name="Bo") == "Hello Bo"
    assert (prompt.version, prompt.is_chat) == (1, False)
    with pytest.raises(hone.PromptError, match="404"):
        hone.get_prompt("shop/nothing")
    prompts_forget()
