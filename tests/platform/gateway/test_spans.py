"""A call as spans: the tree, its times, its tokens, its cost."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.gateway.core.spans import CallRecord, spans_of, usage_parts
from hone.gateway.core.traceparent import traceparent_parse

SECOND = 10**9
START = 1_700_000_000 * SECOND
TIMINGS = {
    "queued_at": 1_700_000_000.1,
    "started_at": 1_700_000_000.2,
    "first_token_at": 1_700_000_000.5,
    "finished_at": 1_700_000_001.5,
}
RECORD = CallRecord(
    trace_id="ab" * 16,
    root_id="cd" * 8,
    start_ns=START,
    end_ns=START + 2 * SECOND,
    model="m",
    input=[{"role": "user", "content": "hi"}],
    output={"role": "assistant", "content": "hello"},
    usage={"prompt_tokens": 10, "completion_tokens": 4},
    timings=TIMINGS,
    is_local=True,
    prompt=("greet", 3),
)


def test_the_tree_is_gateway_generation_and_its_three_phases() -> None:
    root, generation, *phases = spans_of(RECORD)
    assert (root.name, root.type, root.parent_span_id) == ("chat completion", "span", None)
    assert (generation.type, generation.parent_span_id) == ("generation", root.span_id)
    assert [span.name for span in phases] == ["queue", "prefill", "decode"]
    assert {span.parent_span_id for span in phases} == {generation.span_id}
    assert len({span.span_id for span in (root, generation, *phases)}) == 5
    assert phases[2].end_ns - phases[2].start_ns == pytest.approx(SECOND, rel=1e-6)


def test_the_generation_names_prompt_tokens_and_first_token() -> None:
    generation = spans_of(RECORD)[1]
    assert (generation.prompt_name, generation.prompt_version) == ("greet", 3)
    assert generation.usage == {"input": 10, "output": 4, "total": 14}
    assert generation.first_token_ns == pytest.approx(START + SECOND // 2, abs=1000)


def test_the_local_engine_costs_nothing_and_a_remote_model_an_unknown_sum() -> None:
    assert spans_of(RECORD)[1].cost == {k: Decimal(0) for k in ("input", "output", "total")}
    assert spans_of(replace(RECORD, is_local=False))[1].cost is None


def test_the_same_call_has_the_same_ids() -> None:
    assert [s.span_id for s in spans_of(RECORD)] == [s.span_id for s in spans_of(RECORD)]


def test_a_failed_call_is_an_error_with_its_message() -> None:
    root, generation = spans_of(replace(RECORD, error="boom", timings=None, output=None))
    for span in (root, generation):
        assert (span.status, span.level, span.status_message) == ("error", "ERROR", "boom")


def test_an_aborted_call_is_a_warning() -> None:
    root = spans_of(replace(RECORD, aborted=True))[0]
    assert (root.status, root.level) == ("ok", "WARNING")


def test_a_call_that_reached_no_model_has_no_generation() -> None:
    assert len(spans_of(replace(RECORD, reached_model=False, error="no"))) == 1


@given(st.lists(st.floats(1_699_999_990, 1_700_000_010), min_size=4, max_size=4))
def test_no_phase_leaves_the_call_whatever_the_engines_clock_says(times: list[float]) -> None:
    timings = dict(zip(TIMINGS, times, strict=True))
    _, generation, *phases = spans_of(replace(RECORD, timings=timings))
    bounds = [(span.start_ns, span.end_ns) for span in phases]
    flat = [value for pair in bounds for value in pair]
    assert flat == sorted(flat)
    assert all(generation.start_ns <= value <= generation.end_ns for value in flat)


def test_cached_tokens_are_counted_apart() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 7},
    }
    assert usage_parts(usage) == {"input": 3, "input_cached_tokens": 7, "output": 2, "total": 12}


@pytest.mark.parametrize("usage", [None, {}])
def test_no_usage_is_unknown_and_not_nothing(usage: dict[str, int] | None) -> None:
    assert usage_parts(usage) is None


def test_a_traceparent_is_read() -> None:
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    assert traceparent_parse(f"00-{trace}-{span}-01") == (trace, span)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "00-xyz-00f067aa0ba902b7-01",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{'a' * 32}-{'0' * 16}-01",
        f"ff-{'a' * 32}-{'b' * 16}-01",
        f"00-{'A' * 32}-{'b' * 16}-01",
    ],
)
def test_a_broken_traceparent_is_none(header: str | None) -> None:
    assert traceparent_parse(header) is None
