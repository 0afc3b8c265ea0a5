"""Whatever a client sends, it gets a clear 4xx in OpenAI's shape and the server goes on."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"


def error_of(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "param", "code"}
    error: dict[str, Any] = body["error"]
    return error


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b'{"model": "\xff\xfe"}',
        b'{"model": "\\ud800"}',
        b'{"temperature": NaN}',
        b'{"temperature": 1e999}',
        b"\x00" * 10,
        b'{"a":' * 5000,
        b"{'model': 1}",
    ],
)
@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_what_is_not_a_json_object_is_refused(
    client: httpx.Client, path: str, content: bytes
) -> None:
    error = error_of(client.post(path, content=content), 400)
    assert error["code"] == "invalid_json"
    assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": 3}, "temperature"),
        ({"top_p": 2}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "max_tokens"),
        ({"n": 0}, "n"),
        ({"n": 65}, "n"),
        ({"n": "2"}, "n"),
        ({"seed": 1.5}, "seed"),
        ({"stop": [""]}, "stop"),
        ({"stop": ["x"] * 17}, "stop"),
        ({"stop": {"a": 1}}, "stop"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"stream": True, "stream_options": []}, "stream_options"),
        ({"stream": True, "stream_options": {"other": 1}}, "stream_options.other"),
        (
            {"stream": True, "stream_options": {"include_obfuscation": True}},
            "stream_options.include_obfuscation",
        ),
        ({"stop_token_ids": [10**6]}, "stop_token_ids"),
        ({"logit_bias": {"50256": -101}}, "logit_bias[50256]"),
        ({"logit_bias": {"minus": 1}}, "logit_bias"),
        ({"logit_bias": {"99999999": 1}}, "logit_bias"),
        ({"allowed_tokens": []}, "allowed_tokens"),
        ({"allowed_tokens": [99999999]}, "allowed_tokens"),
        ({"typical_p": 0}, "typical_p"),
        ({"top_a": 0.5}, "top_a"),
        ({"guided_json": {}}, "guided_json"),
        ({"model": 7}, "model"),
        ({"model": ""}, "model"),
    ],
)
@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_a_wrong_or_unknown_parameter_is_named(
    client: httpx.Client,
    path: str,
    chat_body: dict[str, Any],
    text_body: dict[str, Any],
    fields: dict[str, Any],
    param: str,
) -> None:
    body = {**(chat_body if path == CHAT else text_body), **fields}
    response = client.post(path, json=body)
    error = error_of(response, 400)
    assert error["param"] == param
    assert param.rpartition(".")[2] in error["message"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages"),
        ({"messages": [{"content": "hi"}]}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages"),
        ({"messages": [{"role": "user", "content": None}]}, "messages"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"store": True}, "store"),
        ({"logprobs": 3}, "logprobs"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"prompt": "x"}, "prompt"),
    ],
)
def test_a_wrong_chat_is_refused_by_name(
    client: httpx.Client, chat_body: dict[str, Any], fields: dict[str, Any], param: str
) -> None:
    error = error_of(client.post(CHAT, json={**chat_body, **fields}), 400)
    assert error["param"] == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [[]]}, "prompt"),
        ({"prompt": ["a", 1]}, "prompt"),
        ({"prompt": [1, "a"]}, "prompt"),
        ({"prompt": [True]}, "prompt"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": [10**6]}, "prompt"),
        ({"prompt": {"text": "a"}}, "prompt"),
        ({"prompt": ["a"] * 65}, "prompt"),
        ({"prompt": ["a"] * 8, "n": 9}, "prompt"),
        ({"echo": True}, "echo"),
        ({"suffix": "end"}, "suffix"),
        ({"best_of": 2}, "best_of"),
        ({"logprobs": True}, "logprobs"),
        ({"logprobs": 21}, "logprobs"),
        ({"messages": []}, "messages"),
    ],
)
def test_a_wrong_completion_is_refused_by_name(
    client: httpx.Client, text_body: dict[str, Any], fields: dict[str, Any], param: str
) -> None:
    error = error_of(client.post(TEXT, json={**text_body, **fields}), 400)
    assert error["param"] == param


def test_values_that_ask_for_nothing_are_taken(
    client: httpx.Client, chat_body: dict[str, Any], text_body: dict[str, Any]
) -> None:
    nothing = {"tools": [], "tool_choice": "auto", "response_format": {"type": "text"}}
    noted = {"user": "alice", "metadata": {"a": "b"}, "store": False, "service_tier": "auto"}
    nulls = dict.fromkeys(["stop", "seed", "n", "logprobs", "stream", "stream_options"])
    body = {**chat_body, **nothing, **noted, **nulls, "logit_bias": {}, "functions": None}
    assert client.post(CHAT, json=body).status_code == 200
    body = {**text_body, "echo": False, "suffix": None, "best_of": 1, "user": "alice"}
    assert client.post(TEXT, json=body).status_code == 200


@pytest.mark.parametrize("name", ["gpt-4", "smollm2-135m ", "../smollm2-135m", "x" * 5000])
def test_an_unknown_model_is_404(
    client: httpx.Client, chat_body: dict[str, Any], name: str
) -> None:
    error = error_of(client.post(CHAT, json={**chat_body, "model": name}), 404)
    assert error["code"] == "model_not_found"
    assert len(error["message"]) < 300
    assert error_of(client.get("/v1/models/gpt-4"), 404)["code"] == "model_not_found"


def test_a_prompt_beyond_the_context_is_refused_with_the_numbers(
    client: httpx.Client, chat_body: dict[str, Any], text_body: dict[str, Any]
) -> None:
    long = "a " * 5000
    error = error_of(client.post(TEXT, json={**text_body, "prompt": long}), 400)
    assert error["code"] == "context_length_exceeded"
    assert error["param"] == "prompt"
    assert "512 tokens" in error["message"]
    messages = [{"role": "user", "content": long}]
    error = error_of(client.post(CHAT, json={**chat_body, "messages": messages}), 400)
    assert error["code"] == "context_length_exceeded"
    assert error["param"] == "messages"


def test_huge_max_tokens_are_served_up_to_the_context(
    client: httpx.Client, text_body: dict[str, Any]
) -> None:
    body = {**text_body, "prompt": [1] * 506, "max_tokens": 10**12, "ignore_eos": True}
    answer = client.post(TEXT, json=body).json()
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 6


def test_a_body_of_100_mb_is_413_and_not_kept(client: httpx.Client) -> None:
    error = error_of(client.post(CHAT, content=bytes(100 * 2**20)), 413)
    assert error["code"] == "request_too_large"


def test_a_body_of_unsaid_length_is_bounded_too(client: httpx.Client) -> None:
    parts = (bytes(2**16) for _ in range(20 * 16))
    error = error_of(client.post(CHAT, content=parts), 413)
    assert error["code"] == "request_too_large"


def test_an_unknown_address_and_a_wrong_method_are_json_too(client: httpx.Client) -> None:
    assert error_of(client.get("/v1/nothing"), 404)["code"] == "unknown_url"
    response = client.get(CHAT)
    assert error_of(response, 405)["code"] == "method_not_allowed"
    assert response.headers["allow"] == "POST"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = ["messages", "prompt", "n", "stop", "stream", "logprobs", "temperature", "seed", "top_k"]


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    fields=st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), JSON, max_size=4),
    path=st.sampled_from([CHAT, TEXT]),
)
def test_no_body_makes_the_server_fail(
    client: httpx.Client, fields: dict[str, Any], path: str
) -> None:
    body = {"model": "smollm2-135m", "max_tokens": 1, **fields}
    response = client.post(path, content=json.dumps(body))
    assert response.status_code in (200, 400)
    if response.status_code == 400:
        error_of(response, 400)
