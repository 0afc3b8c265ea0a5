"""What unmodified libraries sent to a recorder (tests/fixtures/dialects), read by the mapping.

Each made the same calls of a server that counts 100 tokens in, 40 of them cached, and 20 out, 8 of
them reasoning; an embedding counts 5. So the sums show whether anything is counted twice.
"""

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from hone.traces.core import wire
from hone.traces.core.dialects import span_of
from hone.traces.core.otlp import RawSpan, Scope
from hone.traces.core.prices import Book
from hone.traces.core.span import Event, Span
from hone.traces.core.summary import summary_of

FIXTURES = Path(__file__).parents[2] / "fixtures" / "dialects"
START_NS = 1_796_000_000 * 10**9


def recorded(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FIXTURES / f"{name}.json").read_text())["spans"]
    return found


def spans(name: str) -> list[Span]:
    return [
        span_of(
            RawSpan(
                "ab" * 16, s["span_id"], s["parent"], s["name"], s["kind"], START_NS,
                START_NS + 10**9, 0, "", s["attributes"],
                [Event(e["name"], START_NS, e["attributes"]) for e in s["events"]], [], {},
                Scope(*s["scope"], {}),
            )
        )
        for s in recorded(name)
    ]  # fmt: skip


# Library: tokens of all its calls, cached ones of them, cost that it gives, types of its spans.
WANTED: dict[str, tuple[int, int, str | None, dict[str, int]]] = {
    "litellm": (125, 0, "0.0004001", {"generation": 1, "embedding": 1, "span": 2}),
    "pydantic-ai-2": (480, 160, "0.0016", {"generation": 4, "tool": 2, "agent": 2}),
    "pydantic-ai-1": (720, 0, "0.0024", {"generation": 6, "tool": 3, "agent": 3, "span": 3}),
    "logfire": (365, 120, "0.0012001", {"generation": 4, "embedding": 1, "event": 1, "span": 1}),
    "vercel-ai": (485, 120, None, {"generation": 4, "embedding": 1, "tool": 1, "span": 4}),
    "mlflow": (120, 0, None, {"generation": 1, "tool": 1}),
}


@pytest.mark.parametrize("name", WANTED)
def test_every_token_and_cent_is_counted_once(name: str) -> None:
    tokens, cached, cost, types = WANTED[name]
    found = spans(name)
    summary = summary_of(found)
    assert summary.total_tokens == tokens
    assert summary.input_tokens + summary.output_tokens == tokens
    assert sum((span.usage or {}).get("input_cached_tokens", 0) for span in found) == cached
    assert str(summary.cost and round(summary.cost, 12).normalize()) == str(cost)
    assert Counter(span.type for span in found) == types


@pytest.mark.parametrize("name", WANTED)
def test_nothing_that_was_sent_is_lost(name: str) -> None:
    """Each attribute is kept under its name, or its value stands in a field."""
    for sent, span in zip(recorded(name), spans(name), strict=True):
        fields = json.dumps(
            [span.input, span.output, dict(span.metadata), span.name, dict(span.model_parameters)]
        )
        for key, value in sent["attributes"].items():
            if key in span.attributes:
                assert span.attributes[key] == value
                continue
            texts = [value] if isinstance(value, str) else [json.dumps(value)]
            assert all(json.dumps(text)[1:-1] in fields or text in fields for text in texts), key


def by_name(name: str) -> dict[str, Span]:
    return {span.name: span for span in spans(name)}


def test_litellm() -> None:
    span = by_name("litellm")["litellm_request"]
    [call] = [s for s in spans("litellm") if s.type == "generation"]
    assert (call.model, call.user_id) == ("gpt-4o-2024-08-06", "u-1")
    assert call.model_parameters == {"max_tokens": 50, "temperature": 0.2}
    assert json.loads(call.input or "")[1]["parts"][0]["content"] == "Capital of France?"
    assert json.loads(call.output or "")[0]["parts"][0]["content"] == "Paris."
    assert call.cost == {
        "input": Decimal("0.0002"),
        "output": Decimal("0.00020000000000000004"),
        "total": Decimal("0.0004000000000000001"),
    }
    assert span.scope == "litellm"


@pytest.mark.parametrize("name", ["pydantic-ai-1", "pydantic-ai-2"])
def test_pydantic_ai(name: str) -> None:
    found = spans(name)
    calls = [span for span in found if span.type == "generation"]
    for call in calls:
        given, answer = json.loads(call.input or ""), json.loads(call.output or "")
        assert [message["role"] for message in given[:2]] == ["system", "user"]
        assert answer
        assert call.usage is not None
        assert call.usage["output_reasoning_tokens"] == 8
    agents = [span for span in found if span.type == "agent"]
    assert {span.output for span in agents} == {"Paris."}
    assert all("Weather in Paris?" in (span.input or "") for span in agents)
    assert {span.usage for span in agents} == {None}
    tools = [span for span in found if span.type == "tool"]
    assert {(span.name, span.output) for span in tools} == {("weather", "sunny in Paris")}
    assert {json.loads(span.input or "")["city"] for span in tools} == {"Paris"}


