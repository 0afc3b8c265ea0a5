"""Call code that uses the ORM from a raw ASGI route."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")


def release_connections() -> None:
    """Hand this thread's connections back to the pool, unless a transaction is open on them."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
            connection.close()


def _call(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        release_connections()


@cache
def _threads(number: int, name: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number, thread_name_prefix=name)


async def database_call(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Await `function(*args, **kwargs)`, run in one of HONE_DATABASE_THREADS threads.

    Its connection goes back to the pool afterwards. With 0 threads (tests) it runs where Django's
    own sync code runs, so that it sees the transaction of the test.
    """
    work = partial(function, *args, **kwargs)
    return await _in_thread(work, settings.HONE_DATABASE_THREADS, "database")


async def database_read(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `database_call`, in as many threads of their own: reads may take seconds, and what
    applications wait for must not stand behind them."""
    work = partial(function, *args, **kwargs)
    return await _in_thread(work, settings.HONE_DATABASE_THREADS, "reads")


async def database_probe(question: Callable[[], T]) -> T:
    """Await `question()` in a thread of its own, so that no other work makes it wait."""
    return await _in_thread(question, min(1, settings.HONE_DATABASE_THREADS), "probe")


async def _in_thread(work: Callable[[], T], number: int, name: str) -> T:
    if number == 0:
        return await sync_to_async(_call)(work)
    context = contextvars.copy_context()
    call = partial(context.run, partial(_call, work))
    return await asyncio.get_running_loop().run_in_executor(_threads(number, name), call)
