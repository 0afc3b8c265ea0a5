"""The rows by which the web processes find the local engines; each engine writes its own."""

from datetime import timedelta
from typing import Any

from django.db import transaction

from hone.common import clock
from hone.gateway.models import Connection, EngineState, Kind
from hone.gateway.services.owners import owner_is_gone

FORGET_AFTER = timedelta(minutes=10)
NAME = "local engine"


@transaction.atomic
def engine_announce(*, owner: str, model: str) -> None:
    """An engine begins to load `model`; rows of processes that are gone are removed."""
    local = Connection.objects.filter(kind=Kind.LOCAL)
    old = clock.now() - FORGET_AFTER
    gone = [
        row.pk
        for row in local
        if row.owner == owner or owner_is_gone(row.owner) or (row.heartbeat_at or old) <= old
    ]
    local.filter(pk__in=gone).delete()
    Connection.objects.create(
        kind=Kind.LOCAL,
        name=NAME,
        owner=owner,
        state=EngineState.STARTING,
        model_names=[model],
        heartbeat_at=clock.now(),
    )


def engine_beat(*, owner: str, base_url: str, model: str, info: dict[str, Any]) -> None:
    """The engine of `owner` answers at `base_url`; writes the row anew if somebody removed it."""
    Connection.objects.update_or_create(
        kind=Kind.LOCAL,
        owner=owner,
        defaults={
            "name": NAME,
            "base_url": base_url,
            "state": EngineState.READY,
            "model_names": [model],
            "info": info,
            "heartbeat_at": clock.now(),
        },
    )


def engine_remove(*, owner: str) -> None:
    """The engine stops in order."""
    Connection.objects.filter(kind=Kind.LOCAL, owner=owner).delete()