def test_logfire() -> None:
    found = by_name("logfire")
    call = found["Chat Completion with 'gpt-4o'"]
    assert (call.type, call.tags) == ("generation", ("LLM",))
    assert found["streaming response from 'gpt-4o' took 0.05s"].usage is not None
    assert (found["an event 3"].type, found["an event 3"].level) == ("event", "DEFAULT")
    assert found["root of me"].attributes["who"] == "me"


@pytest.mark.parametrize(
    ("number", "level"),
    [(1, "DEBUG"), (9, "DEFAULT"), (13, "WARNING"), (17, "ERROR"), ("x", "DEFAULT")],
)
def test_severities_of_logfire(number: Any, level: str) -> None:
    raw = recorded("logfire")[0]
    attributes = {**raw["attributes"], "logfire.level_num": number}
    span = span_of(
        RawSpan(
            "ab" * 16, "cd" * 8, None, "n", 0, START_NS, START_NS, 0, "", attributes, [], [], {},
            Scope("logfire", "5", {}),
        )
    )  # fmt: skip
    assert span.level == level


def test_vercel_ai() -> None:
    found = spans("vercel-ai")
    calls = [span for span in found if span.type == "generation"]
    for call in calls:
        assert call.model == "gpt-4o-2024-08-06"
        assert (call.prompt_name, call.prompt_version) == ("greet", 3)
        assert (call.session_id, call.user_id, call.tags) == ("s-1", "u-1", ("a", "b"))
        assert call.metadata["team"] == "red"
    assert calls[0].output is not None
    assert json.loads(calls[0].output)[0]["toolName"] == "weather"
    [streamed] = [span for span in calls if span.name.endswith("ai.streamText.doStream")]
    assert streamed.first_token_ns is not None
    [tool] = [span for span in found if span.type == "tool"]
    assert (tool.name, tool.input, tool.output) == (
        "weather",
        '{"city":"Paris"}',
        '"sunny in Paris"',
    )
    [embedding] = [span for span in found if span.type == "embedding"]
    assert (embedding.model, embedding.usage) == (
        "text-embedding-3-small",
        {"input": 5, "total": 5},
    )


def test_mlflow() -> None:
    call = by_name("mlflow")["llm"]
    assert json.loads(call.input or "")["messages"][0]["content"] == "x"
    assert call.usage == {"input": 100, "output": 20, "total": 120}
    more = {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.llm.model": '"gpt-4o"',
        "mlflow.llm.cost": '{"input_cost": 0.1, "output_cost": 0.2, "total_cost": 0.3}',
        "mlflow.chat.tokenUsage": '{"input_tokens": 10, "output_tokens": 2, "total_tokens": 12,'
        ' "cache_read_input_tokens": 4}',
    }
    span = span_of(
        RawSpan(
            "ab" * 16, "cd" * 8, None, "n", 0, START_NS, START_NS, 0, "", more, [], [], {},
            Scope("mlflow.tracing.provider", "", {}),
        )
    )  # fmt: skip
    assert (span.model, span.cost and span.cost["total"]) == ("gpt-4o", Decimal("0.3"))
    assert span.usage == {"input": 6, "output": 2, "total": 12, "input_cached_tokens": 4}


def put(target: AnyValue, value: Any) -> None:
    match value:
        case bool():
            target.bool_value = value
        case int():
            target.int_value = value
        case float():
            target.double_value = value
        case str():
            target.string_value = value
        case list():
            for item in value:
                put(target.array_value.values.add(), item)


@pytest.mark.parametrize("name", WANTED)
def test_the_extension_counts_the_same(name: str) -> None:
    request = ExportTraceServiceRequest()
    for sent in recorded(name):
        scope = request.resource_spans.add().scope_spans.add()
        scope.scope.name, scope.scope.version = sent["scope"]
        span = scope.spans.add(trace_id=b"t" * 16, span_id=bytes.fromhex(sent["span_id"]))
        span.start_time_unix_nano, span.name = START_NS, sent["name"]
        for key, value in sent["attributes"].items():
            put(span.attributes.add(key=key).value, value)
    found = wire.parts_decode(request.SerializeToString(), 1, Book(), START_NS, (0, 2**62))
    assert found is not None
    parts, rest = found
    left = len(rest) and [s for r in ExportTraceServiceRequest.FromString(rest).resource_spans
                          for c in r.scope_spans for s in c.spans]  # fmt: skip
    native = sum(summary.total_tokens for _, _, summary in parts)
    by_id = {span.span_id: span for span in spans(name)}
    other = sum((by_id[s.span_id.hex()].usage or {}).get("total", 0) for s in left or ())
    assert native + other == WANTED[name][0]
