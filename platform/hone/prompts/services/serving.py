"""Prompts given out by name and label, from this process's memory where that is known to be true.

`BOUND_S` is how old a label's position may be where the message of its move is lost; as long as the
message arrives it is milliseconds. What a reference stands for is read in one snapshot and kept
whole, so an answer never mixes two versions.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable
from typing import Final
from weakref import WeakKeyDictionary

import orjson
import structlog
from django.db import connection, transaction

from hone.common.broadcast import Broadcast
from hone.common.database import database_call
from hone.common.errors import NotFoundError
from hone.prompts.core.names import Reference
from hone.prompts.core.served_cache import ServedCache
from hone.prompts.models import Change
from hone.prompts.selectors import Served, prompt_served

log = structlog.get_logger(__name__)
BOUND_S: Final = 0.8
REFRESH_S: Final = 0.25
MAX_BYTES: Final = 64 * 2**20
_OVERHEAD: Final = 4000  # bytes of rows and objects beside the text
_SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

_cache: ServedCache[Served | NotFoundError] = ServedCache(
    bound_s=BOUND_S, refresh_s=REFRESH_S, max_bytes=MAX_BYTES
)
_changes = Broadcast(
    "prompts-changed", lambda word: _cache.told(int(word)), lambda: _cache.told_all()
)
_flights: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, "asyncio.Task[float]"]] = (
    WeakKeyDictionary()
)


async def prompt_serve(project_id: int, wanted: Reference, *, raw: bool = False) -> Served:
    """As `selectors.prompt_served`, without asking the database where the answer is known."""
    key = (wanted, raw)
    found = _cache.get(project_id, key)
    if found is not None:
        if _cache.is_aging(project_id):
            _fly(project_id, lambda: _look(project_id))
        return _given(found)
    return _given(await _read_anew(project_id, wanted, raw))


async def _read_anew(project_id: int, wanted: Reference, raw: bool) -> Served | NotFoundError:
    """What is true at some moment after this call began."""
    key, asked_at = (wanted, raw), time.monotonic()
    if _cache.kept(project_id, key) is not None:
        # Most often nothing changed: then the count is all that is read.
        await _landed(project_id, lambda: _look(project_id), asked_at)
    while True:
        still = _cache.get(project_id, key)
        if still is not None:
            return still
        if await _landed((project_id, key), lambda: _load(project_id, wanted, raw), asked_at):
            # It may have been told of again meanwhile; what was read is fresh enough for this call.
            kept = _cache.kept(project_id, key)
            if kept is None:  # larger than all that may be kept
                kept = await database_call(prompt_served, project_id, wanted, raw=raw)
            return kept


def _given(found: Served | NotFoundError) -> Served:
    if isinstance(found, NotFoundError):
        raise NotFoundError(found.message, field=found.field)
    return found


async def _landed(
    key: Hashable, work: Callable[[], Coroutine[None, None, float]], asked_at: float
) -> bool:
    """Wait for `work`, which many that want the same share; whether it began after `asked_at`."""
    return await asyncio.shield(_fly(key, work)) >= asked_at


def _fly(key: Hashable, work: Callable[[], Coroutine[None, None, float]]) -> "asyncio.Task[float]":
    """The running call for `key`, else a new one."""
    flights = _flights.setdefault(asyncio.get_running_loop(), {})
    task = flights.get(key)
    if task is None:

        async def run() -> float:
            try:
                return await work()
            finally:
                flights.pop(key, None)

        task = flights[key] = asyncio.create_task(run())
        task.add_done_callback(_noted)
    return task


def _noted(task: "asyncio.Task[float]") -> None:
    """Whoever waits gets the error; where nobody does, the log has it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.info("prompt_lookup_failed", error=repr(error))


async def _look(project_id: int) -> float:
    """Look up the project's count; gives when that began."""
    _changes.listen()
    began_at = time.monotonic()
    _cache.checked(project_id, await database_call(_count, project_id), began_at)
    return began_at


async def _load(project_id: int, wanted: Reference, raw: bool) -> float:
    began_at = time.monotonic()
    found, count = await database_call(_read, project_id, wanted, raw)
    _cache.put(
        project_id, (wanted, raw), found, count=count, read_at=began_at, num_bytes=_size(found)
    )
    return began_at


def _count(project_id: int) -> int:
    return Change.objects.filter(pk=project_id).values_list("count", flat=True).first() or 0


def _read(project_id: int, wanted: Reference, raw: bool) -> tuple[Served | NotFoundError, int]:
    """What a reference stands for, and the count of the same moment."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute(_SNAPSHOT)
        count = _count(project_id)
        try:
            return prompt_served(project_id, wanted, raw=raw), count
        except NotFoundError as error:
            return error.with_traceback(None), count


def _size(found: Served | NotFoundError) -> int:
    if isinstance(found, NotFoundError):
        return _OVERHEAD
    # The text stands there as rows, rendered, and as bytes ready to be sent.
    texts = [v.row.content for v in found.versions.values()]
    wholes = [v.whole.template for v in found.versions.values()]
    return 2 * len(orjson.dumps(texts)) + 2 * len(orjson.dumps(wholes)) + _OVERHEAD


def changed_here(project_id: int) -> None:
    """This process reads the project's prompts anew, also before the change is committed."""
    _cache.told(project_id)


def changed_tell(project_id: int) -> None:
    """Tell every process that something of the project's prompts changed."""
    _changes.tell(str(project_id))


def reset_cache() -> None:
    """Forget all prompts, as after a restart."""
    _cache.clear()
