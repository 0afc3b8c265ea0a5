from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import orjson
import structlog
from django.db import connection, transaction

from hone.common import broker, clock
from hone.common.models import Event

log = structlog.get_logger(__name__)
KEEP = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Told:
    """An event as a listener gets it; `seq` is None for one that may be lost."""

    project_id: int
    kind: str
    payload: dict[str, Any]
    seq: int | None


def channel(project_id: int) -> str:
    """The Redis channel of a project."""
    return broker.key("events", project_id)


def encode(told: Told) -> bytes:
    return orjson.dumps([told.kind, told.payload, told.seq], default=str)


def decode(project_id: int, data: bytes) -> Told:
    kind, payload, seq = orjson.loads(data)
    return Told(project_id, kind, payload, seq)


def _next_seq(project_id: int) -> int:
    """The project's next number. The counter's row stays locked until the transaction ends, so
    that numbers become visible in their order and without gaps."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO common_event_counter AS c (project_id, seq) VALUES (%s, 1)"
            " ON CONFLICT (project_id) DO UPDATE SET seq = c.seq + 1 RETURNING seq",
            [project_id],
        )
        row: tuple[int] = cursor.fetchone()
        return row[0]


def _send(told: Told) -> None:
    try:
        broker.client().publish(channel(told.project_id), encode(told))
    except broker.ERRORS as error:
        log.warning("event_not_sent", kind=told.kind, error=type(error).__name__)


def publish(
    project_id: int, kind: str, payload: Mapping[str, Any], *, durable: bool = False
) -> None:
    """Tell the project's listeners `kind` with `payload` (small, JSON) after commit.

    Inside a transaction make it the latest statement: with `durable` it holds a lock that other
    writers of the same project wait for. Nothing is told when the transaction rolls back.
    """
    values = dict(payload)
    with transaction.atomic():
        seq = None
        if durable:
            seq = _next_seq(project_id)
            Event.objects.create(
                project_id=project_id,
                seq=seq,
                kind=kind,
                payload=orjson.loads(orjson.dumps(values, default=str)),
                created_at=clock.now(),
            )
        transaction.on_commit(partial(_send, Told(project_id, kind, values, seq)))


def since(project_id: int, seq: int, limit: int = 500) -> list[Told]:
    """The kept events after `seq`, oldest first."""
    rows = Event.objects.filter(project_id=project_id, seq__gt=seq).order_by("seq")[:limit]
    return [Told(project_id, row.kind, row.payload, row.seq) for row in rows]


def latest_seq(project_id: int) -> int:
    """The number of the project's latest durable event, 0 where there is none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq FROM common_event_counter WHERE project_id = %s", [project_id])
        row = cursor.fetchone()
        return row[0] if row else 0


def prune(before: datetime) -> int:
    """Delete events told before `before`; how many."""
    return Event.objects.filter(created_at__lt=before).delete()[0]


def forget(project_id: int) -> None:
    """Delete what was kept of a project's events."""
    Event.objects.filter(project_id=project_id).delete()
