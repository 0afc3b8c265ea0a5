"""Answers come back as the model server gave them, and every call leaves its trace."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import OperationalError

from hone.accounts.models import Project
from hone.gateway.models import Connection
from hone.gateway.services import calls, connections

Ask = Callable[..., Any]
Say = Callable[..., dict[str, Any]]
Traced = Callable[[], list[dict[str, Any]]]
pytestmark = pytest.mark.django_db
WORDS = ("The ", "sea ", "is ", "blue.")  # as the far server says them
TEXT = "".join(WORDS)


def test_a_whole_answer_goes_through_and_is_traced(
    ask: Ask, far: Any, far_connection: Connection, say: Say, traced: Traced
) -> None:
    reply = ask(body=say(temperature=0.5, anything=1))
    assert reply.status == 200
    assert reply.json()["choices"][0]["message"]["content"] == TEXT
    headers, sent = far.requests[0]
    assert headers["authorization"] == "Bearer far-secret-key"
    assert sent == say(temperature=0.5, anything=1)
    root, generation, *phases = traced()
    assert root["trace"] == reply.headers["x-hone-trace-id"]
    assert orjson.loads(root["input"]) == say()["messages"]
    assert orjson.loads(root["output"]) == {"role": "assistant", "content": TEXT}
    assert orjson.loads(generation["model_parameters"]) == {"temperature": 0.5}
    usage = {"input": 7, "input_cached_tokens": 5, "output": 4, "total": 16}
    assert orjson.loads(generation["usage"]) == usage
    assert generation["cost"] is None
    assert [span["name"] for span in phases] == ["queue", "prefill", "decode"]


def test_a_stream_comes_in_pieces_and_ends_with_done(
    ask: Ask, far_connection: Connection, say: Say, traced: Traced
) -> None:
    reply = ask(body=say(stream=True))
    *chunks, done = reply.events()
    assert reply.headers["content-type"] == "text/event-stream"
    assert done == "[DONE]"
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks) == TEXT
    root, generation, *_ = traced()
    assert orjson.loads(root["output"])["content"] == TEXT
    assert generation["first_token_at"] is not None
    assert orjson.loads(generation["usage"])["total"] == 16


def test_usage_is_sent_only_to_who_asked_for_it(
    ask: Ask, far_connection: Connection, say: Say
) -> None:
    without = ask(body=say(stream=True)).events()
    with_usage = ask(body=say(stream=True, stream_options={"include_usage": True})).events()
    assert all(chunk["choices"] for chunk in without[:-1])
    assert with_usage[-2]["usage"]["total_tokens"] == 16


def test_a_stream_that_breaks_off_ends_with_an_error_and_not_with_done(
    ask: Ask, far_connection: Connection, say: Say, traced: Traced
) -> None:
    reply = ask(body=say("cut", stream=True))
    events = reply.events()
    assert events[0]["choices"][0]["delta"]["content"] == WORDS[0]
    assert events[-1]["error"]["code"] == "stream_cut"
    root = traced()[0]
    assert (root["status"], orjson.loads(root["output"])["content"]) == ("error", WORDS[0])


@pytest.mark.parametrize("model", ["400", "404", "429", "503"])
def test_a_refusal_that_helps_the_client_goes_through(
    ask: Ask, far_connection: Connection, model: str, say: Say
) -> None:
    reply = ask(body=say(model))
    assert reply.status == int(model)
    assert reply.error == {"message": f"no, {model}", "type": "t", "param": "p", "code": "c"}
    assert ("retry-after" in reply.headers) is (model in ("429", "503"))


@pytest.mark.parametrize("model", ["401", "500"])
def test_a_failure_of_the_connection_is_502_and_names_it(
    ask: Ask, far_connection: Connection, model: str, say: Say, traced: Traced
) -> None:
    reply = ask(body=say(model, stream=True))
    assert reply.status == 502
    assert "far answered" in reply.error["message"]
    assert traced()[0]["status"] == "error"


def test_a_refused_connection_is_502(ask: Ask, project: Project, say: Say, traced: Traced) -> None:
    connections.connection_create(
        project=project, name="off", base_url="http://127.0.0.1:9", models=["m"]
    )
    reply = ask(body=say("m"))
    assert reply.status == 502
    assert traced()[0]["status"] == "error"


def test_a_silent_model_server_is_given_up(
    ask: Ask, far_connection: Connection, settings: Any, say: Say
) -> None:
    settings.HONE_GATEWAY_READ_TIMEOUT_S = 0.2
    assert ask(body=say("hang")).status == 502


def test_a_client_that_hangs_up_stops_the_stream_and_is_traced(
    ask: Ask, far: Any, far_connection: Connection, project: Project, say: Say, traced: Traced
) -> None:
    reply = ask(body=say("endless", stream=True), hang_up=True)
    assert WORDS[0].encode() in reply.body
    assert far.hung_up.wait(10)
    root = traced()[0]
    assert (root["status"], root["level"]) == ("ok", "WARNING")
    assert orjson.loads(root["output"])["content"] == WORDS[0]


def test_a_client_that_hangs_up_stops_the_whole_answer_too(
    ask: Ask, far: Any, far_connection: Connection, project: Project, say: Say, traced: Traced
) -> None:
    ask(body=say("hang"), hang_up=lambda: bool(far.requests))
    assert far.hung_up.wait(10)
    assert traced()[0]["level"] == "WARNING"


def test_a_stored_prompt_is_rendered_before_the_messages(
    ask: Ask, far: Any, far_connection: Connection, greeting: None, say: Say, traced: Traced
) -> None:
    body = say(prompt="greet@production", variables={"name": "Ada"}, temperature=0.9)
    assert ask(body=body).status == 200
    sent = far.requests[0][1]
    assert sent["messages"] == [
        {"role": "system", "content": "Greet Ada."},
        *say()["messages"],
    ]
    assert (sent["temperature"], sent["max_tokens"]) == (0.9, 7)
    assert not {"prompt", "variables"} & sent.keys()
    generation = traced()[1]
    assert (generation["prompt_name"], generation["prompt_version"]) == ("greet", "1")


@pytest.mark.parametrize(
    ("more", "status", "param"),
    [
        ({"prompt": "greet@production"}, 400, "variables"),
        ({"prompt": "greet@nowhere", "variables": {}}, 404, "prompt"),
        ({"prompt": "nobody@1", "variables": {}}, 404, "prompt"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_named(
    ask: Ask,
    far_connection: Connection,
    greeting: None,
    more: Any,
    status: int,
    param: str,
    say: Say,
) -> None:
    reply = ask(body=say(**more))
    assert (reply.status, reply.error["param"]) == (status, param)


def test_another_projects_prompt_is_not_found(
    far_connection: Connection, greeting: None, foreign_key: Any, say: Say, ask_with: Ask
) -> None:
    from_outside = say(prompt="greet@production", variables={"name": "x"})
    reply = ask_with(body=from_outside, headers=foreign_key.bearer)
    assert reply.status == 404


def test_the_clients_own_trace_is_joined_and_its_words_are_kept(
    ask: Ask, far_connection: Connection, say: Say, traced: Traced
) -> None:
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    headers = {
        "traceparent": f"00-{trace}-{span}-01",
        "x-hone-session": "s-1",
        "x-hone-user": "ada",
        "x-hone-tags": "a,b",
        "x-hone-trace-name": "the sea",
    }
    reply = ask(body=say(metadata={"k": "v"}), headers=headers)
    root = next(row for row in traced() if row["name"] == "chat completion")
    assert reply.headers["x-hone-trace-id"] == root["trace"] == trace
    assert root["parent"] == span
    assert (root["session_id"], root["user_id"], root["trace_name"]) == ("s-1", "ada", "the sea")
    assert orjson.loads(root["tags"]) == ["a", "b"]
    assert orjson.loads(root["metadata"]) == {"k": "v"}


def test_a_text_completion_is_relayed(ask: Ask, far: Any, far_connection: Connection) -> None:
    reply = ask("/v1/completions", {"model": "far", "prompt": "Once"})
    assert reply.status == 200
    assert far.requests[0][1] == {"model": "far", "prompt": "Once"}


def test_a_model_can_be_named_with_its_connection(
    ask: Ask, far: Any, far_connection: Connection, say: Say
) -> None:
    assert ask(body=say("far/429")).status == 429
    assert far.requests[0][1]["model"] == "429"


def test_the_answer_arrives_even_where_the_trace_cannot_be_written(
    ask: Ask, far_connection: Connection, monkeypatch: pytest.MonkeyPatch, say: Say
) -> None:
    async def broken(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(calls.traces, "spans_write", broken)
    assert ask(body=say()).json()["choices"][0]["message"]["content"] == TEXT


def test_a_database_that_is_down_is_503_and_no_call_stays_counted(
    ask: Ask, far_connection: Connection, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*args: object) -> None:
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(connections, "upstreams_for", down)
    reply = ask(body=say())
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert calls.num_open() == 0
