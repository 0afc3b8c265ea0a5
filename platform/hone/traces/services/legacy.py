"""Batches of events: what is known of each entity is kept, folded on, and written as spans."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db import transaction

from hone.common import clock
from hone.common.errors import ForbiddenError, HoneError, InvalidError
from hone.traces.core.ids import span_key, trace_key
from hone.traces.core.legacy import (
    OBSERVATION,
    SCORE,
    TRACE,
    Event,
    ended,
    event_of,
    folded,
    is_known,
    observation_span,
    trace_span,
    value_of,
)
from hone.traces.core.masks import Masks
from hone.traces.core.span import Span
from hone.traces.services.deletion import trace_delete
from hone.traces.services.ingest import spans_ingest
from hone.traces.services.intake import intake_for
from hone.traces.services.legacy_entities import Entity, entities_lock, entities_save
from hone.traces.services.partitions import window_us
from hone.traces.services.score_event import score_write_of
from hone.traces.services.scores import scores_known, scores_upsert

MAX_EVENTS: Final = 5000  # in one batch
_OUT_OF_RANGE: Final = "startTime: it lies outside of the time for which traces are taken"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one event."""

    id: str
    error: HoneError | None = None


# What people wrote; ids and times are no place for secrets, and masking would tear them apart.
_MASKED: Final = (
    *("name", "userId", "sessionId", "input", "output", "metadata", "tags", "statusMessage"),
    *("model", "modelParameters", "promptName", "release", "version"),
)
Failures = dict[int, HoneError]  # position of an event -> why it was not taken


def legacy_write(project_id: int, entries: Sequence[Any]) -> list[Outcome]:
    """Store the events of a batch, one outcome each; durable on return. A bad one hinders no other.

    The same events in any order, in one batch or in several, once or more often, give the same
    traces. Raises django.db.OperationalError when the database is down.
    """
    events, failures = _read(entries)
    masks = intake_for(project_id).masks
    if masks:
        events = {
            place: event if event.kind == SCORE else _masked(event, masks)
            for place, event in events.items()
        }
    failures |= _spans_write(project_id, events)
    failures |= _scores_write(project_id, events)
    return [
        Outcome(_id_of(entry), failures.get(position)) for position, entry in enumerate(entries)
    ]


def page_scores_write(project_id: int, entries: Sequence[Any]) -> list[Outcome]:
    """As `legacy_write`, for whoever knows a project's public key: new scores and nothing else.

    What is stored already, also a score of the same id, stays as it is.
    """
    names = {position: _score_of_page(entry) for position, entry in enumerate(entries)}
    known = scores_known(project_id, [name for name in names.values() if name])
    taken = {at: name for at, name in names.items() if name and name not in known}
    written = iter(legacy_write(project_id, [entries[at] for at in taken]))
    refusal = ForbiddenError("With a public key alone, new scores are taken and nothing else")
    return [
        next(written) if at in taken else Outcome(_id_of(entry), refusal)
        for at, entry in enumerate(entries)
    ]


def _score_of_page(entry: Any) -> str | None:
    """The id of the score that an event of a page creates; None for what it may not do."""
    body = entry.get("body") if isinstance(entry, dict) else None
    if not isinstance(body, dict) or entry.get("type") != "score-create":
        return None
    if body.get("source") not in (None, "API"):
        return None
    name = body.get("id") or entry.get("id")
    return name if isinstance(name, str) else None


def _id_of(entry: Any) -> str:
    return str(entry.get("id") or "") if isinstance(entry, dict) else ""


def _read(entries: Sequence[Any]) -> tuple[dict[int, Event], Failures]:
    events: dict[int, Event] = {}
    failures: Failures = {}
    now_ns = clock.now_ns()
    for position, entry in enumerate(entries):
        try:
            if position >= MAX_EVENTS:
                raise InvalidError(f"The batch has more than {MAX_EVENTS} events")
            events[position] = event_of(entry, now_ns)
        except InvalidError as error:
            failures[position] = error
    return events, failures


