"""What is known of traces and observations that arrived as events, kept until they are old."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson
from django.db import connection

from hone.common import clock
from hone.traces.core.legacy import State

# `key` is a trace's id (16 bytes) or an observation's (8 bytes).
_MAKE: Final = """
    INSERT INTO traces_legacy (project_id, key, external_id, state, updated_at)
    SELECT %s, key, external_id, '{}', %s FROM unnest(%s::bytea[], %s::text[])
        AS given (key, external_id) ORDER BY key
    ON CONFLICT DO NOTHING
"""
_READ: Final = """
    SELECT key, external_id, state, trace_id FROM traces_legacy
    WHERE project_id = %s AND key = ANY(%s) ORDER BY key FOR UPDATE
"""
_SAVE: Final = """
    UPDATE traces_legacy l SET state = given.state, trace_id = given.trace_id, updated_at = %s
    FROM unnest(%s::bytea[], %s::bytea[], %s::text[]) AS given (key, trace_id, state)
    WHERE l.project_id = %s AND l.key = given.key
"""


@dataclass(slots=True)
class Entity:
    """A trace or an observation: its id as it was sent, and what is known of it."""

    external_id: str
    state: State
    trace_id: str | None = None  # hex, under which it was written before

    @property
    def is_sent(self) -> bool:
        """Whether there was an event of its own; a trace is known from its observations too."""
        return "at" in self.state


def entities_lock(project_id: int, names: Mapping[str, str]) -> dict[str, Entity]:
    """The entities of `names` (key in hex -> id as sent), locked until the transaction ends."""
    keys = [bytes.fromhex(key) for key in sorted(names)]
    if not keys:
        return {}
    with connection.cursor() as cursor:
        texts = [names[key.hex()].replace("\x00", "\\u0000") for key in keys]
        cursor.execute(_MAKE, [project_id, clock.now(), keys, texts])
        cursor.execute(_READ, [project_id, keys])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return {
        bytes(key).hex(): Entity(text, orjson.loads(state), trace and bytes(trace).hex())
        for key, text, state, trace in rows
    }


def entities_save(
    project_id: int, entities: Mapping[str, Entity], trace_ids: Mapping[str, str]
) -> None:
    """Keep what is known of locked entities; `trace_ids` says of each to which trace it belongs."""
    if not entities:
        return
    keys = [bytes.fromhex(key) for key in entities]
    traces = [bytes.fromhex(trace_ids[key]) for key in entities]
    states = [orjson.dumps(entity.state).decode() for entity in entities.values()]
    with connection.cursor() as cursor:
        cursor.execute(_SAVE, [clock.now(), keys, traces, states, project_id])


def entities_forget(project_id: int, trace_ids: Iterable[str]) -> None:
    """Forget traces and their observations, as when they are deleted."""
    keys = [bytes.fromhex(trace_id) for trace_id in trace_ids]
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM traces_legacy WHERE project_id = %s AND trace_id = ANY(%s)",
            [project_id, keys],
        )


def entities_orphaned_delete(project_id: int, until: datetime) -> None:
    """Forget what was last said before `until` of traces that are not there."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM traces_legacy l WHERE project_id = %s AND updated_at <= %s AND NOT EXISTS"
            " (SELECT FROM traces_trace t WHERE t.project_id = l.project_id"
            " AND t.trace_id = l.trace_id)",
            [project_id, until],
        )


def entities_retain(cutoff: datetime) -> int:
    """Forget what was last said before `cutoff`; how many."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM traces_legacy WHERE updated_at < %s", [cutoff])
        number: int = cursor.rowcount
    return number
