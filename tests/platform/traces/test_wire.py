"""The extension gives what the reference gives, or leaves it to the reference."""

import json
import math
import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Message

from hone.traces.core import wire
from hone.traces.core.dialects import keys, spans_of
from hone.traces.core.fit import fitted
from hone.traces.core.otlp import Malformed, decode
from hone.traces.core.part import Part, parts_of
from hone.traces.core.prices import Book
from hone.traces.core.prices.rates import Condition, Period, Tier
from hone.traces.core.row import COLUMNS

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
from otlp_bodies import bodies_of

NOW_NS = 1_800_000_000 * 10**9
EVER = (0, 2**62)
PROJECT = 3

assert wire.is_built(), "run scripts/build_ext.py"


def reference(body: bytes, book: Book) -> list[Part]:
    """Raises Malformed."""
    decoded = decode(body, is_json=False, now_ns=NOW_NS)
    return parts_of(PROJECT, [fitted(book.priced(span)) for span in spans_of(decoded.spans)])


def native(body: bytes, book: Book, window: tuple[int, int] = EVER) -> tuple[list[Part], bytes]:
    found = wire.parts_decode(body, PROJECT, book, NOW_NS, window)
    if found is None:
        return [], body
    parts, rest = found
    return [Part((PROJECT, trace), rows, summary) for trace, rows, summary in parts], rest


def rows(parts: list[Part]) -> dict[tuple[bytes, bytes], dict[str, Any]]:
    found = {}
    for part in parts:
        for span_id, values in zip(part.span_ids(), part.values(), strict=True):
            found[part.key[1], span_id] = dict(zip(COLUMNS, values, strict=True))
    return found


def check(body: bytes) -> int:
    """Both give the same rows and summaries; how many spans the extension took."""
    book = Book()
    parts, rest = native(body, book)
    try:
        wanted = reference(body, book)
        left = reference(rest, book) if rest else []
    except Malformed:
        with pytest.raises(Malformed):
            reference(rest, book)
        return 0
    taken = rows(parts)
    assert taken | rows(left) == rows(wanted)
    assert len(taken) + len(rows(left)) == len(rows(wanted))
    others = {part.key for part in left}
    summaries = {part.key: part.summary for part in wanted}
    for part in parts:
        if part.key not in others:
            assert part.summary == summaries[part.key]
    return len(taken)


def test_the_load_of_the_benchmark_is_taken_whole() -> None:
    [body] = bodies_of(50, 200, 1, 7.0)
    assert check(body) == 200


def filled(span: Message, attributes: dict[str, Any]) -> None:
    for key, value in attributes.items():
        put(span.attributes.add(key=key).value, value)


def put(target: AnyValue, value: Any) -> None:
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int):
        target.int_value = value
    elif isinstance(value, float):
        target.double_value = value
    elif isinstance(value, bytes):
        target.bytes_value = value
    elif isinstance(value, str):
        target.string_value = value
    elif isinstance(value, list):
        target.array_value.SetInParent()
        for item in value:
            put(target.array_value.values.add(), item)
    elif isinstance(value, dict):
        target.kvlist_value.SetInParent()
        for key, item in value.items():
            put(target.kvlist_value.values.add(key=key).value, item)


def request_of(
    *spans: dict[str, Any],
    resource: dict[str, Any] | None = None,
    sdk: tuple[str, str] = ("some-sdk", "1.2"),
) -> bytes:
    request = ExportTraceServiceRequest()
    of_resource = request.resource_spans.add()
    for key, value in (resource or {}).items():
        put(of_resource.resource.attributes.add(key=key).value, value)
    scope = of_resource.scope_spans.add()
    scope.scope.name, scope.scope.version = sdk
    for number, values in enumerate(spans):
        span = scope.spans.add(trace_id=b"t" * 16, span_id=struct.pack(">Q", number + 1))
        span.start_time_unix_nano = NOW_NS + number * 1_000_003
        span.end_time_unix_nano = NOW_NS + 2_000_000_000
        given = dict(values)
        filled(span, given.pop("attributes", {}))
        for field, value in given.items():
            setattr(span, field, value)
    return request.SerializeToString()


