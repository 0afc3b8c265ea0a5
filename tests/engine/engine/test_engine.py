from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hone_engine.config import EngineConfig
from hone_engine.engine import Engine
from hone_engine.runner.loading import LoadedRunner
from hone_engine.types import Chunk, Delta, Request, RequestError

FORTY = {"max_tokens": 40, "ignore_eos": True}
FRANCE = [{"role": "user", "content": "What is the capital city of France? Answer in English."}]


class Ahead:
    """The CPU's runner behind the interface of one that need not wait, as a GPU's: what a step
    draws stands in no text until the step is collected."""

    def __init__(self, runner: LoadedRunner):
        self._runner = runner
        self._drawn: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    def launch(self, chunks: list[Chunk]) -> Any:
        unknown = [c.sequence for c in chunks if c.sequence.token_ids[-1] < 0]
        for sequence in unknown:
            sequence.token_ids[-1] = self._drawn[sequence.id]
        results = self.run(chunks)
        for sequence in unknown:
            sequence.token_ids[-1] = -1
        for chunk, drawn in zip(chunks, results, strict=True):
            if drawn is not None:
                self._drawn[chunk.sequence.id] = drawn.token_id
        return results

    def collect(self, ticket: Any) -> Any:
        return ticket


@pytest.fixture(scope="module", params=["at once", "a step ahead"])
def loaded(smollm2_dir: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    config = EngineConfig(
        max_batch=4, max_step_tokens=64, page_len=16, cache_tokens=192, context_len=128
    )
    engine = Engine.load(smollm2_dir, config)
    if request.param == "a step ahead":
        model: Any = engine.model
        model.runner = Ahead(model.runner)
    yield engine
    engine.close()


@pytest.fixture
def alone(loaded: Engine) -> Iterator[Engine]:
    """An engine without a thread, empty before and after; 12 pages of 16, context 128."""
    loaded.reset("left by a test that failed")
    yield loaded
    assert loaded.num_live == 0
    pool = loaded.scheduler.pool
    pool.check()
    assert pool.num_held == 0
    pool.clear()


def run(engine: Engine, *requests: Request) -> list[list[Delta]]:
    """Answer requests together; returns the deltas of each."""
    found: dict[int, list[Delta]] = {engine.add(request): [] for request in requests}
    while engine.num_live:
        for delta in engine.step():
            found[delta.request_id].append(delta)
    return list(found.values())


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


def test_it_answers_a_chat(alone: Engine) -> None:
    deltas = list(alone.stream(alone.chat_request(FRANCE, {"temperature": 0})))
    assert text_of(deltas) == "The capital city of France is Paris."
    assert deltas[-1].finish_reason == "stop"
    timings = deltas[-1].timings
    assert timings is not None
    assert timings.started_at is not None
    assert timings.first_token_at is not None
    assert timings.queued_at <= timings.started_at <= timings.first_token_at <= timings.finished_at
    assert timings.completion_tokens == 9


def test_closing_a_stream_aborts_it(alone: Engine) -> None:
    stream = alone.stream(alone.text_request("Once upon a time", {"temperature": 0}))
    next(stream)
    assert alone.num_live == 1
    stream.close()
    assert alone.num_live == 0


def test_answers_do_not_depend_on_what_else_is_in_the_batch(alone: Engine) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("Once upon a time", {"seed": 1, "max_tokens": 6}),
        ("The sea is", {"seed": 2, "max_tokens": 9, "top_p": 0.9}),
        ("def add(a, b):", {"temperature": 0, "max_tokens": 12}),
    ]
    requests = [alone.text_request(*item) for item in asked]
    together = [text_of(deltas) for deltas in run(alone, *requests)]
    apart = [text_of(run(alone, request)[0]) for request in requests]
    assert together == apart


def test_when_the_cache_is_too_small_for_all_they_still_all_get_their_answers(
    alone: Engine,
) -> None:
    requests = [
        alone.text_request(f"{n} is a number. " * 4, {"seed": n, **FORTY}) for n in range(4)
    ]
    before = alone.stats().num_preemptions
    together = [text_of(deltas) for deltas in run(alone, *requests)]
    assert alone.stats().num_preemptions > before
    assert together == [text_of(run(alone, request)[0]) for request in requests]


def test_an_equal_prompt_is_read_from_the_cache_and_says_so(alone: Engine) -> None:
    request = alone.chat_request(FRANCE, {"temperature": 0, "max_tokens": 3})
    first, second = run(alone, request)[0], run(alone, request)[0]
    assert text_of(first) == text_of(second)
    assert first[-1].timings is not None
    assert second[-1].timings is not None
    assert first[-1].timings.cached_tokens == 0
    assert second[-1].timings.cached_tokens == 32


