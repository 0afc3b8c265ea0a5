import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from hone_engine.config import EngineConfig
from hone_engine.engine import Completion, EngineThread
from hone_engine.types import Delta, EngineError, QueueFullError, Request, RequestError


def until(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)


def idle(engine: EngineThread) -> bool:
    stats = engine.stats()
    return not (stats.num_running or stats.num_waiting or stats.kv_tokens_used)


@pytest.fixture
def ask(engine: EngineThread) -> Callable[..., Request]:
    def make(text: str = "Once upon a time", **parameters: Any) -> Request:
        return engine.text_request(text, {"seed": 1, "ignore_eos": True, **parameters})

    return make


@pytest.fixture
def held(engine: EngineThread, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The device stands still until the event is set."""
    go, run = threading.Event(), engine.engine.model.runner.run

    def wait(chunks: Any) -> Any:
        go.wait(20)
        return run(chunks)

    with monkeypatch.context() as patch:
        patch.setattr(engine.engine.model.runner, "run", wait)
        yield go
        go.set()
        until(lambda: idle(engine))


def test_a_future_gets_the_whole_answer_and_the_callback_its_pieces(
    engine: EngineThread, ask: Any
) -> None:
    pieces: list[Delta] = []
    completion = engine.submit(ask(max_tokens=6, logprobs=1), pieces.append).result(20)
    assert completion.finish_reason == "length"
    assert completion.text == "".join(piece.text for piece in pieces)
    assert len(completion.token_ids) == len(completion.logprobs) == 6
    assert pieces[-1].timings == completion.timings
    assert engine.submit(ask(max_tokens=6)).result(20).text == completion.text


def test_cancel_aborts_and_keeps_what_was_said(engine: EngineThread, ask: Any) -> None:
    began = threading.Event()
    pending = engine.submit(ask(max_tokens=1000), lambda delta: began.set())
    assert began.wait(20)
    assert pending.cancel()
    completion = pending.result(20)
    assert completion.finish_reason == "abort"
    assert completion.text
    assert not pending.cancel()
    assert idle(engine)


def test_an_abort_right_after_submit_is_not_lost(engine: EngineThread, ask: Any) -> None:
    pending = [engine.submit(ask(max_tokens=4000)) for _ in range(8)]
    for future in pending:
        engine.abort(future.request_id)
    assert {future.result(20).finish_reason for future in pending} == {"abort"}
    engine.abort(12345678)


def test_a_receiver_that_fails_ends_its_own_request_only(engine: EngineThread, ask: Any) -> None:
    def fail(delta: Delta) -> None:
        raise RuntimeError("receiver")

    broken = engine.submit(ask(max_tokens=1000), fail)
    sound = engine.submit(ask(max_tokens=5))
    assert broken.result(20).finish_reason == "abort"
    assert sound.result(20).finish_reason == "length"


def test_many_are_answered_in_one_batch_each_as_if_alone(engine: EngineThread, ask: Any) -> None:
    requests = [ask(f"{n} and", seed=n, max_tokens=2 + n % 3) for n in range(25)]
    outcomes = list(engine.complete_all(requests))
    assert sorted(index for index, _ in outcomes) == list(range(25))
    for index, outcome in outcomes[:4]:
        assert isinstance(outcome, Completion)
        assert outcome.text == engine.submit(requests[index]).result(20).text


def test_one_bad_request_among_many_yields_its_error(engine: EngineThread, ask: Any) -> None:
    requests = [ask(max_tokens=2), Request([10**9]), ask(max_tokens=2)]
    outcomes = dict(engine.complete_all(requests))
    assert isinstance(outcomes[1], RequestError)
    assert isinstance(outcomes[0], Completion)
    assert isinstance(outcomes[2], Completion)


def test_leaving_a_batch_early_aborts_the_rest(engine: EngineThread, ask: Any) -> None:
    for _ in engine.complete_all([ask(max_tokens=1), *[ask(max_tokens=1000)] * 12]):
        break
    until(lambda: idle(engine))


async def test_a_stream_brings_the_pieces_as_they_come(engine: EngineThread, ask: Any) -> None:
    deltas = [delta async for delta in engine.stream(ask(max_tokens=6))]
    assert deltas[-1].finish_reason == "length"
    expected = await asyncio.wrap_future(engine.submit(ask(max_tokens=6)))
    assert "".join(delta.text for delta in deltas) == expected.text
    assert len(deltas) > 1


async def test_leaving_a_stream_aborts_it(engine: EngineThread, ask: Any) -> None:
    async with aclosing(engine.stream(ask(max_tokens=1000))) as stream:
        async for _ in stream:
            break
    await asyncio.to_thread(until, lambda: idle(engine))


async def test_a_canceled_task_aborts_its_stream(engine: EngineThread, ask: Any) -> None:
    async def read() -> None:
        async for _ in engine.stream(ask(max_tokens=1000)):
            pass

    task = asyncio.create_task(read())
    await asyncio.to_thread(until, lambda: engine.stats().num_running == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(until, lambda: idle(engine))


async def test_a_slow_reader_holds_nobody_up_and_gets_all_in_one_piece(
    engine: EngineThread, ask: Any
) -> None:
    channel = engine.open([ask(max_tokens=5), ask(max_tokens=7)])
    other = await asyncio.wrap_future(engine.submit(ask(max_tokens=20)))
    assert other.finish_reason == "length"
    await asyncio.to_thread(until, lambda: idle(engine))
    await asyncio.sleep(0)
    pieces = dict(await channel.take())
    assert channel.done
    channel.close()
    assert len(pieces[0].token_ids) == 5
    assert len(pieces[1].token_ids) == 7
    assert other.text.startswith(pieces[1].text)


def test_requests_of_an_asyncio_loop_that_is_gone_are_aborted(
    engine: EngineThread, ask: Any, held: threading.Event
) -> None:
    async def leave() -> None:
        engine.open([ask(max_tokens=3000)])

    asyncio.run(leave())
    held.set()
    until(lambda: idle(engine))


async def test_more_than_the_queue_holds_is_refused_with_a_time(
    engine: EngineThread, ask: Any, held: threading.Event
) -> None:
    room = engine.engine.config.max_batch + engine.engine.config.max_waiting
    pending = [engine.submit(ask(max_tokens=1)) for _ in range(room)]
    with pytest.raises(QueueFullError) as caught:
        engine.submit(ask(max_tokens=1))
    assert 1 <= caught.value.retry_after <= 60
    with pytest.raises(QueueFullError):
        engine.open([ask()])
    held.set()
    for future in pending:
        assert (await asyncio.wrap_future(future)).finish_reason == "length"


async def test_a_loop_that_does_not_turn_is_not_healthy(
    engine: EngineThread, ask: Any, held: threading.Event
) -> None:
    assert engine.healthy()
    pending = engine.submit(ask(max_tokens=1))

    def stands() -> bool:
        # An idle loop beats once a second only: the request must have reached the device.
        stats = engine.stats()
        return stats.num_running == 1 and stats.heartbeat_age_s > 0.2

    await asyncio.to_thread(until, stands)
    assert not engine.healthy(max_age_s=0.2)
    held.set()
    await asyncio.wrap_future(pending)
    assert engine.healthy(max_age_s=5)


def test_the_heart_beats_with_nothing_to_do_too(engine: EngineThread) -> None:
    beat = engine.engine.heartbeat_at
    until(lambda: engine.engine.heartbeat_at > beat)


def test_a_failing_step_is_told_and_the_loop_goes_on(
    engine: EngineThread, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(chunks: Any) -> None:
        raise RuntimeError("device")

    with monkeypatch.context() as patch:
        patch.setattr(engine.engine.model.runner, "run", fail)
        with pytest.raises(EngineError, match="RuntimeError: device"):
            engine.submit(ask(max_tokens=3)).result(20)
    assert engine.submit(ask(max_tokens=3)).result(20).finish_reason == "length"


async def test_a_defect_in_the_loop_fails_all_and_the_loop_goes_on(
    engine: EngineThread, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise AssertionError("defect")

    with monkeypatch.context() as patch:
        patch.setattr(engine.engine.scheduler, "next_batch", fail)
        pending = engine.submit(ask(max_tokens=3))
        with pytest.raises(EngineError, match="defect"):
            await asyncio.wrap_future(pending)
    assert (await asyncio.wrap_future(engine.submit(ask(max_tokens=3)))).finish_reason == "length"


def test_close_fails_what_runs_and_refuses_what_comes(smollm2_dir: Path) -> None:
    engine = EngineThread.load(smollm2_dir, EngineConfig(cache_tokens=1024, max_batch=2))
    request = engine.text_request("a", {"ignore_eos": True})
    pending = [engine.submit(request) for _ in range(4)]
    engine.close()
    engine.close()
    for future in pending:
        with pytest.raises(EngineError, match="shutting down"):
            future.result(20)
    with pytest.raises(EngineError, match="closed"):
        engine.submit(request)
    assert not engine.healthy()