def _masked(event: Event, masks: Masks) -> Event:
    """The event as it may be kept: state is stored beside the spans that it becomes."""
    hidden: dict[str, Any] = {
        name: masks.value(event.body[name]) for name in _MASKED if name in event.body
    }
    return replace(event, body={**event.body, **hidden})


def _scores_write(project_id: int, events: Mapping[int, Event]) -> Failures:
    failures: Failures = {}
    writes = {}
    for position, event in events.items():
        if event.kind == SCORE:
            try:
                writes[position] = score_write_of(event.body | {"id": event.entity_id}, event.at)
            except InvalidError as error:
                failures[position] = error
    if writes:
        done = scores_upsert(project_id=project_id, writes=list(writes.values()))
        for position, outcome in zip(writes, done, strict=True):
            if outcome.error is not None:
                failures[position] = outcome.error
    return failures


def _spans_write(project_id: int, events: Mapping[int, Event]) -> Failures:
    """Fold the events of traces and observations, and write the spans that they make."""
    failures: Failures = {}
    taken = _in_range(events, failures)
    if not taken:
        return failures
    with transaction.atomic():
        # Observations first, then traces, each in order of id: so nobody waits in a circle.
        observations = _folded(project_id, [e for e in taken if e.kind == OBSERVATION])
        spans = {
            key: observation_span(entity.external_id, entity.state)
            for key, entity in observations.items()
            if is_known(entity.state)
        }
        traces = _traces(project_id, [e for e in taken if e.kind == TRACE], observations, spans)
        own = {
            key: spans[key].trace_id if key in spans else trace_key(entity.external_id)
            for key, entity in observations.items()
        }
        entities_save(project_id, observations, own)
        entities_save(project_id, traces, {key: key for key in traces})
        _leave_own_traces(project_id, observations, own)
        roots = [trace_span(k, entity.state) for k, entity in traces.items() if entity.is_sent]
        spans_ingest(project_id=project_id, spans=[*roots, *spans.values()], replace=True)
    return failures


def _leave_own_traces(
    project_id: int, observations: Mapping[str, Entity], now: Mapping[str, str]
) -> None:
    """Delete the traces that observations had to themselves until their trace was known."""
    for key in sorted(observations):
        entity = observations[key]
        own = trace_key(entity.external_id)
        if entity.trace_id == own != now[key]:
            trace_delete(project_id=project_id, trace_id=own)


def _in_range(events: Mapping[int, Event], failures: Failures) -> list[Event]:
    """The events of spans that can be stored; of the others `failures` says why not."""
    first_us, end_us = window_us(clock.now())
    taken = []
    for position, event in events.items():
        if event.kind not in (TRACE, OBSERVATION):
            continue
        if first_us <= event.start_ns // 1000 < end_us:
            taken.append(event)
        else:
            failures[position] = InvalidError(_OUT_OF_RANGE)
    return taken


def _folded(project_id: int, events: Iterable[Event]) -> dict[str, Entity]:
    """The observations that events speak of, by key, locked, with what the events add."""
    names = {span_key(event.entity_id): event.entity_id for event in events}
    entities = entities_lock(project_id, names)
    for event in events:
        entity = entities[span_key(event.entity_id)]
        entity.state = folded(entity.state, event)
    return entities


def _traces(
    project_id: int,
    events: Sequence[Event],
    observations: Mapping[str, Entity],
    spans: Mapping[str, Span],
) -> dict[str, Entity]:
    """As `_folded` for traces, and those to which observations belong: they last longer now."""
    names = {trace_key(event.entity_id): event.entity_id for event in events}
    for key, span in spans.items():
        entity = observations[key]
        names.setdefault(span.trace_id, value_of(entity.state, "traceId") or entity.external_id)
    entities = entities_lock(project_id, names)
    for event in events:
        entity = entities[trace_key(event.entity_id)]
        entity.state = folded(entity.state, event)
    for span in spans.values():
        entity = entities[span.trace_id]
        entity.state = ended(entity.state, span.end_ns)
    return entities
