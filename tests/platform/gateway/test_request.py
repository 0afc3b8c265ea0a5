"""What the gateway reads of a request, and the errors that name what is wrong."""

from typing import Any

import pytest

from hone.gateway.core.errors import GatewayError
from hone.gateway.core.request import annotations_parse, request_parse

MESSAGES = [{"role": "user", "content": "hi"}]


def test_unknown_fields_go_through_unchanged() -> None:
    body = {"model": "m", "messages": MESSAGES, "top_k": 3, "anything": {"else": 1}}
    assert request_parse("chat", body).body == body


def test_the_prompt_and_its_variables_are_not_sent_on() -> None:
    body = {"model": "m", "prompt": "greet@production", "variables": {"name": "Ada", "n": 3}}
    request = request_parse("chat", body)
    assert request.prompt == "greet@production"
    assert request.variables == {"name": "Ada", "n": "3"}
    assert request.body == {"model": "m"}


def test_a_text_requests_prompt_is_the_text() -> None:
    request = request_parse("text", {"model": "m", "prompt": "Once"})
    assert request.prompt is None
    assert request.input == "Once"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ([], None),
        ("text", None),
        ({"messages": MESSAGES}, "model"),
        ({"model": 3, "messages": MESSAGES}, "model"),
        ({"model": "m"}, "messages"),
        ({"model": "m", "messages": []}, "messages"),
        ({"model": "m", "messages": "hi"}, "messages"),
        ({"model": "m", "messages": ["hi"]}, "messages.0"),
        ({"model": "m", "messages": [{"content": "hi"}]}, "messages.0"),
        ({"model": "m", "messages": MESSAGES, "stream": "yes"}, "stream"),
        ({"model": "m", "messages": MESSAGES, "prompt": 3}, "prompt"),
        ({"model": "m", "messages": MESSAGES, "variables": {"a": "b"}}, "variables"),
        ({"model": "m", "prompt": "p", "variables": []}, "variables"),
        ({"model": "m", "prompt": "p", "variables": {"a": []}}, "variables"),
    ],
)
def test_what_is_wrong_is_named(body: object, param: str | None) -> None:
    with pytest.raises(GatewayError) as caught:
        request_parse("chat", body)
    assert caught.value.status == 400
    assert caught.value.param == param
    assert caught.value.body()["error"]["type"] == "invalid_request_error"


def test_headers_and_openais_own_fields_describe_the_trace() -> None:
    headers = {
        "x-hone-session": " s-1 ",
        "x-hone-tags": "a, b,,a",
        "x-hone-trace-name": "greeting",
        "x-hone-environment": "staging",
    }
    body: dict[str, Any] = {"user": "ada", "metadata": {"k": "v"}}
    notes = annotations_parse(headers, body)
    assert (notes.session_id, notes.user_id, notes.trace_name) == ("s-1", "ada", "greeting")
    assert notes.tags == ("a", "b")
    assert notes.environment == "staging"
    assert notes.metadata == {"k": "v"}


def test_the_header_wins_over_the_field() -> None:
    assert annotations_parse({"x-hone-user": "bob"}, {"user": "ada"}).user_id == "bob"


def test_odd_values_describe_nothing() -> None:
    notes = annotations_parse({"x-hone-user": "  "}, {"user": 3, "metadata": "text"})
    assert notes.user_id is None
    assert notes.metadata == {}
