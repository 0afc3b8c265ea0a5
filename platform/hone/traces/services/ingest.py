"""Spans into the database, at once or together with what the caller writes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog
from django.db import connection, transaction
from psycopg import errors

from hone.common import broker, clock
from hone.common.events.publish import Told, channel, encode
from hone.traces.core.part import Part, TraceKey, parts_of
from hone.traces.core.span import Span
from hone.traces.services.batch import batch_write
from hone.traces.services.echoes import echoes_settle
from hone.traces.services.intake import Intake, intake_for
from hone.traces.services.partitions import partitions_ensure, partitions_forget, window_us
from hone.traces.services.taps import span_taps, taps_run

log = structlog.get_logger(__name__)
INGESTED: Final = "spans.ingested"
_TOLD_IDS: Final = 500  # trace ids in one event
_ATTEMPTS: Final = 4
# Another transaction was faster, or a partition was dropped under our feet: again.
_AGAIN: Final = (errors.UniqueViolation, errors.DeadlockDetected, errors.CheckViolation)


@dataclass(frozen=True, slots=True)
class Ingested:
    """How many spans are durable, and why the others cannot be stored."""

    accepted: int
    refused: tuple[str, ...] = ()


def spans_ingest(*, project_id: int, spans: Sequence[Span], replace: bool = False) -> Ingested:
    """Store spans; they are durable when the transaction is, at the latest on return.

    Idempotent on (project, trace id, span id): of different spans with one id the greater by
    `rank` stands; with `replace` the given one, the last of several. Inside a caller's transaction
    the spans live and die with it. Spans whose start lies outside of the accepted history are
    refused, the rest is stored. Raises django.db.OperationalError or psycopg.OperationalError when
    the database is down.
    """
    accepted, refused = spans_sorted(intake_for(project_id), spans)
    if accepted:
        parts = parts_of(project_id, accepted, replaces=replace, taps=span_taps)
        with transaction.atomic():
            transaction.on_commit(partial(_tell, parts_write(parts)))
    return Ingested(len(accepted), tuple(refused))


def spans_sorted(intake: Intake, spans: Iterable[Span]) -> tuple[list[Span], list[str]]:
    """Spans as they are stored, and why the others cannot be."""
    first_us, end_us = window_us(clock.now())
    accepted: list[Span] = []
    refused: list[str] = []
    for span in spans:
        if first_us <= span.start_ns // 1000 < end_us:
            accepted.append(intake.taken(span))
        else:
            refused.append(f"span {span.span_id}: start time {span.start_ns} ns is out of range")
    return accepted, refused


def parts_write(parts: Sequence[Part]) -> list[TraceKey]:
    """Store parts of traces, atomically; the traces that changed, to be told after commit."""
    days = {day for part in parts for day in part.days()}
    for attempt in range(_ATTEMPTS):
        partitions_ensure(days)
        try:
            with transaction.atomic():
                connection.ensure_connection()
                changed = batch_write(connection.connection, parts)
                tapped = [(part.key[0], span) for part in parts for span in part.tapped]
                if tapped:
                    taps_run(connection.connection, tapped)
                echoes_settle(connection.connection, changed)
                return changed
        except _AGAIN as error:
            if attempt == _ATTEMPTS - 1:
                raise
            log.info("batch_again", reason=type(error).__name__, num_parts=len(parts))
            partitions_forget()
    raise AssertionError("unreachable")


def events_of(changed: Iterable[TraceKey]) -> list[Told]:
    """What to tell of traces that changed, in portions."""
    by_project: dict[int, list[str]] = {}
    for project_id, trace_id in changed:
        by_project.setdefault(project_id, []).append(trace_id.hex())
    return [
        Told(project_id, INGESTED, {"traces": ids[start : start + _TOLD_IDS]}, None)
        for project_id, ids in by_project.items()
        for start in range(0, len(ids), _TOLD_IDS)
    ]


def _tell(changed: Sequence[TraceKey]) -> None:
    """Say which traces changed. A broker that is down costs only time: readers look themselves."""
    try:
        for told in events_of(changed):
            broker.client().publish(channel(told.project_id), encode(told))
    except broker.ERRORS as error:
        log.warning("event_not_sent", kind=INGESTED, error=type(error).__name__)
