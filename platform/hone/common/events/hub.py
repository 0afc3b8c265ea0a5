"""One Redis subscription an event loop, shared by all its listeners."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncGenerator
from weakref import WeakKeyDictionary

import structlog
from redis.asyncio.client import PubSub

from hone.common import broker
from hone.common.database import database_call
from hone.common.events.publish import Told, channel, decode, latest_seq, since

log = structlog.get_logger(__name__)
QUEUE_LEN = 1000  # messages that a slow listener may lag behind
RETRY_S = 1.0
CATCH_UP_S = 10.0  # how often a listener looks into the database when nothing is told

Queue = asyncio.Queue[Told | None]  # None: something was missed, look into the database
_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, "Hub"] = WeakKeyDictionary()


class Hub:
    """Reads the channels that somebody listens to and hands each message to its listeners."""

    def __init__(self) -> None:
        self.queues: defaultdict[int, set[Queue]] = defaultdict(set)
        self.changed = asyncio.Event()
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def add(self, project_id: int) -> Queue:
        queue: Queue = asyncio.Queue(QUEUE_LEN)
        self.queues[project_id].add(queue)
        self.changed.set()
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.run())
        return queue

    def remove(self, project_id: int, queue: Queue) -> None:
        self.queues[project_id].discard(queue)
        if not self.queues[project_id]:
            del self.queues[project_id]
        self.changed.set()

    async def run(self) -> None:
        while self.queues:
            try:
                await self.listen()
            except Exception as error:  # whatever it is, all listeners depend on this task
                log.warning("event_listener_lost", error=repr(error))
                await asyncio.sleep(RETRY_S)

    async def listen(self) -> None:
        """Read until nobody listens any more or the connection breaks."""
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(broker.listener())
            pubsub = await stack.enter_async_context(client.pubsub())
            joined: dict[str, int] = {}
            while self.queues:
                await self.join(pubsub, joined)
                self.tell_all_to_look()
                while not self.changed.is_set():
                    message = await pubsub.get_message(timeout=0.25)
                    if message is not None and message["type"] == "message":
                        self.deliver(joined, message)

    async def join(self, pubsub: PubSub, joined: dict[str, int]) -> None:
        """Make the subscription that of the present listeners."""
        self.changed.clear()
        wanted = {channel(project): project for project in self.queues}
        if gone := joined.keys() - wanted.keys():
            await pubsub.unsubscribe(*gone)
        if new := wanted.keys() - joined.keys():
            await pubsub.subscribe(*new)
        joined.clear()
        joined.update(wanted)

    def deliver(self, joined: dict[str, int], message: dict[str, bytes]) -> None:
        project_id = joined.get(message["channel"].decode())
        if project_id is None:
            return
        told = decode(project_id, message["data"])
        for queue in self.queues.get(project_id, ()):
            offer(queue, told)

    def tell_all_to_look(self) -> None:
        for queues in self.queues.values():
            for queue in queues:
                offer(queue, None)


def offer(queue: Queue, told: Told | None) -> None:
    """Hand over a message; a listener that is full loses its oldest and is told to look."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        told = None
    queue.put_nowait(told)


async def subscribe(project_id: int, *, after: int | None = None) -> AsyncGenerator[Told, None]:
    """The project's events from now on, or from the kept ones after number `after`.

    Durable ones come in order and without gaps while they are kept (`KEEP`), whatever Redis drops;
    the others as they come. Close the iterator (`aclosing`) when the client hangs up.
    """
    loop = asyncio.get_running_loop()
    hub = _hubs.setdefault(loop, Hub())
    queue = hub.add(project_id)
    try:
        seq = await database_call(latest_seq, project_id) if after is None else after
        look = True
        while True:
            if look:
                async for told in _kept(project_id, seq):
                    seq = told.seq or seq
                    yield told
            told_now = await _next(queue)
            look = told_now is None or (told_now.seq is not None and told_now.seq > seq + 1)
            if told_now is None or look:
                continue
            if told_now.seq is None:
                yield told_now
            elif told_now.seq == seq + 1:
                seq = told_now.seq
                yield told_now
    finally:
        hub.remove(project_id, queue)


async def _next(queue: Queue) -> Told | None:
    with contextlib.suppress(asyncio.TimeoutError):
        return await asyncio.wait_for(queue.get(), CATCH_UP_S)
    return None


async def _kept(project_id: int, seq: int) -> AsyncGenerator[Told, None]:
    """All kept events after `seq`, read in portions."""
    while rows := await database_call(since, project_id, seq):
        for told in rows:
            yield told
        seq = rows[-1].seq or seq
