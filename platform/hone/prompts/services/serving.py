"""Prompts given out by name and label, from this process's memory where that is known to be true.

`BOUND_S` is how old a label's position may be where the message of its move is lost; as long as the
message arrives it is milliseconds. What a reference stands for is read in one snapshot and kept
whole, so an answer never mixes two versions. A change makes those prompts be read again that it is
about or that contain it, and no others.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Final

import orjson
from django.db import connection, transaction

from hone.common.broadcast import Broadcast
from hone.common.database import database_call
from hone.common.errors import NotFoundError
from hone.common.flights import Flights
from hone.prompts.core.names import Reference
from hone.prompts.core.served_cache import Moment, ServedCache, mark_of
from hone.prompts.selectors import Served, prompt_served

BOUND_S: Final = 0.8
REFRESH_S: Final = 0.25
MAX_BYTES: Final = 64 * 2**20
MAX_COUNT: Final = 2**63 - 1
_OVERHEAD: Final = 4000  # bytes of rows and objects beside the text
_SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

_cache: ServedCache[Served | NotFoundError] = ServedCache(
    bound_s=BOUND_S, refresh_s=REFRESH_S, max_bytes=MAX_BYTES
)
_changes = Broadcast("prompts-told", lambda word: _heard(word), lambda: _cache.told_all())
# The count, and each name's latest change after a count that is known: one statement, one snapshot.
_CHANGES: Final = """
SELECT c.epoch, c.count, n.mark, n.count FROM prompts_change c
LEFT JOIN prompts_changedname n ON n.project_id = c.project_id AND n.count > %s
WHERE c.project_id = %s
"""


@dataclass(frozen=True, slots=True)
class _Landed:
    """What a call that many share gave (a look-up of changes nothing), and when it began."""

    began_at: float
    found: Served | NotFoundError | None = None


_flights: Flights[_Landed] = Flights()


async def prompt_serve(project_id: int, wanted: Reference, *, raw: bool = False) -> Served:
    """As `selectors.prompt_served`, without asking the database where the answer is known."""
    key = (wanted, raw)
    found = _cache.get(project_id, key)
    if found is not None:
        if _cache.is_aging(project_id):
            _flights.fly(project_id, lambda: _look(project_id))
        return _given(found)
    return _given(await _read_anew(project_id, wanted, raw))


async def _read_anew(project_id: int, wanted: Reference, raw: bool) -> Served | NotFoundError:
    """What is true at some moment after this call began."""
    key, asked_at = (wanted, raw), time.monotonic()
    if _cache.may_hold(project_id, key):
        # Most often nothing changed: then the changes are all that is read.
        await asyncio.shield(_flights.fly(project_id, lambda: _look(project_id)))
    while True:
        still = _cache.get(project_id, key)
        if still is not None:
            return still
        flight = _flights.fly((project_id, key), lambda: _load(project_id, wanted, raw))
        landed = await asyncio.shield(flight)
        if landed.began_at >= asked_at and landed.found is not None:
            # It may have been told of again meanwhile; what was read is fresh enough for this call.
            return landed.found


def _given(found: Served | NotFoundError) -> Served:
    if isinstance(found, NotFoundError):
        raise NotFoundError(found.message, field=found.field)
    return found


async def _look(project_id: int) -> _Landed:
    """Look up what of the project changed since the last look-up."""
    _changes.listen()
    since, began_at = _cache.count(project_id), time.monotonic()
    epoch, count, changed = await database_call(_changed_since, project_id, since)
    moment = Moment(epoch, count, began_at)
    _cache.checked(project_id, moment, since=since, changed=changed)
    return _Landed(began_at)


async def _load(project_id: int, wanted: Reference, raw: bool) -> _Landed:
    _changes.listen()
    began_at = time.monotonic()
    found, names, epoch, count = await database_call(_read, project_id, wanted, raw)
    _cache.put(
        project_id,
        (wanted, raw),
        found,
        names=names,
        moment=Moment(epoch, count, began_at),
        num_bytes=_size(found),
    )
    return _Landed(began_at, found)


def _changed_since(project_id: int, since: int | None) -> tuple[int, int, dict[int, int]]:
    """Epoch and count of the project's changes, and by mark those after `since`; None: none."""
    with connection.cursor() as cursor:
        cursor.execute(_CHANGES, [MAX_COUNT if since is None else since, project_id])
        rows = cursor.fetchall()
    if not rows:
        return 0, 0, {}
    return rows[0][0], rows[0][1], {mark: count for _, _, mark, count in rows if mark is not None}


def _read(
    project_id: int, wanted: Reference, raw: bool
) -> tuple[Served | NotFoundError, set[str], int, int]:
    """What a reference stands for, the prompts of which it is made, and epoch and count of the
    same moment."""
    names: set[str] = set()
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute(_SNAPSHOT)
        epoch, count, _ = _changed_since(project_id, None)
        try:
            found = prompt_served(project_id, wanted, raw=raw, names=names)
        except NotFoundError as error:
            return error.with_traceback(None), names, epoch, count
        return found, names, epoch, count


def _size(found: Served | NotFoundError) -> int:
    if isinstance(found, NotFoundError):
        return _OVERHEAD
    # The text stands there as rows, rendered, and as bytes ready to be sent.
    texts = [v.row.content for v in found.versions.values()]
    wholes = [v.whole.template for v in found.versions.values()]
    return 2 * len(orjson.dumps(texts)) + 2 * len(orjson.dumps(wholes)) + _OVERHEAD


def changed_here(project_id: int, name: str) -> None:
    """This process reads what is made of the prompt anew, also before the change is committed."""
    _cache.told(project_id, mark_of(name))


def changed_tell(project_id: int, name: str) -> None:
    """Tell every process that the prompt changed."""
    _changes.tell(f"{project_id} {mark_of(name)}")


def _heard(word: str) -> None:
    project_id, _, mark = word.partition(" ")
    _cache.told(int(project_id), int(mark) if mark else None)


def reset_cache() -> None:
    """Forget all prompts, as after a restart."""
    _cache.clear()
