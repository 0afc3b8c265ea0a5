"""Every sort of function keeps behaving as it did, and its calls are recorded."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import context as otel

import hone.sdk as hone


def test_a_call_is_recorded_with_arguments_and_result(sent: Any) -> None:
    @hone.observe(kind="tool")
    def search(query: str, *more: int, limit: int = 3, **options: str) -> dict[str, int]:
        return {"found": limit}

    assert search("shoes", 1, 2, limit=5, sort="price") == {"found": 5}
    span = sent.named("search")
    assert span.said("type") == "tool"
    assert span.said("input") == {
        "query": "shoes", "args": [1, 2], "limit": 5, "sort": "price",
    }  # fmt: skip
    assert span.said("output") == {"found": 5}
    assert span.parent_id is None
    assert span.status["code"] == 0


def test_a_call_inside_a_call_is_its_child(sent: Any) -> None:
    @hone.observe
    def inner() -> str:
        return "in"

    @hone.observe(name="outside")
    def outer() -> str:
        return inner() + inner()

    assert outer() == "inin"
    spans = sent.spans
    (root,) = [span for span in spans if span.name == "outside"]
    children = [span for span in spans if span.name == "inner"]
    assert [(c.parent_id, c.trace_id) for c in children] == [(root.id, root.trace_id)] * 2


def test_methods_do_not_record_themselves(sent: Any) -> None:
    class Shop:
        @hone.observe
        def sell(self, what: str) -> str:
            return what

        @classmethod
        @hone.observe
        def open(cls, hour: int) -> int:
            return hour

        @staticmethod
        @hone.observe
        def close(hour: int) -> int:
            return hour

    assert (Shop().sell("bike"), Shop.open(9), Shop().close(18)) == ("bike", 9, 18)
    assert sent.named("sell").said("input") == {"what": "bike"}
    assert sent.named("open").said("input") == {"hour": 9}
    assert sent.named("close").said("input") == {"hour": 18}


def test_nothing_is_captured_where_it_must_not_be(sent: Any) -> None:
    @hone.observe(capture_input=False, capture_output=False)
    def secret(password: str) -> str:
        return password

    assert secret("hunter2") == "hunter2"
    assert "hunter2" not in str(sent.requests), sent.spans


def test_an_error_is_recorded_and_raised_unchanged(sent: Any) -> None:
    error = ValueError("nope")

    @hone.observe
    def fails() -> None:
        raise error

    with pytest.raises(ValueError, match="nope") as raised:
        fails()
    assert raised.value is error
    span = sent.named("fails")
    assert (span.said("level"), span.said("status_message")) == ("ERROR", "ValueError: nope")
    assert span.status == {"code": 2, "message": "ValueError: nope"}
    (event,) = span.events
    assert event["name"] == "exception"
    assert "test_observe.py" in str(event)


async def test_a_coroutine_is_recorded_and_tasks_do_not_mix(sent: Any) -> None:
    @hone.observe
    async def leaf(number: int) -> int:
        await asyncio.sleep(0)
        return number

    @hone.observe
    async def branch(number: int) -> int:
        await asyncio.sleep(0)
        return await leaf(number)

    assert inspect.iscoroutinefunction(branch)
    assert await asyncio.gather(*(branch(number) for number in range(20))) == list(range(20))
    spans = await asyncio.to_thread(lambda: sent.spans)
    branches = {span.id: span for span in spans if span.name == "branch"}
    leaves = [span for span in spans if span.name == "leaf"]
    assert len(branches) == len(leaves) == 20
    for span in leaves:
        parent = branches[span.parent_id]
        assert parent.said("input") == span.said("input")
        assert parent.trace_id == span.trace_id
    assert len({span.trace_id for span in leaves}) == 20


async def test_a_cancelled_task_is_a_warning(sent: Any) -> None:
    @hone.observe
    async def waits() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    span = await asyncio.to_thread(sent.named, "waits")
    assert (span.said("level"), span.said("status_message")) == ("WARNING", "CancelledError")


def test_a_generator_is_recorded_to_its_end_and_passes_everything(sent: Any) -> None:
    @hone.observe(kind="generation")
    def talks(name: str) -> Iterator[str]:
        heard = yield f"hello {name}"
        try:
            yield f"heard {heard}"
        except KeyError:
            yield "caught"
        return "done"  # type: ignore[return-value]

    assert inspect.isgeneratorfunction(talks)
    talk: Any = talks("Bo")
    assert next(talk) == "hello Bo"
    assert talk.send("me") == "heard me"
    assert talk.throw(KeyError) == "caught"
    assert not [span for span in sent.spans if span.name == "talks"], "not over yet"
    with pytest.raises(StopIteration) as end:
        next(talk)
    assert end.value.value == "done"
    span = sent.named("talks")
    assert span.said("output") == "hello Boheard mecaught"
    assert span.said("completion_start_time")
    assert span.status["code"] == 0


def test_a_generators_context_is_its_own_between_items(sent: Any) -> None:
    @hone.observe
    def makes() -> Iterator[int]:
        with hone.span("part of makes"):
            yield 1
            with hone.span("deep in makes"):
                yield 2

    with hone.span("caller"):
        here = otel.get_current()
        for number in makes():
            assert otel.get_current() is here
            with hone.span(f"beside {number}"):
                pass
        assert otel.get_current() is here
    caller, makes_span = sent.named("caller"), sent.named("makes")
    assert makes_span.parent_id == caller.id
    assert sent.named("part of makes").parent_id == makes_span.id
    assert sent.named("deep in makes").parent_id == sent.named("part of makes").id
    assert [sent.named(f"beside {n}").parent_id for n in (1, 2)] == [caller.id] * 2


def test_a_generator_that_is_left_ends_without_an_error(sent: Any) -> None:
    closed = []

    @hone.observe
    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(hone.current().id)

    for _ in endless():
        break
    span = sent.named("endless")
    assert closed == [span.id], "its own code runs inside of it, also at the end"
    assert span.said("output") == [1]
    assert span.said("level") is None


def test_a_generators_error_reaches_the_caller(sent: Any) -> None:
    @hone.observe
    def breaks() -> Iterator[int]:
        yield 1
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        list(breaks())
    assert sent.named("breaks").said("status_message") == "LookupError: gone"


async def test_an_async_generator_is_recorded_to_its_end(sent: Any) -> None:
    @hone.observe
    async def streams(count: int) -> AsyncIterator[str]:
        with hone.span("inside"):
            for number in range(count):
                await asyncio.sleep(0)
                heard = yield str(number)
                assert heard in (None, "again")

    assert inspect.isasyncgenfunction(streams)
    here = otel.get_current()
    found = []
    async for item in streams(3):
        assert otel.get_current() is here
        found.append(item)
    assert found == ["0", "1", "2"]
    stream: Any = streams(2)
    assert await stream.asend(None) == "0"
    assert await stream.asend("again") == "1"
    await stream.aclose()
    whole, left = await asyncio.to_thread(
        lambda: [span for span in sent.spans if span.name == "streams"]
    )
    outputs = [s.attributes["langfuse.observation.output"] for s in (whole, left)]
    assert outputs == ["012", "01"], "texts are joined"
    inside = [span for span in sent.spans if span.name == "inside"]
    assert [span.parent_id for span in inside] == [whole.id, left.id]


async def test_an_async_generator_closed_in_another_task_is_no_trouble(
    sent: Any, caplog: pytest.LogCaptureFixture
) -> None:
    @hone.observe
    async def streams() -> AsyncIterator[int]:
        yield 1
        yield 2

    stream: Any = streams()
    assert await asyncio.create_task(stream.__anext__()) == 1
    await asyncio.create_task(stream.aclose())
    await asyncio.to_thread(sent.named, "streams")
    assert not caplog.records


def test_a_function_keeps_name_signature_and_context_variables(sent: Any) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

    @hone.observe
    def sets(value: str) -> None:
        """Sets it."""
        variable.set(value)

    @hone.observe
    def yields() -> Iterator[str]:
        while True:
            yield variable.get()

    assert (sets.__name__, sets.__doc__) == ("sets", "Sets it.")
    assert list(inspect.signature(sets).parameters) == ["value"]
    sets("set inside")
    assert variable.get() == "set inside"
    values = yields()
    assert next(values) == "set inside"
    variable.set("set between")
    assert next(values) == "set between"


def test_threads_are_followed_only_where_asked(sent: Any) -> None:
    @hone.observe
    def work(number: int) -> int:
        return number

    with hone.span("root"), ThreadPoolExecutor(4) as pool:
        assert list(pool.map(hone.carry(work), range(8))) == list(range(8))
        other = threading.Thread(target=work, args=(99,))
        other.start()
        other.join()
    root = sent.named("root")
    children = [span for span in sent.spans if span.parent_id == root.id]
    assert sorted(span.said("input")["number"] for span in children) == list(range(8))


@pytest.mark.parametrize("before", [True, False], ids=["without init", "after shutdown"])
def test_nothing_happens_without_init(before: bool, start: Callable[..., Any]) -> None:
    if not before:
        start()
        hone.shutdown()

    @hone.observe
    def adds(one: int, other: int) -> int:
        assert hone.current().trace_id is None
        return one + other

    @hone.observe
    def counts() -> Iterator[int]:
        yield 1

    assert adds(1, 2) == 3
    assert list(counts()) == [1]
    with hone.span("x") as span, hone.generation("y", model="m") as generation:
        span.update(output=1, usage={"input": 1}).first_token()
        generation.update(level="ERROR")
        assert hone.score("good", 1.0) is None
    assert span.id is None
    assert hone.flush()


def test_an_unknown_kind_is_told_when_decorating() -> None:
    with pytest.raises(ValueError, match="kind: got 'magic', want one of agent"):
        hone.observe(kind="magic")
