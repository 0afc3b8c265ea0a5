"""One mapping for every dialect: exact names in, our span out, nothing dropped."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hone.traces.core.dialects import span_of
from hone.traces.core.dialects.table import table
from hone.traces.core.otlp import RawSpan, Scope
from hone.traces.core.span import Event, Span

START_NS = 1_800_000_000 * 10**9
PLAIN = Scope("", "", {})


def mapped(
    attributes: dict[str, Any],
    *,
    resource: dict[str, Any] | None = None,
    scope: Scope = PLAIN,
    events: list[Event] | None = None,
    status_code: int = 0,
) -> Span:
    return span_of(
        RawSpan(
            "1" * 32, "2" * 16, None, "raw name", 3, START_NS, START_NS + 10**9, status_code, "",
            attributes, events or [], [], resource or {}, scope,
        )
    )  # fmt: skip


def test_genai_conventions_of_today() -> None:
    messages = '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]'
    span = mapped(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.response.model": "gpt-4o-2024",
            "gen_ai.request.temperature": 0.2,
            "gen_ai.input.messages": messages,
            "gen_ai.system_instructions": '[{"type":"text","content":"be kind"}]',
            "gen_ai.output.messages": "[]",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.cache_read.input_tokens": 40,
            "gen_ai.usage.output_tokens": 50,
            "gen_ai.usage.reasoning.output_tokens": 20,
            "gen_ai.conversation.id": "c1",
            "gen_ai.prompt.name": "greet",
            "gen_ai.prompt.version": "3",
            "gen_ai.response.time_to_first_chunk": 0.25,
        }
    )
    assert (span.type, span.model) == ("generation", "gpt-4o-2024")
    assert span.model_parameters == {"temperature": 0.2}
    assert json.loads(span.input or "")[0] == {
        "role": "system",
        "parts": [{"type": "text", "content": "be kind"}],
    }
    assert json.loads(span.input or "")[1] == json.loads(messages)[0]
    assert span.usage == {
        "input": 60,
        "output": 30,
        "input_cached_tokens": 40,
        "output_reasoning_tokens": 20,
        "total": 150,
    }
    assert span.session_id == "c1"
    assert (span.prompt_name, span.prompt_version) == ("greet", 3)
    assert span.first_token_ns == START_NS + 250_000_000
    assert span.attributes["gen_ai.provider.name"] == "openai"
    assert "gen_ai.input.messages" not in span.attributes


def test_genai_of_yesterday_put_content_into_events() -> None:
    span = mapped(
        {"gen_ai.system": "openai", "gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 3},
        events=[
            Event("gen_ai.user.message", START_NS, {"content": "hi", "gen_ai.system": "openai"}),
            Event("gen_ai.choice", START_NS, {"index": 0, "message": '{"content": "yo"}'}),
        ],
    )
    assert span.type == "generation"
    assert json.loads(span.input or "") == [{"role": "user", "content": "hi"}]
    assert json.loads(span.output or "") == [{"index": 0, "message": {"content": "yo"}}]
    assert span.usage == {"input": 3, "total": 3}


def test_openinference_conversations_are_rebuilt() -> None:
    prefix = "llm.input_messages"
    span = mapped(
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "gpt-4o",
            f"{prefix}.0.message.role": "system",
            f"{prefix}.0.message.content": "rules",
            f"{prefix}.1.message.role": "user",
            f"{prefix}.1.message.contents.0.message_content.type": "text",
            f"{prefix}.1.message.contents.0.message_content.text": "look",
            f"{prefix}.10.message.role": "assistant",
            f"{prefix}.10.message.tool_calls.0.tool_call.function.name": "f",
            f"{prefix}.10.message.tool_calls.0.tool_call.function.arguments": "{}",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "answer",
            "input.value": "rules",
            "output.value": "something else",
            "llm.invocation_parameters": '{"temperature": 1}',
            "llm.token_count.prompt": 5,
            "llm.token_count.completion": 7,
            "llm.token_count.total": 12,
            "llm.cost.total": 0.001,
            "metadata": '{"tenant": 4}',
            "tag.tags": ["b", "a", "b"],
            "session.id": "s",
            "user.id": "u",
        }
    )
    assert span.type == "generation"
    assert json.loads(span.input or "") == [
        {"role": "system", "content": "rules"},
        {"role": "user", "contents": [{"type": "text", "text": "look"}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
    ]
    assert json.loads(span.output or "") == [{"role": "assistant", "content": "answer"}]
    assert span.usage == {"input": 5, "output": 7, "total": 12}
    assert span.cost == {"total": Decimal("0.001")}
    assert span.metadata == {"tenant": 4}
    assert span.tags == ("a", "b")
    assert (span.session_id, span.user_id) == ("s", "u")
    assert "input.value" not in span.attributes, "it repeats a message"
    assert span.attributes["output.value"] == "something else"


def test_openinference_documents_are_the_output_of_a_retriever() -> None:
    span = mapped(
        {
            "openinference.span.kind": "RETRIEVER",
            "input.value": "q",
            "retrieval.documents.0.document.content": "text",
            "retrieval.documents.0.document.score": 0.5,
        }
    )
    assert (span.type, span.input) == ("retriever", "q")
    assert json.loads(span.output or "") == [{"content": "text", "score": 0.5}]


def test_openllmetry() -> None:
    span = mapped(
        {
            "traceloop.span.kind": "workflow",
            "traceloop.workflow.name": "flow",
            "traceloop.entity.input": '{"a": 1}',
            "traceloop.entity.output": "done",
            "traceloop.association.properties.session_id": "s",
            "traceloop.association.properties.user_id": "u",
            "traceloop.association.properties.team": "red",
        }
    )
    assert (span.type, span.trace_name) == ("chain", "flow")
    assert (span.input, span.output) == ('{"a": 1}', "done")
    assert (span.session_id, span.user_id) == ("s", "u")
    assert span.metadata["team"] == "red"


def test_openllmetry_of_yesterday_numbered_its_messages() -> None:
    span = mapped(
        {
            "llm.request.type": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "hi",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "yo",
            "gen_ai.prompt.name": "not an index",
        }
    )
    assert json.loads(span.input or "") == [{"role": "user", "content": "hi"}]
    assert json.loads(span.output or "") == [{"role": "assistant", "content": "yo"}]
    assert span.prompt_name == "not an index"


def test_langfuse_python_5() -> None:
    span = mapped(
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": '[{"role":"user","content":"x"}]',
            "langfuse.observation.output": "plain",
            "langfuse.observation.metadata.k": '"v"',
            "langfuse.trace.metadata.n": "3",
            "langfuse.observation.level": "warning",
            "langfuse.observation.status_message": "hm",
            "langfuse.observation.completion_start_time": '"2027-01-15T08:00:00.5Z"',
            "langfuse.observation.model.name": "gpt-4o",
            "langfuse.observation.model.parameters": '{"max_tokens": "Infinity"}',
            "langfuse.observation.usage_details": json.dumps(
                {
                    "prompt_tokens": 10,
                    "completion_tokens": 4,
                    "total_tokens": 14,
                    "prompt_tokens_details": {"cached_tokens": 6},
                    "completion_tokens_details": {"reasoning_tokens": 1},
                }
            ),
            "langfuse.observation.cost_details": '{"input": 0.1, "output": 0.2}',
            "langfuse.observation.prompt.name": "p",
            "langfuse.observation.prompt.version": 7,
            "langfuse.trace.name": "the trace",
            "langfuse.trace.tags": ["x"],
            "langfuse.environment": "Langfuse-Prod",
            "langfuse.release": "r1",
        },
        scope=Scope("langfuse-sdk", "5.0.4", {"public_key": "pk"}),
        resource={"telemetry.sdk.language": "python", "service.version": "9"},
    )
    assert (span.type, span.level, span.status_message) == ("generation", "WARNING", "hm")
    assert span.metadata == {"k": "v", "n": 3}
    assert span.usage == {
        "input": 4,
        "output": 3,
        "total": 14,
        "input_cached_tokens": 6,
        "output_reasoning_tokens": 1,
    }
    assert span.cost is not None
    assert span.cost["total"] == Decimal("0.3")
    assert span.first_token_ns == START_NS + 500_000_000
    assert (span.prompt_name, span.prompt_version) == ("p", 7)
    assert (span.trace_name, span.environment, span.release) == ("the trace", "prod", "r1")
    assert (span.version, span.scope) == ("9", "langfuse-sdk@5.0.4")


@pytest.mark.parametrize(("version", "language"), [("4.0.0", "python"), ("5.1.0", "nodejs")])
def test_other_langfuse_sdks_do_not_encode_metadata(version: str, language: str) -> None:
    span = mapped(
        {"langfuse.observation.metadata.k": "3"},
        scope=Scope("langfuse-sdk", version, {}),
        resource={"telemetry.sdk.language": language},
    )
    assert span.metadata == {"k": "3"}


def test_vercel_ai() -> None:
    span = mapped(
        {
            "ai.operationId": "ai.streamText.doStream",
            "ai.prompt.messages": "[]",
            "ai.response.text": "hello",
            "ai.response.msToFirstChunk": 125.5,
            "ai.usage.promptTokens": 3,
            "ai.telemetry.metadata.userId": "u",
        }
    )
    assert (span.type, span.output, span.user_id) == ("generation", "hello", "u")
    assert span.first_token_ns == START_NS + 125_500_000


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ({"ai.operationId": "ai.generateText"}, "greet:ai.generateText"),
        ({"ai.operationId": "ai.toolCall", "ai.toolCall.name": "search"}, "search"),
        ({"ai.operationId": "ai.toolCall", "logfire.msg": "said"}, "said"),
        ({}, "raw name"),
        ({"ai.telemetry.functionId": "", "ai.operationId": "ai.generateText"}, "raw name"),
    ],
)
def test_a_function_that_vercel_ai_was_told_names_its_calls(
    attributes: dict[str, Any], wanted: str
) -> None:
    """As Langfuse names them (§3.4)."""
    assert mapped({"ai.telemetry.functionId": "greet", **attributes}).name == wanted


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ({}, "span"),
        ({"gen_ai.operation.name": "embeddings"}, "embedding"),
        ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}, "tool"),
        ({"gen_ai.tool.call.id": "1"}, "tool"),
        ({"openinference.span.kind": "guardrail"}, "guardrail"),
        ({"langfuse.observation.type": "span", "langfuse.observation.model.name": "m"},
         "generation"),
        ({"langfuse.observation.type": "event"}, "event"),
        ({"traceloop.span.kind": "agent"}, "agent"),
        ({"llm.model_name": "m"}, "generation"),
        ({"mlflow.spanType": '"CHAT_MODEL"'}, "generation"),
    ],
)  # fmt: skip
def test_types(attributes: dict[str, Any], wanted: str) -> None:
    assert mapped(attributes).type == wanted


def test_agents_do_not_count_what_their_children_used() -> None:
    span = mapped(
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": 5,
            "gen_ai.usage.cost": 1,
        }
    )
    assert (span.type, span.model, span.usage, span.cost) == ("agent", None, None, None)
    assert span.attributes["gen_ai.usage.input_tokens"] == 5


def test_a_run_of_smolagents_repeats_its_calls_and_one_of_claude_is_all_there_is() -> None:
    run = {"openinference.span.kind": "AGENT", "llm.token_count.prompt": 5}
    assert mapped(run).usage == {"input": 5, "total": 5}
    span = mapped({**run, "smolagents.max_steps": 20})
    assert (span.type, span.usage) == ("agent", None)
    assert span.attributes["llm.token_count.prompt"] == 5


def test_unknown_attributes_are_kept_word_for_word() -> None:
    attributes = {"my.thing": "x", "n": 3, "list": [1, {"a": 2}], "llm.input_messages.x": "y"}
    span = mapped(attributes, resource={"host": "h"}, scope=Scope("s", "1", {"a": 1}))
    assert attributes.items() <= dict(span.attributes).items()
    assert span.attributes["otel.resource"] == {"host": "h"}
    assert span.attributes["otel.scope"] == {"a": 1}
    assert span.attributes["otel.kind"] == "client"


@pytest.mark.parametrize("key", ["10001.content", "0.__proto__.x", "0", "123456.content"])
def test_hostile_indices_stay_flat_attributes(key: str) -> None:
    attributes = {f"gen_ai.prompt.{key}": "x", "gen_ai.prompt.0.content.deep": "y"}
    if key == "0":
        attributes["gen_ai.prompt.0.content"] = "z"
    span = mapped(attributes)
    assert span.input is None or key == "0"
    assert attributes.items() <= dict(span.attributes).items()


def test_an_exception_event_explains_an_error() -> None:
    event = Event("exception", START_NS, {"exception.message": "429", "exception.type": "E"})
    span = mapped({}, events=[event], status_code=2)
    assert (span.status, span.level, span.status_message) == ("error", "ERROR", "429")
    assert mapped({"error.type": "Timeout"}, status_code=2).status_message == "Timeout"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("PROD", "prod"), ("langfuse-x", "x"), ("bad name!", None), ("", None), ("x" * 50, "x" * 40)],
)
def test_environments_are_normalised(given: str, wanted: str | None) -> None:
    assert mapped({}, resource={"deployment.environment.name": given}).environment == wanted


@pytest.mark.parametrize("given", [["b", "a"], '["a", "b"]', "a, b", "b,a,"])
def test_tags_come_in_many_shapes(given: Any) -> None:
    assert mapped({"langfuse.trace.tags": given}).tags == ("a", "b")


def test_the_docs_hold_the_table_of_the_module() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "sending-traces.md").read_text()
    assert table() in docs, "print it with python -m hone.traces.core.dialects.table"


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        # Included, as most do.
        ((100, 20, 120, 40), {"input": 60, "input_cached_tokens": 40, "output": 20, "total": 120}),
        # Anthropic's own way of counting: what came from the cache is not in the input.
        ((10, 20, 30, 900), {"input": 10, "input_cached_tokens": 900, "output": 20, "total": 930}),
        (
            (10, 20, None, 900),
            {"input": 10, "input_cached_tokens": 900, "output": 20, "total": 930},
        ),
        ((10, 20, 930, 900), {"input": 10, "input_cached_tokens": 900, "output": 20, "total": 930}),
    ],
)
def test_cached_tokens_count_once_however_they_are_counted(
    counts: tuple[int | None, ...], wanted: dict[str, int]
) -> None:
    names = ("inputTokens", "outputTokens", "totalTokens", "cachedInputTokens")
    given = {f"ai.usage.{n}": c for n, c in zip(names, counts, strict=True) if c is not None}
    assert mapped({"ai.operationId": "ai.generateText.doGenerate", **given}).usage == wanted
