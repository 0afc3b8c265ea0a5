"""Group commit: requests that wait at the same time share one transaction.

While batches are being written, the next one gathers; its requests are answered when it is
committed. The busier the door, the larger the batches, and the fewer commits a span costs.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

import psycopg
import structlog
from django.conf import settings
from django.db import Error as DjangoError
from psycopg_pool import PoolTimeout

from hone.common import broker
from hone.common.database import database_call
from hone.common.errors import InvalidError, UnavailableError
from hone.common.events.publish import channel, encode
from hone.traces.core.part import Part, TraceKey, parts_of
from hone.traces.core.span import Span
from hone.traces.services.ingest import (
    INGESTED,
    Ingested,
    events_of,
    parts_write,
    spans_sorted,
)
from hone.traces.services.intake import Intake, intake_for_async
from hone.traces.services.taps import span_taps

log = structlog.get_logger(__name__)
BATCH_SPANS: Final = 4000
WRITERS: Final = 2  # batches under way at once: while one waits for the disk, the next is built
# Between announcements: one a batch cost a tenth of the process under load.
TELL_PAUSE_S: Final = 0.03
DATABASE_DOWN: Final = (
    DjangoError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    PoolTimeout,
)


@dataclass(eq=False, slots=True)
class _Waiting:
    parts: Sequence[Part]
    num_spans: int
    done: asyncio.Future[None]


@dataclass(slots=True)
class Writer:
    """The writer of one event loop, with what waits for it."""

    waiting: deque[_Waiting] = field(default_factory=deque)
    num_spans: int = 0  # that wait or are being written
    num_running: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)  # kept from being collected
    changed: list[TraceKey] = field(default_factory=list)  # traces that nobody was told of yet
    teller: asyncio.Task[None] | None = None

    def add(self, parts: Sequence[Part]) -> asyncio.Future[None]:
        """Queue parts of traces; the future is done when they are durable.

        Raises UnavailableError when more waits than may.
        """
        num_spans = sum(len(part.rows) for part in parts)
        if self.num_spans and self.num_spans + num_spans > settings.HONE_TRACES_BUFFER_SPANS:
            raise UnavailableError("Too many spans are waiting to be written", retry_after_s=1)
        entry = _Waiting(parts, num_spans, asyncio.get_running_loop().create_future())
        self.waiting.append(entry)
        self.num_spans += num_spans
        if self.num_running < WRITERS:
            self.num_running += 1
            task = asyncio.create_task(self.run())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return entry.done

    async def run(self) -> None:
        try:
            while self.waiting:
                await self.write_next()
        finally:
            self.num_running -= 1

    async def write_next(self) -> None:
        """Write what waits, up to BATCH_SPANS, at least one request."""
        group = [self.waiting.popleft()]
        num_spans = group[0].num_spans
        while self.waiting and num_spans + self.waiting[0].num_spans <= BATCH_SPANS:
            num_spans += self.waiting[0].num_spans
            group.append(self.waiting.popleft())
        try:
            await self.write(group)
        finally:
            self.num_spans -= num_spans

    async def write(self, group: Sequence[_Waiting]) -> None:
        """Write a group in one transaction and answer each of its requests."""
        try:
            parts = [part for entry in group for part in entry.parts]
            changed = await database_call(parts_write, parts)
        except (*DATABASE_DOWN, psycopg.Error) as error:
            if len(group) > 1 and not isinstance(error, DATABASE_DOWN):
                for entry in group:  # one of them is to blame: the others must not pay for it
                    await self.write([entry])
                return
            failure = _failure(error)
            for entry in group:
                _settle(entry, failure)
        except Exception:
            log.exception("batch_failed", num_spans=sum(entry.num_spans for entry in group))
            for entry in group:
                _settle(entry, UnavailableError("Writing the spans failed", retry_after_s=5))
        else:
            for entry in group:
                _settle(entry, None)
            self.tell(changed)

    def tell(self, changed: Sequence[TraceKey]) -> None:
        """Announce changes without keeping anybody waiting, a broker that hangs included."""
        self.changed += changed
        if self.teller is None or self.teller.done():
            self.teller = asyncio.create_task(self.tell_all())

    async def told(self) -> None:
        """Wait until what was written is announced."""
        if self.teller is not None:
            await self.teller

    async def tell_all(self) -> None:
        while self.changed:
            changed, self.changed = self.changed, []
            try:
                for told in events_of(changed):
                    await broker.aclient().publish(channel(told.project_id), encode(told))
            except broker.ERRORS as error:
                log.warning("event_not_sent", kind=INGESTED, error=type(error).__name__)
            await asyncio.sleep(TELL_PAUSE_S)


def _failure(error: Exception) -> UnavailableError | InvalidError:
    if isinstance(error, DATABASE_DOWN):
        log.warning("store_unavailable", error=str(error)[:200])
        return UnavailableError("The database does not answer", retry_after_s=2)
    log.error("batch_refused", error=str(error)[:500])
    return InvalidError(f"The spans cannot be stored: {type(error).__name__}")


def _settle(entry: _Waiting, failure: Exception | None) -> None:
    if entry.done.done():  # its client hung up
        return
    if failure is None:
        entry.done.set_result(None)
    else:
        entry.done.set_exception(failure)


_writers: WeakKeyDictionary[asyncio.AbstractEventLoop, Writer] = WeakKeyDictionary()


def writer() -> Writer:
    """The writer of the running event loop."""
    return _writers.setdefault(asyncio.get_running_loop(), Writer())


async def parts_store(parts: Sequence[Part]) -> None:
    """Store parts of an ASGI request, in one transaction with those of others; durable on return.

    Raises UnavailableError (503, Retry-After) when too much waits or the database does not answer:
    then none of them is acknowledged.
    """
    if parts:
        await writer().add(parts)


async def spans_write(project_id: int, spans: Sequence[Span]) -> Ingested:
    """As `spans_ingest`, for an ASGI request, with the promises of `parts_store`."""
    accepted, refused = spans_sorted(await intake(project_id), spans)
    await parts_store(parts_of(project_id, accepted, taps=span_taps))
    return Ingested(len(accepted), tuple(refused))


async def intake(project_id: int) -> Intake:
    """Prices and masks of a project; raises UnavailableError when the database does not answer."""
    try:
        return await intake_for_async(project_id)
    except DATABASE_DOWN as error:
        raise _failure(error) from None
