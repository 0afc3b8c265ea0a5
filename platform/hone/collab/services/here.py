"""Who is in which draft of a project, told to Redis by the rooms for the pages that list drafts.

Every process writes its own sockets' people, again on each round; what was not written for a while
does not count, so a process that died leaves nobody behind.
"""

import os
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson
import structlog

from hone.collab.core.people import Person
from hone.common import broker

log = structlog.get_logger(__name__)
STALE_S: Final = 20.0  # rooms tell every five seconds
FORGET_S: Final = 60  # of a project that nobody is in
_PROCESS: Final = os.urandom(6).hex()


def _key(project_id: int) -> str:
    return broker.key("here", project_id)


async def here_tell(people: Mapping[tuple[int, uuid.UUID], Iterable[Person]]) -> None:
    """Note who sits in these rooms (project, draft) of this process; nobody: take the note away."""
    try:
        async with broker.aclient().pipeline(transaction=False) as pipe:
            for (project_id, draft_id), inside in people.items():
                shown = {person.identity: person.shown() for person in inside}
                name, field = _key(project_id), f"{draft_id}:{_PROCESS}"
                if shown:
                    note = orjson.dumps({"at": time.time(), "people": list(shown.values())})
                    pipe.hset(name, field, note)
                    pipe.expire(name, FORGET_S)
                else:
                    pipe.hdel(name, field)
            await pipe.execute()
    except broker.ERRORS as error:
        log.warning("presence_not_told", error=type(error).__name__)


def here_read(project_id: int) -> dict[uuid.UUID, list[dict[str, Any]]]:
    """Draft to the people in it, each once, by name; empty where Redis does not answer."""
    try:
        notes: dict[bytes, bytes] = broker.client().hgetall(_key(project_id))  # type: ignore[assignment]
    except broker.ERRORS as error:
        log.warning("presence_not_read", error=type(error).__name__)
        return {}
    found: dict[uuid.UUID, dict[str, dict[str, Any]]] = {}
    for field, note in notes.items():
        told = orjson.loads(note)
        if time.time() - told["at"] < STALE_S:
            inside = found.setdefault(uuid.UUID(field.decode().partition(":")[0]), {})
            inside |= {person["id"]: person for person in told["people"]}
    return {
        draft: sorted(inside.values(), key=lambda person: str(person["name"]))
        for draft, inside in found.items()
    }
