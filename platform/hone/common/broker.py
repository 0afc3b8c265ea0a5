"""Connections to Redis or Valkey, one pool a process (and one an event loop)."""

import asyncio
from functools import lru_cache
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT_S = 2.0
ERRORS = (redis.RedisError, OSError, asyncio.TimeoutError)

_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, "redis.asyncio.Redis"] = WeakKeyDictionary()


def key(*parts: object) -> str:
    """The name of a key or channel of ours: `hone:a:b`."""
    return ":".join((settings.HONE_REDIS_PREFIX, *map(str, parts)))


@lru_cache(maxsize=1)
def client() -> redis.Redis:
    """The client for threads; commands raise one of `ERRORS` within seconds when it is down."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        # Once more at once, for a connection that died unnoticed. The client's own habit is to
        # wait and try for seconds, which a request must not.
        retry=Retry(NoBackoff(), 1),
    )


def aclient() -> "redis.asyncio.Redis":
    """The client of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _by_loop.get(loop)
    if found is None:
        found = _by_loop[loop] = redis.asyncio.Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=AsyncRetry(NoBackoff(), 1),
        )
    return found


async def aclose() -> None:
    """Close the client of the running event loop, if it has one."""
    found = _by_loop.pop(asyncio.get_running_loop(), None)
    if found is not None:
        await found.aclose()


def listener() -> "redis.asyncio.Redis":
    """A client of its own for a subscription: reads may wait for ever."""
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=TIMEOUT_S, health_check_interval=20
    )
