"""What is known of an entity, field by field, in a form that JSON holds.

`folded` does not depend on the order of events: of two values of a field the one of the later event
stands, at the same moment that of the update; a field that must not change keeps the first. Null
and empty values say nothing. Metadata merges key by key, tags add up.
"""

from collections.abc import Mapping
from typing import Any, Final

from hone.traces.core.legacy.events import TRACE, Event

# field -> [nanoseconds, 1 for an update, value]
State = dict[str, list[Any]]
FIRST: Final = frozenset({"at", "environment", "timestamp", "startTime", "traceId", "type"})
PARTS: Final = frozenset({"metadata", "tags"})  # every part is kept: [[nanoseconds, 1, value], …]
_TRACE_FIELDS: Final = (
    "timestamp name userId sessionId input output metadata tags release version environment public"
)
_OBSERVATION_FIELDS: Final = (
    "traceId parentObservationId name startTime endTime completionStartTime input output metadata"
    " level statusMessage version environment model modelParameters usage usageDetails costDetails"
    " promptName promptVersion"
)
FIELDS: Final[Mapping[bool, tuple[str, ...]]] = {
    True: tuple(_TRACE_FIELDS.split()),
    False: tuple(_OBSERVATION_FIELDS.split()),
}
MAX_PARTS: Final = 200  # of the metadata of one entity; the earliest ones go


def folded(state: State, event: Event) -> State:
    """`state` with what the event says; `state` itself stays."""
    result = dict(state)
    order = [event.at_ns, int(event.is_update)]
    given = {name: event.body.get(name) for name in FIELDS[event.kind == TRACE]}
    given |= {"type": event.type, "at": event.at_ns}
    if not event.is_update:
        given["created"] = True
    for name, value in given.items():
        if value is None or value in ({}, []):
            continue
        if name in PARTS:
            result[name] = _with_part(result.get(name, []), [*order, value])
        elif name not in result or _stands(name, [*order, value], result[name]):
            result[name] = [*order, value]
    return result


def _stands(name: str, said: list[Any], other: list[Any]) -> bool:
    """Whether `said` replaces `other`; values decide between events of one moment."""
    one, two = [*said[:2], repr(said[2])], [*other[:2], repr(other[2])]
    return one < two if name in FIRST else one > two


def _with_part(parts: list[Any], part: list[Any]) -> list[Any]:
    if part in parts:
        return parts
    return sorted([*parts, part], key=lambda p: (p[0], p[1], repr(p[2])))[-MAX_PARTS:]


def ended(state: State, end_ns: int) -> State:
    """The state of a trace with what one of its observations adds: it lasts until `end_ns`."""
    return {**state, "end": [0, 0, max(end_ns, value_of(state, "end") or 0)]}


def is_known(state: State) -> bool:
    """Whether the state says enough to be written: an update alone does not say of what."""
    return "created" in state or "traceId" in state


def value_of(state: State, name: str) -> Any:
    """The value that stands, None where none does."""
    found = state.get(name)
    return found[2] if found else None


def metadata_merged(state: State) -> dict[str, Any]:
    """Metadata of all events, later ones over earlier ones, mappings merged within."""
    found: dict[str, Any] = {}
    for _, _, value in state.get("metadata", ()):
        found = _merged(found, value if isinstance(value, dict) else {"metadata": value})
    return found


def _merged(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(one)
    for key, value in other.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = _merged(old, value)
        elif value is not None or key not in result:
            result[key] = value
    return result


def tags_of(state: State) -> tuple[str, ...]:
    """The tags of all events, sorted."""
    lists = [tags for _, _, tags in state.get("tags", ()) if isinstance(tags, list)]
    return tuple(sorted({tag for tags in lists for tag in tags if isinstance(tag, str) and tag}))
