"""The unmodified openai client, wrapped: what it gives is unchanged, what it does is recorded."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from openai import Stream
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

import hone.sdk as hone
from hone.sdk.openai import AsyncOpenAI, OpenAI, wrap

ASK: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
]
USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 4,
    "total_tokens": 14,
    "prompt_tokens_details": {"cached_tokens": 6, "audio_tokens": 0},
    "a_number_of_the_servers_own": 3,
}
CHAT = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m-1-2026",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Paris"},
        }
    ],
    "usage": USAGE,
}
RESPONSE = {
    "id": "r1",
    "object": "response",
    "created_at": 1,
    "model": "m-1-2026",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "o1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Paris", "annotations": []}],
        }
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 10,
        "output_tokens": 4,
        "total_tokens": 14,
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 1},
    },
}


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    start = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m-1-2026"}
    return {**start, "choices": [choice], **more}


CHUNKS = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Pa"}),
    chunk({"content": "ris"}),
    chunk({}, "stop"),
    {**chunk({}), "choices": [], "usage": USAGE},
]


def call_chunk(function: dict[str, Any], **more: Any) -> dict[str, Any]:
    return chunk({"tool_calls": [{"index": 0, "function": function, **more}]})


CALLS = [
    call_chunk({"name": "look_up", "arguments": ""}, id="t1", type="function"),
    call_chunk({"arguments": '{"q":'}),
    call_chunk({"arguments": '"x"}'}),
    chunk({}, "tool_calls"),
]


def events(items: list[dict[str, Any]], *, named: bool = False) -> bytes:
    lines = [
        (f"event: {item['type']}\n" if named else "") + f"data: {json.dumps(item)}\n\n"
        for item in items
    ]
    return "".join([*lines, "" if named else "data: [DONE]\n\n"]).encode()


PARSED = json.dumps(CHAT).replace('"Paris"', json.dumps('{"name": "Paris"}')).encode()


class Model:
    """What the model server is asked and answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.chunks = CHUNKS

    def __call__(self, path: str, body: Any) -> tuple[dict[str, str], bytes] | None:
        if not path.startswith("/model/"):
            return None
        path = path.removeprefix("/model")
        self.asked.append((path, body))
        if body.get("stream"):
            return {"Content-Type": "text/event-stream"}, self._stream(path)
        answer = {
            "/chat/completions": CHAT,
            "/responses": RESPONSE,
            "/completions": {
                "id": "t1", "object": "text_completion", "created": 1, "model": "m-1",
                "choices": [{"index": 0, "text": " Paris", "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
            },
            "/embeddings": {
                "object": "list", "model": "e-1",
                "data": [{"object": "embedding", "index": 0, "embedding": [0.5] * 8}] * 2,
                "usage": {"prompt_tokens": 5, "total_tokens": 5},
            },
        }[path]  # fmt: skip
        return {"Content-Type": "application/json"}, json.dumps(answer).encode()

    def _stream(self, path: str) -> bytes:
        if path == "/responses":
            delta = {
                "type": "response.output_text.delta", "item_id": "o1", "output_index": 0,
                "content_index": 0, "delta": "Paris", "sequence_number": 1, "logprobs": [],
            }  # fmt: skip
            done = {"type": "response.completed", "response": RESPONSE, "sequence_number": 2}
            return events([delta, done], named=True)
        return events(self.chunks)


@pytest.fixture
def model(sent: Any) -> Model:
    sent.other = Model()
    return sent.other  # type: ignore[no-any-return]


@pytest.fixture
def client(sent: Any, model: Model) -> Any:
    with OpenAI(base_url=sent.url + "/model", api_key="x", max_retries=0) as client:
        yield client


def test_a_chat_is_recorded_whole(client: OpenAI, sent: Any, model: Model) -> None:
    answer = client.chat.completions.create(
        model="m-1", messages=ASK, temperature=0.5, tools=TOOLS, user="u-7", metadata={"k": "v"}
    )
    assert isinstance(answer, ChatCompletion)
    assert answer.choices[0].message.content == "Paris"
    ((_, asked),) = model.asked
    assert set(asked) == {"model", "messages", "temperature", "tools", "user", "metadata"}
    span = sent.named("chat m-1")
    assert span.said("type") == "generation"
    assert span.said("model.name") == "m-1-2026"
    assert span.said("model.parameters") == {"temperature": 0.5}
    assert span.said("input") == {"messages": ASK, "tools": TOOLS}
    assert span.said("output")["content"] == "Paris"
    assert span.said("usage_details") == {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 6},
    }
    assert span.said("metadata") == {"k": "v"}
    assert span.attributes["user.id"] == "u-7"


def test_a_stream_is_recorded_as_it_is_read(client: OpenAI, sent: Any) -> None:
    stream = client.chat.completions.create(
        model="m-1", messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    assert isinstance(stream, Stream)
    text = "".join(c.choices[0].delta.content or "" for c in stream if c.choices)
    assert text == "Paris"
    span = sent.named("chat m-1")
    assert span.said("output") == {
        "role": "assistant",
        "content": "Paris",
        "finish_reason": "stop",
    }
    assert span.said("usage_details")["total_tokens"] == 14
    assert span.said("model.parameters") == {"stream": True}
    assert span.said("completion_start_time") > "2026"


def test_tool_calls_of_a_stream_are_put_together(client: OpenAI, sent: Any, model: Model) -> None:
    model.chunks = CALLS
    list(client.chat.completions.create(model="m-1", messages=ASK, stream=True))
    (call,) = sent.named("chat m-1").said("output")["tool_calls"]
    assert call["function"] == {"name": "look_up", "arguments": '{"q":"x"}'}
    assert call["id"] == "t1"


def test_a_stream_that_is_left_ends_with_what_was_read(client: OpenAI, sent: Any) -> None:
    with client.chat.completions.create(model="m-1", messages=ASK, stream=True) as stream:
        next(stream)
        assert next(stream).choices[0].delta.content == "Pa"
    span = sent.named("chat m-1")
    assert span.said("output")["content"] == "Pa"
    assert span.said("level") is None


def test_the_stream_helper_of_the_client_works(client: OpenAI, sent: Any) -> None:
    with client.chat.completions.stream(model="m-1", messages=ASK) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "Paris"
    assert sent.named("chat m-1").said("output")["content"] == "Paris"


def test_a_raw_response_is_recorded(client: OpenAI, sent: Any) -> None:
    raw = client.chat.completions.with_raw_response.create(model="m-raw", messages=ASK)
    assert raw.parse().choices[0].message.content == "Paris"
    assert raw.headers["content-type"] == "application/json"
    assert sent.named("chat m-raw").said("output")["content"] == "Paris"


def test_a_raw_stream_is_recorded_and_a_streamed_body_is_the_callers(
    client: OpenAI, sent: Any
) -> None:
    raw = client.chat.completions.with_raw_response.create(model="m-raw", messages=ASK, stream=True)
    assert len(list(raw.parse())) == len(CHUNKS)
    assert sent.named("chat m-raw").said("output")["content"] == "Paris"
    with client.chat.completions.with_streaming_response.create(
        model="m-body", messages=ASK
    ) as body:
        assert json.loads(b"".join(body.iter_bytes()))["id"] == "c1"
    assert sent.named("chat m-body").said("input") == ASK
    assert sent.named("chat m-body").said("level") is None


def test_a_parsed_answer_is_recorded_once(client: OpenAI, sent: Any) -> None:
    class City(BaseModel):
        name: str

    sent.other = lambda path, body: (
        None if "model" not in path else ({"Content-Type": "application/json"}, PARSED)
    )
    answer = client.chat.completions.parse(model="m-1", messages=ASK, response_format=City)
    assert answer.choices[0].message.parsed == City(name="Paris")
    assert sent.named("chat m-1").said("output")["content"] == '{"name": "Paris"}'


def test_an_error_is_recorded_and_raised(client: OpenAI, sent: Any) -> None:
    sent.other = None
    sent.answers.append((429, {"Content-Type": "application/json"}, b'{"error":{"message":"no"}}'))
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="m-1", messages=ASK)
    span = sent.named("chat m-1")
    assert span.said("level") == "ERROR"
    assert span.said("status_message").startswith("RateLimitError: Error code: 429")
    assert span.attributes["http.response.status_code"] == 429


def test_other_endpoints_are_recorded(client: OpenAI, sent: Any) -> None:
    client.completions.create(model="m-1", prompt="The capital is", max_tokens=3)
    client.embeddings.create(model="e-1", input=["a", "b"])
    client.responses.create(model="m-1", input="Capital?", instructions="Be short")
    list(client.responses.create(model="m-stream", input="Capital?", stream=True))
    text = sent.named("completion m-1")
    assert (text.said("input"), text.said("output")) == ("The capital is", " Paris")
    assert text.said("usage_details")["completion_tokens"] == 1
    vectors = sent.named("embeddings e-1")
    assert vectors.said("type") == "embedding"
    assert vectors.said("output") == {"vectors": 2, "dimensions": 8}
    assert vectors.said("usage_details") == {"prompt_tokens": 5, "total_tokens": 5}
    response = sent.named("response m-1")
    assert response.said("input") == {"instructions": "Be short", "input": "Capital?"}
    assert response.said("output")[0]["content"][0]["text"] == "Paris"
    assert response.said("usage_details")["output_tokens_details"] == {"reasoning_tokens": 1}
    stream = sent.named("response m-stream")
    assert stream.said("output")[0]["content"][0]["text"] == "Paris"
    assert stream.said("completion_start_time")
    assert stream.said("model.name") == "m-1-2026"


async def test_the_async_client_does_the_same(sent: Any, model: Model) -> None:
    async with (
        AsyncOpenAI(base_url=sent.url + "/model", api_key="x", max_retries=0) as client,
        hone.span("root"),
    ):
        answer = await client.chat.completions.create(model="m-1", messages=ASK)
        stream = await client.chat.completions.create(model="m-stream", messages=ASK, stream=True)
        async for _ in stream:
            pass
        left = await client.chat.completions.create(model="m-left", messages=ASK, stream=True)
        async for _ in left:
            break
        await left.close()
    assert answer.choices[0].message.content == "Paris"
    root, whole, streamed, cut = await asyncio.to_thread(
        lambda: [sent.named(n) for n in ("root", "chat m-1", "chat m-stream", "chat m-left")]
    )
    assert {span.parent_id for span in (whole, streamed, cut)} == {root.id}
    assert whole.said("output")["content"] == streamed.said("output")["content"] == "Paris"
    assert cut.said("output") == {"role": "assistant", "content": None}


def test_one_client_is_wrapped_once_with_its_copies_and_no_other(sent: Any, model: Model) -> None:
    plain = openai.OpenAI(base_url=sent.url + "/model", api_key="x")
    with wrap(wrap(openai.OpenAI(base_url=sent.url + "/model", api_key="x"))) as wrapped:
        plain.chat.completions.create(model="m-plain", messages=ASK)
        wrapped.chat.completions.create(model="m-1", messages=ASK)
        wrapped.with_options(timeout=3).chat.completions.create(model="m-2", messages=ASK)
    plain.close()
    assert sorted(span.name for span in sent.spans) == ["chat m-1", "chat m-2"]


def test_calls_through_hones_gateway_are_counted_there(
    sent: Any, model: Callable[..., Any]
) -> None:
    sent.other = lambda path, body: (
        ({"Content-Type": "application/json"}, json.dumps(CHAT).encode())
        if path == "/v1/chat/completions"
        else None
    )
    with OpenAI(base_url=sent.url + "/v1", api_key="sk") as client:
        client.chat.completions.create(model="m-1", messages=ASK)
    headers = sent.headers[0]
    span = sent.named("chat m-1")
    assert headers["traceparent"].split("-")[1:3] == [span.trace_id, span.id]
    assert span.said("type") == "span"
    assert span.said("usage_details") is span.said("model.name") is None
    assert span.said("output")["content"] == "Paris"


def test_without_init_the_client_is_the_plain_one(collector: Any) -> None:
    collector.other = Model()
    with OpenAI(base_url=collector.url + "/model", api_key="x") as client:
        answer = client.chat.completions.create(model="m-1", messages=ASK)
        chunks = list(client.chat.completions.create(model="m-1", messages=ASK, stream=True))
    assert answer.choices[0].message.content == "Paris"
    assert len(chunks) == len(CHUNKS)
