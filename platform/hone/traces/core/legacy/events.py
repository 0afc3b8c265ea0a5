"""One event of a batch, read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from hone.common.errors import InvalidError
from hone.traces.core.dialects.values import instant_ns
from hone.traces.core.ids import MAX_LEN
from hone.traces.core.span import TYPES

_AHEAD_NS: Final = 86_400 * 10**9  # a clock that is wrong must not win for ever
TRACE, OBSERVATION, SCORE, LOG = "trace", "observation", "score", "log"


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to an entity; `at_ns` orders the events of one entity."""

    id: str
    kind: str  # trace | observation | score | log
    type: str | None  # of an observation that says so, one of core.span.TYPES
    entity_id: str
    at_ns: int  # unix nanoseconds
    is_update: bool
    body: dict[str, Any]

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.at_ns / 1e9, UTC)

    @property
    def start_ns(self) -> int:
        """When what it speaks of began, as far as it says so."""
        key = "timestamp" if self.kind == TRACE else "startTime"
        return instant_ns(self.body.get(key)) or self.at_ns


def event_of(entry: Any, now_ns: int) -> Event:
    """The event that an entry of a batch spells; raises InvalidError."""
    if not isinstance(entry, dict):
        raise InvalidError("event: want an object")
    name, body = entry.get("type"), entry.get("body")
    if not isinstance(name, str) or not isinstance(body, dict):
        raise InvalidError("event: want id, type, timestamp and body")
    kind, type = _kind(name, body)
    at_ns = instant_ns(entry.get("timestamp"))
    if at_ns is None:
        raise InvalidError(f"timestamp: got {str(entry.get('timestamp'))[:40]!r}, want ISO 8601")
    event_id = str(entry.get("id") or "")
    return Event(
        id=event_id,
        kind=kind,
        type=type,
        entity_id=_entity_id(body, event_id, is_needed=name.endswith("-update")),
        at_ns=min(at_ns, now_ns + _AHEAD_NS),
        is_update=name.endswith("-update"),
        body=body,
    )


def _kind(name: str, body: Mapping[str, Any]) -> tuple[str, str | None]:
    if name in ("trace-create", "trace-update"):
        return TRACE, None
    if name == "score-create":
        return SCORE, None
    if name == "sdk-log":
        return LOG, None
    type, _, verb = name.rpartition("-")
    if verb in ("create", "update") and type == "observation":
        given = str(body.get("type")).lower()
        return OBSERVATION, given if given in TYPES else None
    if verb in ("create", "update") and type in TYPES:
        return OBSERVATION, type
    raise InvalidError(f"type: got {name[:60]!r}, which is no type of event")


def _entity_id(body: Mapping[str, Any], event_id: str, *, is_needed: bool) -> str:
    given = body.get("id")
    if given is None and not is_needed:
        given = event_id
    if not isinstance(given, str) or not 1 <= len(given) <= MAX_LEN or "\r" in given:
        raise InvalidError(f"body.id: want 1 to {MAX_LEN} characters")
    return given
