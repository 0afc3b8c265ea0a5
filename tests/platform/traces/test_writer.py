"""Group commit: many requests, few transactions, nobody pays for another's mistake."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from pytest_django import Settings

from hone.common.database import database_call
from hone.common.errors import InvalidError, UnavailableError
from hone.traces.core.part import Part
from hone.traces.core.span import Span
from hone.traces.selectors import traces_by_ids
from hone.traces.services import Ingested, ingest, spans_ingest, spans_write, writer

Make = Callable[..., Span]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def threads(settings: Settings) -> None:
    settings.HONE_DATABASE_THREADS = 2


class Writes:
    """Stands before the real write and counts; fails where it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.fail: Callable[[Sequence[Part]], Exception | None] = lambda _: None
        self.real = ingest.parts_write
        monkeypatch.setattr(writer, "parts_write", self.write)

    def write(self, parts: Sequence[Part]) -> Any:
        self.sizes.append(sum(len(part.rows) for part in parts))
        error = self.fail(parts)
        if error is not None:
            raise error
        return self.real(parts)


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Writes:
    return Writes(monkeypatch)


def count() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM traces_observation")
        number: int = cursor.fetchone()[0]
        return number


def one(make_span: Make, number: int, **values: Any) -> list[Span]:
    return [make_span(trace_id=f"{number + 1:032x}", **values)]


async def test_requests_that_wait_share_a_transaction(make_span: Make, writes: Writes) -> None:
    await writer.intake(1)  # else some are still asking for prices when others are written
    results = await asyncio.gather(
        *(spans_write(1, one(make_span, number)) for number in range(50))
    )
    assert results == [Ingested(1)] * 50
    assert sum(writes.sizes) == 50
    assert len(writes.sizes) <= 3


async def test_projects_share_a_transaction_and_stay_apart(make_span: Make) -> None:
    await asyncio.gather(*(spans_write(number, one(make_span, 0)) for number in (1, 2, 3)))
    for number in (1, 2, 3):
        [row] = await database_call(traces_by_ids, number, [f"{1:032x}"])
        assert row.observation_count == 1


async def test_one_bad_request_does_not_hurt_the_others(make_span: Make, writes: Writes) -> None:
    def fail(parts: Sequence[Part]) -> Exception | None:
        is_bad = any(part.summary.name[1] == "poison" for part in parts)
        return psycopg.DataError("cannot be stored") if is_bad else None

    writes.fail = fail
    results = await asyncio.gather(
        spans_write(1, one(make_span, 0)),
        spans_write(1, one(make_span, 1, name="poison")),
        spans_write(1, one(make_span, 2)),
        return_exceptions=True,
    )
    assert results[0] == results[2] == Ingested(1)
    assert isinstance(results[1], InvalidError)


async def test_a_database_that_comes_back_is_used_again(make_span: Make, writes: Writes) -> None:
    writes.fail = lambda _: OperationalError("gone")
    with pytest.raises(UnavailableError) as caught:
        await spans_write(1, one(make_span, 0))
    assert caught.value.retry_after_s
    writes.fail = lambda _: None
    assert await spans_write(1, one(make_span, 0)) == Ingested(1)
    assert writer.writer().num_spans == 0


async def test_an_unforeseen_failure_answers_everybody(make_span: Make, writes: Writes) -> None:
    writes.fail = lambda _: RuntimeError("a bug")
    with pytest.raises(UnavailableError):
        await spans_write(1, one(make_span, 0))
    assert writer.writer().num_spans == 0


async def test_too_much_waiting_is_refused_at_once(
    make_span: Make, settings: Settings, writes: Writes
) -> None:
    settings.HONE_TRACES_BUFFER_SPANS = 10
    await writer.intake(1)
    results = await asyncio.gather(
        *(spans_write(1, one(make_span, number)) for number in range(30)), return_exceptions=True
    )
    refused = [result for result in results if isinstance(result, UnavailableError)]
    assert len(refused) == 20
    assert all(error.retry_after_s == 1 for error in refused)
    assert sum(writes.sizes) == 10


async def test_a_batch_over_the_limit_is_taken_when_nothing_waits(
    make_span: Make, settings: Settings
) -> None:
    settings.HONE_TRACES_BUFFER_SPANS = 2
    assert await spans_write(1, [make_span(number) for number in range(5)]) == Ingested(5)


async def test_a_client_that_hangs_up_takes_nothing_with_it(make_span: Make) -> None:
    leaving = asyncio.create_task(spans_write(1, one(make_span, 0)))
    staying = asyncio.create_task(spans_write(1, one(make_span, 1)))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == Ingested(1)
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert await spans_write(1, one(make_span, 2)) == Ingested(1)


def test_writers_that_race_for_the_same_traces_agree(make_span: Make) -> None:
    """Four connections write spans of the same ten traces at once, in batches that overlap."""
    failures: list[BaseException] = []

    def write(worker: int) -> None:
        try:
            for start in range(0, 40, 10):
                spans = [
                    make_span(
                        number, trace_id=f"{number % 10 + 1:032x}", span_id=f"{number + 1:016x}"
                    )
                    for number in range(start + worker, start + worker + 15)
                ]
                spans_ingest(project_id=1, spans=spans)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    workers = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert failures == []
    distinct = {n for w in range(4) for s in range(0, 40, 10) for n in range(s + w, s + w + 15)}
    assert count() == len(distinct)
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(observation_count)::int FROM traces_trace")
        assert cursor.fetchone() == (len(distinct),)
