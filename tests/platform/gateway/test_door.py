"""Who comes in at /v1, and what comes back for bad input."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from hone.accounts.models import Project
from hone.accounts.services import api_key_revoke
from hone.gateway.models import Connection
from hone.gateway.services import calls, engines

Ask = Callable[..., Any]
Say = Callable[..., dict[str, Any]]
Traced = Callable[[], list[dict[str, Any]]]
pytestmark = pytest.mark.django_db


def test_models_are_listed(ask: Ask, far_connection: Connection) -> None:
    reply = ask("/v1/models", method="GET")
    assert reply.status == 200
    assert [row["id"] for row in reply.json()["data"]] == far_connection.model_names
    assert reply.json()["data"][0]["object"] == "model"


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer sk-hone-wrong"}])
def test_a_wrong_key_is_refused_in_openais_shape(
    header: dict[str, str], db: None, say: Say, ask_with: Ask
) -> None:
    reply = ask_with(body=say(), headers=header)
    assert reply.status == 401
    assert reply.error["type"] == "authentication_error"
    assert reply.headers["www-authenticate"] == "Bearer"


def test_a_revoked_key_is_refused_at_once(
    ask: Ask, api_key: Any, project: Project, django_capture_on_commit_callbacks: Any
) -> None:
    assert ask("/v1/models", method="GET").status == 200
    with django_capture_on_commit_callbacks(execute=True):
        api_key_revoke(project=project, key_id=api_key.row.pk)
    assert ask("/v1/models", method="GET").status == 401


def test_charlies_key_sees_nothing_of_alices_models(
    far_connection: Connection, foreign_key: Any, say: Say, ask_with: Ask
) -> None:
    reply = ask_with("/v1/models", method="GET", headers=foreign_key.bearer)
    assert reply.json()["data"] == []
    assert ask_with(body=say(), headers=foreign_key.bearer).status == 404


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"[1, 2",
        b'{"model": "far", "messages": [{"role": "user", "content": "\xff\xfe"}]}',
        b'{"model": "\\u0000"}',
        b"\x00\x01",
        b"nul",
    ],
)
def test_what_is_no_json_is_refused(ask: Ask, body: bytes) -> None:
    reply = ask(body=body)
    assert reply.status == 400
    assert set(reply.error) == {"message", "type", "param", "code"}


def test_an_unknown_model_is_named_and_traced(ask: Ask, say: Say, traced: Traced) -> None:
    reply = ask(body=say("nobody"))
    assert reply.status == 404
    assert reply.error["code"] == "model_not_found"
    assert reply.error["param"] == "model"
    root, generation = traced()
    assert root["trace"] == reply.headers["x-hone-trace-id"]
    assert (root["status"], generation["model"]) == ("error", "nobody")


def test_an_engine_that_is_not_ready_yet_is_worth_another_try(
    ask: Ask, project: Project, say: Say
) -> None:
    engines.engine_announce(owner="elsewhere:1", model="small")
    reply = ask(body=say("small"))
    assert reply.status == 503
    assert reply.headers["retry-after"] == "3"
    assert "starting" in reply.error["message"]


def test_a_body_over_the_limit_is_refused(ask: Ask, settings: Any, say: Say) -> None:
    settings.HONE_GATEWAY_MAX_BODY_BYTES = 1000
    body = orjson.dumps(say(padding="x" * 2000))
    reply = ask(body=body)
    assert reply.status == 413
    assert "1000 bytes" in reply.error["message"]


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/v1/chat/completions", "GET", 405),
        ("/v1/models", "POST", 405),
        ("/v1/embeddings", "POST", 404),
        ("/v1/", "GET", 404),
    ],
)
def test_other_paths_and_methods_are_refused(
    ask: Ask, path: str, method: str, status: int, say: Say
) -> None:
    reply = ask(path, say(), method=method)
    assert reply.status == status
    assert reply.error["message"]


def test_too_many_open_calls_are_told_when_to_come_back(
    ask: Ask, far_connection: Connection, settings: Any, say: Say, traced: Traced
) -> None:
    settings.HONE_GATEWAY_MAX_CONCURRENT = 0
    reply = ask(body=say())
    assert reply.status == 503
    assert reply.headers["retry-after"] == "1"
    assert traced() == []


def test_no_call_stays_counted(ask: Ask, far_connection: Connection, say: Say) -> None:
    for body in (say(), say(stream=True), say("500"), say("nobody"), {"model": 1}):
        ask(body=body)
    ask(body=say("endless", stream=True), hang_up=True)
    assert calls.num_open() == 0
