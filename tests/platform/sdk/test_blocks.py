"""Blocks of code, what they say about themselves, and what they hand on."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import hone.sdk as hone


def test_a_generation_says_everything_about_a_call(sent: Any) -> None:
    with hone.generation(
        "answer", model="m-1", input=[{"role": "user", "content": "hi"}], parameters={"top_p": 0.5}
    ) as generation:
        generation.first_token()
        generation.update(
            output={"role": "assistant", "content": "hello"},
            usage={"input": 3, "output": 5},
            cost={"total": 0.25},
            metadata={"a": 1},
            model="m-1-2026",
        ).update(metadata={"b": [2]}, level="debug", status_message="fine")
    span = sent.named("answer")
    assert span.said("type") == "generation"
    assert span.said("model.name") == "m-1-2026"
    assert span.said("model.parameters") == {"top_p": 0.5}
    assert span.said("usage_details") == {"input": 3, "output": 5}
    assert span.said("cost_details") == {"total": 0.25}
    assert span.said("input") == [{"role": "user", "content": "hi"}]
    assert span.said("output") == {"role": "assistant", "content": "hello"}
    assert span.said("metadata") == {"a": 1, "b": [2]}
    assert (span.said("level"), span.said("status_message")) == ("DEBUG", "fine")
    assert span.said("completion_start_time").startswith("20")


def test_values_are_written_down_when_they_are_said(sent: Any) -> None:
    messages = ["first"]
    with hone.span("block", input=messages):
        messages.append("later")
    assert sent.named("block").said("input") == ["first"]


async def test_a_block_works_in_async_code_and_is_left_on_errors(sent: Any) -> None:
    async def fails() -> None:
        async with hone.span("block"):
            assert hone.current().id is not None
            raise KeyError("x")

    with pytest.raises(KeyError):
        await fails()
    assert hone.current().id is None
    assert sent.named("block").said("status_message") == "KeyError: 'x'"


def test_an_observation_may_end_elsewhere(sent: Any) -> None:
    observation = hone.span("by hand", kind="agent").start()
    with hone.span("other"):
        pass
    observation.update(output="x").end()
    observation.update(output="late").end()
    assert sent.named("by hand").said("output") == "x"
    assert sent.named("other").parent_id is None


def test_wrong_values_are_forgotten_not_raised(sent: Any) -> None:
    with hone.span("block", kind="nonsense") as block:
        block.update(level="loud", usage=object(), tags=3, prompt="no prompt", name=5)
        block.update(metadata=7)  # type: ignore[arg-type]
        block.update(output="kept")
    (span,) = sent.spans
    assert (span.said("output"), span.said("type"), span.said("level")) == ("kept", "span", None)


def test_propagated_values_stand_on_every_span_inside(start: Callable[..., Any]) -> None:
    provider = TracerProvider()
    sent = start(tracer_provider=provider)
    foreign = provider.get_tracer("another.library")
    with hone.propagate(session="s-1", user="u-1", tags=["a"], metadata={"plan": "gold"}):
        inner = hone.propagate(tags=["b"], metadata={"n": 1}, trace_name="named")
        with inner, hone.span("ours"), foreign.start_as_current_span("theirs"):
            pass
        with hone.span("between"):
            pass
    with hone.span("outside"):
        pass
    for name in ("ours", "theirs"):
        found = sent.named(name).attributes
        assert (found["session.id"], found["user.id"]) == ("s-1", "u-1")
        assert found["langfuse.trace.tags"] == ["a", "b"]
        assert json.loads(found["langfuse.trace.metadata"]) == {"plan": "gold", "n": 1}
        assert found["langfuse.trace.name"] == "named"
    assert sent.named("theirs").parent_id == sent.named("ours").id
    assert sent.named("between").attributes["langfuse.trace.tags"] == ["a"]
    assert "session.id" not in sent.named("outside").attributes


def test_a_trace_goes_on_in_another_process_and_values_only_where_allowed(sent: Any) -> None:
    private: dict[str, str] = {}
    public: dict[str, str] = {"baggage": "other=1"}
    with hone.propagate(session="s", user="ü", tags=["a,b"]), hone.span("first") as first:
        hone.headers_out(private)
        with hone.propagate(metadata={"k": "v"}, across_processes=True):
            hone.headers_out(public)
    assert set(private) == {"traceparent"}
    assert private["traceparent"].startswith(f"00-{first.trace_id}-{first.id}-0")
    assert public["baggage"].startswith("other=1,")
    with hone.continued(public, trust_baggage=True), hone.span("trusting"):
        pass
    capitals = {name.title(): value for name, value in public.items()}
    with hone.continued(capitals), hone.span("careful"):
        pass
    trusting, careful = sent.named("trusting"), sent.named("careful")
    assert [s.parent_id for s in (trusting, careful)] == [first.id] * 2
    assert trusting.attributes["session.id"] == "s"
    assert trusting.attributes["user.id"] == "ü"
    assert trusting.attributes["langfuse.trace.tags"] == ["a,b"]
    assert json.loads(trusting.attributes["langfuse.trace.metadata"]) == {"k": "v"}
    assert "session.id" not in careful.attributes


@pytest.mark.parametrize("baggage", ["hone.propagated=%7B", "hone.propagated=[1]", "=", "a;b=c"])
def test_broken_headers_start_a_new_trace(sent: Any, baggage: str) -> None:
    headers = {"traceparent": "00-zz", "baggage": baggage}
    with hone.continued(headers, trust_baggage=True), hone.span("new"):
        pass
    assert sent.named("new").parent_id is None


def test_what_is_not_sampled_costs_nothing_and_neither_do_its_children(
    start: Callable[..., Any],
) -> None:
    sent = start(sample_rate=0.0)
    with hone.span("root") as root, hone.span("child") as child:
        assert not root.is_recording
        assert child.trace_id == root.trace_id
        out: dict[str, str] = {}
        hone.headers_out(out)
        assert out["traceparent"].endswith(("-00", "-02"))  # 02: a random trace id
    assert sent.spans == []


def test_a_share_of_the_traces_is_whole(start: Callable[..., Any]) -> None:
    sent = start(sample_rate=0.5)
    for _ in range(200):
        with hone.span("root"), hone.span("child"):
            pass
    spans = sent.spans
    assert 100 < len(spans) < 300
    roots = {span.trace_id for span in spans if span.parent_id is None}
    assert roots == {span.trace_id for span in spans if span.parent_id is not None}


def test_service_environment_and_release_stand_on_the_resource(start: Callable[..., Any]) -> None:
    sent = start(service="shop", environment="staging", release="v7")
    with hone.span("x"):
        pass
    resource = sent.named("x").resource
    assert resource["service.name"] == "shop"
    assert resource["deployment.environment.name"] == "staging"
    assert resource["langfuse.release"] == "v7"
    assert resource["process.pid"] == os.getpid()


def test_the_mask_sees_every_text_that_leaves(start: Callable[..., Any]) -> None:
    sent = start(mask=lambda text: text.replace("hunter2", "***"))
    block = hone.span("a hunter2 b", input={"password": "hunter2"}, metadata={"x": "hunter2"})
    with pytest.raises(ValueError, match="hunter2"), hone.propagate(user="hunter2"), block:
        raise ValueError("hunter2")
    assert "hunter2" not in str(sent.spans)
    assert "***" in str(sent.spans)


@pytest.mark.parametrize("mask", [lambda text: 1 / 0, lambda text: None], ids=["raises", "none"])
def test_a_mask_that_fails_lets_nothing_out(start: Callable[..., Any], mask: Any) -> None:
    sent = start(mask=mask)
    with hone.span("secret", input="secret"):
        pass
    (span,) = sent.spans
    assert (span.name, span.said("input")) == ("<mask failed>", "<mask failed>")


def test_large_values_are_cut_at_the_limit(start: Callable[..., Any]) -> None:
    sent = start(max_value_len=100)
    with hone.span("x", input="y" * 1000):
        pass
    assert sent.named("x").said("input") == "y" * 100 + "… [900 characters cut]"


def test_lone_surrogates_and_odd_numbers_do_not_spoil_a_batch(sent: Any) -> None:
    with hone.span("odd") as span:
        span.update(output="a\ud800b\x00")
        span.attribute("big", 2**80).attribute("nan", float("nan"))
    found = sent.named("odd")
    assert found.said("output") == "a?b\x00"
    assert found.attributes["big"] == hex(2**80)
    assert found.attributes["nan"] == "NaN"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "hone.example.com"}, "url: got 'hone.example.com', want http"),
        ({"sample_rate": 3}, "sample_rate: got 3, want a number from 0 to 1"),
        ({"max_queue_spans": 0}, "want at least 1"),
    ],
)
def test_impossible_options_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hone.init(**{"url": "http://127.0.0.1:1", "secret_key": "x", **options})


def test_without_a_key_it_says_so_and_records_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("HONE_URL", "HONE_SECRET_KEY", "HONE_PUBLIC_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert hone.init() is False
    assert "set HONE_URL, HONE_SECRET_KEY" in caplog.text


def test_address_and_keys_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, collector: Any
) -> None:
    monkeypatch.setenv("HONE_URL", collector.url + "/")
    monkeypatch.setenv("HONE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("HONE_SECRET_KEY", "sk")
    monkeypatch.setenv("HONE_ENVIRONMENT", "ci")
    assert hone.init(set_global=False)
    with hone.span("x"):
        pass
    assert collector.named("x").resource["deployment.environment.name"] == "ci"
    assert collector.headers[0]["Authorization"] == "Basic cGs6c2s="