def everything() -> dict[str, Any]:
    return {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-4o",
        "llm.invocation_parameters": '{"temperature": 0.20, "stop": ["\\n", "é"], "n": -1e-7}',
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": 'say "ü"\x1f',
        "input.value": 'say "ü"\x1f',
        "llm.output_messages.0.message.content": "yes",
        "output.value": "no",
        "llm.token_count.prompt": 100,
        "llm.token_count.completion": 20,
        "llm.token_count.prompt_details.cache_read": 40,
        "session.id": "s",
        "user.id": 42,
        "metadata": '{"tenant": 4, "deep": {"a": [1.5, null, true]}}',
        "deployment.environment": "prod",
        "gen_ai.prompt.name": "greet",
        "gen_ai.prompt.version": "v7",
        "gen_ai.response.time_to_first_chunk": 0.25,
        "own": {"a": [1, 2.5, b"\x00\xff"], "b": False},
        "nan": math.nan,
        "huge": 1e300,
    }


def test_a_span_with_everything_is_taken() -> None:
    spans = [{"attributes": everything(), "name": "one", "kind": 3}, {"name": "two"}]
    assert check(request_of(*spans, resource={"service.name": "x", "service.version": "2"})) == 2


def of_langfuse() -> dict[str, Any]:
    """What Langfuse's Python SDK 5 sends."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40, "audio_tokens": None},
    }
    return {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": '[{"role": "user", "content": "h\\u00e9 \\ud83d\\ude00"}]',
        "langfuse.observation.output": "yes",
        "langfuse.observation.model.name": "gpt-4o-mini-2024-07-18",
        "langfuse.observation.model.parameters": '{"temperature": 0.2, "max_tokens": "Infinity"}',
        "langfuse.observation.usage_details": json.dumps(usage),
        "langfuse.observation.metadata.plan": '"gold \\ud83d\\ude00"',
        "langfuse.observation.metadata.n": "3",
        "langfuse.trace.metadata.deep": '{"a": [1, null]}',
        "langfuse.observation.prompt.name": "movie-critic",
        "langfuse.observation.prompt.version": 3,
        "langfuse.observation.level": "WARNING",
        "langfuse.trace.tags": ["b", "a", "b"],
        "langfuse.trace.name": "the trace",
        "langfuse.environment": "prod",
        "langfuse.release": "v1",
        "session.id": "s",
        "user.id": "u",
    }


@pytest.mark.parametrize("version", ["4.18.0", "5.0.4", "10.1"])
@pytest.mark.parametrize("language", ["python", "nodejs"])
def test_spans_of_langfuse_are_taken(version: str, language: str) -> None:
    resource = {"telemetry.sdk.language": language}
    span = {"attributes": of_langfuse()}
    body = request_of(span, span, resource=resource, sdk=("langfuse-sdk", version))
    assert check(body) == 2
    found = rows(native(body, Book())[0])
    metadata = orjson.loads(next(iter(found.values()))["metadata"])
    is_decoded = (language, version) in {("python", "5.0.4"), ("python", "10.1")}
    assert metadata["n"] == (3 if is_decoded else "3")


COUNTS = st.one_of(st.integers(-2, 300), st.none(), st.booleans(), st.just("7"), st.just(2.0))
PARTS = st.sampled_from(
    [
        *("input", "output", "total", "input_cached_tokens", "output_reasoning_tokens", "inputs"),
        *("prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"),
        *("cache_read_input_tokens", "requests"),
    ]
)
USAGES = st.dictionaries(PARTS, COUNTS, max_size=5)


@settings(max_examples=200, deadline=None)
@given(
    USAGES,
    st.dictionaries(
        st.sampled_from(["prompt_tokens_details", "output_tokens_details", "x_details"]),
        st.dictionaries(st.sampled_from(["cached_tokens", "reasoning_tokens"]), COUNTS) | COUNTS,
        max_size=2,
    ),
)
@example({"input": 10, "output": 5, "total": 15, "input_cached_tokens": 4}, {})
@example({"output": 5, "total": 5, "input_cached_tokens": 4}, {})
def test_usage_is_counted_as_the_reference_counts_it(
    parts: dict[str, Any], details: dict[str, Any]
) -> None:
    usage = {"langfuse.observation.usage_details": json.dumps(parts | details)}
    check(request_of({"attributes": usage | {"langfuse.observation.model.name": "gpt-4o"}}))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 400_000), st.integers(0, 400_000))
@example(128_000, 0)
@example(128_001, 0)
@example(200_000, 1)
@example(200_001, 0)
def test_tiers_are_priced_as_the_reference_prices_them(given_in: int, given_out: int) -> None:
    for model in ("gemini-1.5-pro", "gemini-2.5-pro", "claude-sonnet-4-5"):
        check(
            request_of(
                {
                    "attributes": {
                        "llm.model_name": model,
                        "llm.token_count.prompt": given_in,
                        "llm.token_count.completion": given_out,
                    }
                }
            )
        )


def test_a_usage_below_every_tier_is_taken() -> None:
    few = {
        "llm.model_name": "gemini-1.5-pro",
        "llm.token_count.prompt": 300,
        "llm.token_count.completion": 120,
        "llm.token_count.total": 420,
    }
    many = few | {"llm.token_count.prompt": 300_000, "llm.token_count.total": 300_120}
    assert check(request_of({"attributes": few})) == 1
    assert check(request_of({"attributes": many})) == 0


@pytest.mark.parametrize(
    ("conditions", "most"),
    [
        ([("gt", 100)], 100),
        ([("gte", 100)], 99),
        ([("eq", 100)], 99),
        ([("gte", 0)], -1),
        ([("lt", 100)], -1),
        ([("lte", 100)], -1),
        ([("neq", 100)], -1),
        ([("gt", 100), ("gt", 50)], 100),
        ([("lt", 1000), ("gt", 50)], 50),
        ([], -1),
    ],
)
def test_a_price_is_flat_where_no_tier_can_hold(
    conditions: list[tuple[str, int]], most: int
) -> None:
    tier = Tier(tuple(Condition(str.isalpha, name, value) for name, value in conditions), {})
    period = Period(0, {}, (Tier((Condition(str.isalpha, "gt", 1000),), {}), tier))
    assert period.flat_up_to() == most
    for tokens in range(most + 1):
        assert period.units_for({"input": tokens}) is period.units


def test_cached_tokens_are_priced_once_and_unknown_prices_stay_unknown() -> None:
    cheap = {**everything(), "llm.model_name": "nobody-knows-this"}
    body = request_of({"attributes": everything()}, {"attributes": cheap})
    parts, rest = native(body, Book())
    assert not rest
    first, second = rows(parts).values()
    assert orjson.loads(first["usage"]) == {
        "input": 60,
        "output": 20,
        "input_cached_tokens": 40,
        "total": 120,
    }
    assert orjson.loads(first["cost_details"]) == {
        "input": "0.00015",
        "output": "0.0002",
        "input_cached_tokens": "0.00005",
        "total": "0.0004",
    }
    assert (second["cost"], second["cost_details"]) == (None, None)
    assert parts[0].summary.unpriced_count == 1


@pytest.mark.parametrize(
    "attributes",
    [
        {"langfuse.observation.cost_details": '{"input": 1}'},
        {"langfuse.observation.usage_details": '{"input_tokens": 1, "cached_tokens": 2}'},
        {"langfuse.trace.tags": [" a"]},
        {"langfuse.trace.tags": "a,b"},
        {"llm.cost.total": 0.1},
        {"llm.token_count.prompt": "12"},
        {"metadata": '{"twice": 1, "twice": 2}'},
        {"metadata": '{"surrogate": "\\ud800"}'},
        {"session.id": "x" * 501},
        {"user.id": "nul\x00"},
        {"deployment.environment": "Langfuse Prod!"},
        {"otel.resource": "mine"},
        {"openinference.span.kind": "something new"},
    ],
)
def test_what_is_out_of_the_ordinary_is_left_to_the_reference(attributes: dict[str, Any]) -> None:
    assert check(request_of({"attributes": attributes}, {"name": "usual"})) == 1


def test_a_span_that_another_app_wants_to_see_is_left() -> None:
    body = request_of({"attributes": {"wanted-by-a-test": "x"}}, {"name": "usual"})
    found = wire.parts_decode(body, PROJECT, Book(), NOW_NS, EVER, left={"wanted-by-a-test"})
    assert found is not None
    assert [len(encoded) for _, encoded, _ in found[0]] == [1]
    assert len(decode(found[1], is_json=False, now_ns=NOW_NS).spans) == 1


@pytest.mark.parametrize(
    "fields",
    [{"start_time_unix_nano": 2**63}, {"end_time_unix_nano": 2**63}],
)
def test_a_span_that_cannot_be_stored_is_left(fields: dict[str, Any]) -> None:
    assert check(request_of({"name": "usual"}, fields)) == 1


@pytest.mark.parametrize("fields", [{"trace_id": b""}, {"span_id": b"\0" * 8}])
def test_a_wrong_id_is_left_to_the_reference_which_refuses_the_export(
    fields: dict[str, Any],
) -> None:
    _, rest = native(request_of({"name": "usual"}, fields), Book())
    with pytest.raises(Malformed, match="Id '"):
        reference(rest, Book())


def test_a_start_out_of_the_window_is_left() -> None:
    body = request_of({"name": "now"}, {"start_time_unix_nano": 10**9})
    parts, rest = native(body, Book(), window=(10**9, 2**62))
    assert [len(part.rows) for part in parts] == [1]
    [raw] = decode(rest, is_json=False, now_ns=NOW_NS).spans
    assert raw.start_ns == 10**9


def test_one_span_twice_is_the_references_to_judge() -> None:
    body = request_of({"name": "a"}, {"name": "b"})
    twice = body + body
    parts, rest = native(twice, Book())
    assert [len(part.rows) for part in parts] == [2]
    assert len(decode(rest, is_json=False, now_ns=NOW_NS).spans) == 2


def test_a_trace_of_thirty_thousand_spans_is_taken_in_one_piece() -> None:
    body = request_of(*({"name": "s"} for _ in range(30_000)))
    parts, rest = native(body, Book())
    assert (len(parts[0].rows), rest) == (30_000, b"")


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats()
TEXTS = st.text(max_size=20) | st.builds(
    lambda value: orjson.dumps(value).decode(),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats()
        | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    ),
)
ANY = st.recursive(
    TEXTS | NUMBERS | st.booleans() | st.binary(max_size=5) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
KNOWN = sorted(
    {
        *(name for names in vars(keys).values() if isinstance(names, tuple) for name in names),
        *(key for names in keys.TOKENS.values() for key in names),
        *("gen_ai.request.temperature", "gen_ai.request.top_p", "langfuse.release"),
        *("llm.input_messages.0.message.content", "llm.input_messages.1.message.role"),
        *("gen_ai.completion.0.content", "langfuse.observation.metadata.k", "exception.message"),
        *("langfuse.trace.metadata.k", "langfuse.observation.usage_details"),
        *("langfuse.observation.level", "error.type", "langfuse.version", "gen_ai.operation.name"),
    }
)
WORDS = st.sampled_from([*keys.TYPE_OF_OPENINFERENCE, *keys.TYPE_OF_OPERATION, *keys.LEVELS])
SPANS = st.fixed_dictionaries(
    {"attributes": st.dictionaries(st.sampled_from(KNOWN) | st.text(max_size=6), ANY | WORDS)},
    optional={
        "name": st.text(max_size=10),
        "kind": st.integers(0, 5),
        "parent_span_id": st.binary(max_size=8),
        "start_time_unix_nano": st.integers(0, 2**64 - 1),
        "end_time_unix_nano": st.integers(0, 2**64 - 1),
        "trace_state": st.text(max_size=3),
    },
)


@settings(max_examples=250, deadline=None)
@given(
    st.lists(SPANS, max_size=3),
    st.dictionaries(st.sampled_from(["service.version", *keys.ENVIRONMENT]), ANY, max_size=2),
    st.sampled_from([("some-sdk", "1.2"), ("langfuse-sdk", "5.0.4"), ("langfuse-sdk", "x")]),
)
@example([{"attributes": {"x": 5e-324, "y": 1e16, "z": -0.0, "w": 123456.789e3}}], {}, ("", ""))
def test_whatever_is_sent_both_give_the_same(
    spans: list[dict[str, Any]], resource: dict[str, Any], sdk: tuple[str, str]
) -> None:
    language = {"telemetry.sdk.language": "python"}
    check(request_of(*spans, resource=resource | language, sdk=sdk))


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_as_the_reference_writes_them(number: float) -> None:
    assert check(request_of({"attributes": {"n": number, "m": [number / 3]}})) == 1


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 8), st.booleans())
def test_damaged_bodies_are_judged_as_the_reference_judges_them(
    seed: int, changes: int, is_cut: bool
) -> None:
    chosen = random.Random(seed)
    body = bytearray(request_of({"attributes": everything(), "name": "x"}, {"kind": 2}))
    for _ in range(changes):
        body[chosen.randrange(len(body))] = chosen.randrange(256)
    check(bytes(body[: chosen.randrange(len(body))] if is_cut else body))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_judged_as_the_reference_judges_them(body: bytes) -> None:
    check(body)


def test_without_the_extension_the_reference_does_it_all(
    monkeypatch: pytest.MonkeyPatch, export: Callable[..., bytes]
) -> None:
    monkeypatch.setattr(wire.native, "_wire", None)
    assert not wire.is_built()
    assert Book().native is None
