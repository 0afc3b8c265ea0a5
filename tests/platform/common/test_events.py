import asyncio
import threading
from contextlib import aclosing
from datetime import timedelta

import pytest
from django.db import connection, transaction

from hone.common import broker, clock, events
from hone.common.database import database_call
from hone.common.events.hub import Queue, offer
from hone.common.events.publish import Told, channel
from hone.common.models import Event

pytestmark = pytest.mark.django_db(transaction=True)


def test_durable_events_are_numbered_without_gaps_by_project() -> None:
    for _ in range(3):
        events.publish(1, "a", {"x": 1}, durable=True)
    events.publish(2, "b", {}, durable=True)
    assert [told.seq for told in events.since(1, 0)] == [1, 2, 3]
    assert [told.seq for told in events.since(1, 2)] == [3]
    assert (events.latest_seq(1), events.latest_seq(2), events.latest_seq(3)) == (3, 1, 0)


def test_an_event_of_a_failed_transaction_never_was() -> None:
    events.publish(1, "a", {}, durable=True)
    with transaction.atomic():
        events.publish(1, "b", {}, durable=True)
        transaction.set_rollback(True)
    events.publish(1, "c", {}, durable=True)
    assert [(told.seq, told.kind) for told in events.since(1, 0)] == [(1, "a"), (2, "c")]


def test_a_reader_sees_no_number_before_a_lower_one() -> None:
    """While one writer's transaction is open, a second one of the project waits for it."""
    first_published, may_commit, second_done = (threading.Event() for _ in range(3))

    def first() -> None:
        with transaction.atomic():
            events.publish(1, "first", {}, durable=True)
            first_published.set()
            may_commit.wait(10)
        connection.close()

    def second() -> None:
        first_published.wait(10)
        events.publish(1, "second", {}, durable=True)
        second_done.set()
        connection.close()

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    first_published.wait(10)
    assert not second_done.wait(0.2)
    assert events.since(1, 0) == []
    may_commit.set()
    for thread in threads:
        thread.join()
    assert [told.kind for told in events.since(1, 0)] == ["first", "second"]


def test_old_events_are_pruned_and_numbers_go_on() -> None:
    events.publish(1, "a", {}, durable=True)
    assert events.prune(clock.now() + timedelta(seconds=1)) == 1
    events.publish(1, "b", {}, durable=True)
    assert [told.seq for told in events.since(1, 0)] == [2]


def test_publishing_goes_on_without_the_broker(monkeypatch) -> None:
    def down() -> None:
        raise broker.redis.ConnectionError("down")

    monkeypatch.setattr(broker, "client", down)
    events.publish(1, "a", {}, durable=True)
    assert events.latest_seq(1) == 1


async def collect(project_id: int, number: int, after: int | None, started: asyncio.Event) -> list:
    got: list[Told] = []
    async with aclosing(events.subscribe(project_id, after=after)) as stream:
        started.set()
        async for told in stream:
            got.append(told)
            if len(got) == number:
                return got
    return got


async def listening(project_id: int) -> None:
    """Return when Redis knows a subscriber of the project."""
    async with asyncio.timeout(5):
        while not (await broker.aclient().pubsub_numsub(channel(project_id)))[0][1]:
            await asyncio.sleep(0.01)


async def test_a_listener_gets_what_is_told_to_its_project() -> None:
    task = asyncio.create_task(collect(1, 3, None, asyncio.Event()))
    await listening(1)
    await database_call(events.publish, 2, "other", {})
    await database_call(events.publish, 1, "a", {"x": 1})
    await database_call(lambda: events.publish(1, "b", {}, durable=True))
    await database_call(events.publish, 1, "c", {})
    got = await asyncio.wait_for(task, 5)
    assert [(told.kind, told.seq) for told in got] == [("a", None), ("b", 1), ("c", None)]
    assert got[0].payload == {"x": 1}


async def test_a_listener_that_comes_back_gets_what_it_missed() -> None:
    for kind in "abc":
        await database_call(lambda kind=kind: events.publish(1, kind, {}, durable=True))
    got = await asyncio.wait_for(collect(1, 2, 1, asyncio.Event()), 5)
    assert [(told.kind, told.seq) for told in got] == [("b", 2), ("c", 3)]


async def test_a_lost_message_is_read_again_from_the_database() -> None:
    task = asyncio.create_task(collect(1, 3, 0, asyncio.Event()))
    await listening(1)
    await database_call(lambda: events.publish(1, "a", {}, durable=True))

    def lost() -> None:
        number = events.latest_seq(1) + 1
        Event.objects.create(
            project_id=1, seq=number, kind="lost", payload={}, created_at=clock.now()
        )
        with connection.cursor() as cursor:
            cursor.execute("UPDATE common_event_counter SET seq = %s", [number])

    await database_call(lost)
    await database_call(lambda: events.publish(1, "c", {}, durable=True))
    got = await asyncio.wait_for(task, 5)
    assert [(told.kind, told.seq) for told in got] == [("a", 1), ("lost", 2), ("c", 3)]


async def test_a_broken_connection_to_the_broker_loses_nothing_durable(monkeypatch) -> None:
    monkeypatch.setattr("hone.common.events.hub.RETRY_S", 0.05)
    task = asyncio.create_task(collect(1, 2, 0, asyncio.Event()))
    await listening(1)
    await broker.aclient().client_kill_filter(_type="pubsub", skipme=True)
    await database_call(lambda: events.publish(1, "a", {}, durable=True))
    await database_call(lambda: events.publish(1, "b", {}, durable=True))
    got = await asyncio.wait_for(task, 8)
    assert [told.kind for told in got] == ["a", "b"]


async def test_many_listeners_share_one_subscription() -> None:
    tasks = [asyncio.create_task(collect(1, 1, None, asyncio.Event())) for _ in range(20)]
    await listening(1)
    assert (await broker.aclient().pubsub_numsub(channel(1)))[0][1] == 1
    await asyncio.sleep(0.05)
    await database_call(events.publish, 1, "a", {})
    got = await asyncio.wait_for(asyncio.gather(*tasks), 5)
    assert [[told.kind for told in each] for each in got] == [["a"]] * 20


async def test_a_slow_listener_is_sent_to_the_database() -> None:
    queue: Queue = asyncio.Queue(2)
    for number in (1, 2, 3):
        offer(queue, Told(1, "a", {}, number))
    assert queue.get_nowait() is None
    assert queue.empty()