def test_max_tokens_beyond_the_context_ends_at_the_context(alone: Engine) -> None:
    request = alone.text_request("a " * 120, {"max_tokens": 10**9, "ignore_eos": True, "seed": 1})
    deltas = run(alone, request)[0]
    assert deltas[-1].finish_reason == "length"
    assert deltas[-1].timings is not None
    assert deltas[-1].timings.completion_tokens == 128 - len(request.prompt_ids)


@pytest.mark.parametrize(
    ("prompt", "parameters", "param", "code"),
    [
        ("a " * 128, {}, "prompt", "context_length_exceeded"),
        ("", {}, "prompt", "invalid_value"),
        ([], {}, "prompt", "invalid_value"),
        ([1, 49152], {}, "prompt", "invalid_value"),
        ([-1], {}, "prompt", "invalid_value"),
        ("a", {"stop_token_ids": [49152]}, "stop_token_ids", "invalid_value"),
        ("a", {"mirostat": 1}, "mirostat", "unsupported_parameter"),
    ],
)
def test_what_cannot_be_served_is_refused_by_name(
    alone: Engine, prompt: Any, parameters: dict[str, object], param: str, code: str
) -> None:
    with pytest.raises(RequestError) as caught:
        alone.text_request(prompt, parameters)
    assert caught.value.param == param
    assert caught.value.code == code


def test_a_conversation_too_long_blames_the_messages(alone: Engine) -> None:
    with pytest.raises(RequestError, match="maximum context length is 128 tokens") as caught:
        alone.chat_request([{"role": "user", "content": "a " * 200}], {})
    assert caught.value.param == "messages"
    assert caught.value.code == "context_length_exceeded"


def test_a_failing_step_fails_its_requests_and_the_next_ones_are_served(
    alone: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [alone.text_request(text, {"temperature": 0, "max_tokens": 3}) for text in "ab"]
    expected = [text_of(deltas) for deltas in run(alone, *requests)]

    def fail(chunks: Any) -> None:
        raise MemoryError("no scratch")

    with monkeypatch.context() as patch:
        patch.setattr(alone.model.runner, "run", fail)
        failed = run(alone, *requests)
    for deltas in failed:
        assert [delta.finish_reason for delta in deltas] == ["error"]
        assert deltas[0].error == "the engine failed in this step (MemoryError: no scratch)"
    assert [text_of(deltas) for deltas in run(alone, *requests)] == expected


def test_a_failure_over_one_text_fails_only_that_request(
    alone: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = alone.text_request("a", {"temperature": 0, "max_tokens": 3, "ignore_eos": True})
    bad = alone.text_request("b", {"temperature": 0, "max_tokens": 3, "logprobs": 0})

    def fail(token_id: int) -> bytes:
        raise KeyError(token_id)

    found = {}
    for request in (good, bad):
        found[alone.add(request)] = request
    answers = list(alone._answers.values())
    monkeypatch.setattr(answers[1], "_tokens", type("Broken", (), {"token_bytes": fail}))
    deltas: list[Delta] = []
    while alone.num_live:
        deltas += alone.step()
    ends = {found[d.request_id] is good: d for d in deltas if d.finish_reason}
    assert ends[True].finish_reason == "length"
    assert ends[False].finish_reason == "error"


def test_reset_fails_everything_and_starts_over(alone: Engine) -> None:
    request = alone.text_request("a", {"temperature": 0, "max_tokens": 3})
    alone.add(request)
    alone.step()
    deltas = alone.reset("a defect")
    assert [(d.finish_reason, d.error) for d in deltas] == [("error", "a defect")]
    assert run(alone, request)[0][-1].finish_reason in ("stop", "length")


def test_stats_tell_what_runs_and_waits(alone: Engine) -> None:
    ids = [alone.add(alone.text_request("a b c", {"max_tokens": 20})) for _ in range(6)]
    alone.step()
    alone.step()  # the first tokens of a device that is a step ahead
    stats = alone.stats()
    assert (stats.num_running, stats.num_waiting) == (4, 2)
    assert stats.kv_tokens_used == 4 * 16
    assert stats.kv_tokens_total == 192
    assert stats.tokens_per_second > 0
    before = stats.num_aborted
    for request_id in ids:
        assert alone.abort(request_id) is not None
        assert alone.abort(request_id) is None
    assert alone.stats().num_aborted == before + 6
