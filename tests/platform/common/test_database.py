import asyncio
import threading
from contextvars import ContextVar

import pytest
from django.db import connection

from hone.common.database import database_call, database_probe, database_read

pytestmark = pytest.mark.django_db(transaction=True)
seen: ContextVar[str] = ContextVar("seen", default="")


@pytest.fixture(autouse=True)
def threads(settings) -> None:
    settings.HONE_DATABASE_THREADS = 2


def ask() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        row: tuple[int] = cursor.fetchone()
        return row[0]


async def test_work_runs_beside_the_loop_and_gives_its_connection_back() -> None:
    def work(number: int, *, more: int) -> tuple[int, int, object]:
        return number + more + ask(), threading.get_ident(), connection

    total, thread, used = await database_call(work, 1, more=2)
    assert (total, used.connection) == (4, None)
    assert thread != threading.get_ident()


async def test_work_sees_the_context_of_its_request() -> None:
    seen.set("request 7")
    assert await database_call(seen.get) == "request 7"


async def test_a_failure_comes_back_to_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        await database_call(lambda: 1 // 0)
    assert await database_call(ask) == 1


async def test_long_reads_keep_nothing_else_waiting() -> None:
    release = threading.Event()
    busy = [asyncio.create_task(database_read(release.wait, 20)) for _ in range(6)]
    try:
        assert await asyncio.wait_for(database_call(ask), 5) == 1
        assert not any(task.done() for task in busy)
    finally:
        release.set()
        await asyncio.gather(*busy)


async def test_a_probe_does_not_wait_for_busy_threads() -> None:
    release = threading.Event()
    busy = [asyncio.create_task(database_call(release.wait, 20)) for _ in range(6)]
    try:
        assert await asyncio.wait_for(database_probe(ask), 5) == 1
        assert not any(task.done() for task in busy)
    finally:
        release.set()
        await asyncio.gather(*busy)
