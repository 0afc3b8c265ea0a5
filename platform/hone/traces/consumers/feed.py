"""One reader a project and process, whoever listens: it reads a change once and hands it to all.

Events only wake it. What changed it reads by number, and it looks by itself every LOOK_S too, so
that a message which Redis dropped costs seconds and not a trace.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Final
from weakref import WeakKeyDictionary

import structlog

from hone.common import events
from hone.common.database import database_call
from hone.common.rest import as_hone_error
from hone.traces.core.sse import frame
from hone.traces.selectors import Change, changes_since, horizon
from hone.traces.services import INGESTED

log = structlog.get_logger(__name__)
ROWS: Final = 200  # newest changes in one frame; with more at once the older ones are left out
PACE_S: Final = 0.1  # at most so often
LOOK_S: Final = 5.0
RETRY_S: Final = 2.0
QUEUE_LEN: Final = 100  # frames that a listener may lag behind before it is sent off

Queue = asyncio.Queue[bytes | None]  # None: too slow, come again


class Feed:
    """What happens in one project, for its listeners in this event loop."""

    def __init__(self, project_id: int) -> None:
        self.project_id = project_id
        self.queues: set[Queue] = set()
        self.changed = asyncio.Event()
        self.seq = 0
        self.sent: set[int] = set()  # numbers over `seq` that were sent already
        self.tasks: list[asyncio.Task[None]] = []

    def start(self, seq: int) -> None:
        self.seq = seq
        self.tasks = [
            asyncio.create_task(self.keep(self.hear)),
            asyncio.create_task(self.keep(self.read)),
        ]

    def stop(self) -> None:
        for task in self.tasks:
            task.cancel()

    async def keep(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work for ever; the database or Redis may be away for a while."""
        while True:
            try:
                await work()
            except Exception as error:
                if as_hone_error(error) is None:
                    log.exception("feed_failed", project_id=self.project_id)
                await asyncio.sleep(RETRY_S)

    async def hear(self) -> None:
        async with aclosing(events.subscribe(self.project_id)) as told_ones:
            async for told in told_ones:
                if told.kind == INGESTED:
                    self.changed.set()
                else:
                    self.send(frame(told.kind, told.payload))

    async def read(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), LOOK_S)
            self.changed.clear()
            number, changes = await database_call(news, self.project_id, self.seq)
            fresh = [change for change in changes if change.seq not in self.sent]
            if fresh:
                self.send(traces_frame(number, fresh))
            self.sent = {change.seq for change in changes if change.seq > number}
            self.seq = number
            await asyncio.sleep(PACE_S)

    def send(self, data: bytes) -> None:
        for queue in self.queues:
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)
            else:
                queue.put_nowait(data)


def news(project_id: int, seq: int, limit: int = ROWS) -> tuple[int, list[Change]]:
    """How far numbers can be trusted now, and what changed after `seq`."""
    number = horizon()
    return number, changes_since(project_id, seq, limit=limit)


def traces_frame(number: int, changes: list[Change]) -> bytes:
    rows = [change.row for change in changes]
    return frame("traces", {"seq": number, "rows": rows}, number)


_feeds: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Feed]] = WeakKeyDictionary()


@contextlib.asynccontextmanager
async def listening(project_id: int, seq: int) -> AsyncIterator[Queue]:
    """A queue of the project's frames; the first listener's feed starts after `seq`."""
    feeds = _feeds.setdefault(asyncio.get_running_loop(), {})
    feed = feeds.get(project_id)
    if feed is None:
        feed = feeds[project_id] = Feed(project_id)
        feed.start(seq)
    queue: Queue = asyncio.Queue(QUEUE_LEN)
    feed.queues.add(queue)
    try:
        yield queue
    finally:
        feed.queues.discard(queue)
        if not feed.queues:
            feed.stop()
            feeds.pop(project_id, None)
