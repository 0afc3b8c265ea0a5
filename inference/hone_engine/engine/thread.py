"""The engine on a thread of its own, for a server, a worker, or both at once.

One thread turns the loop; all others only append to its inbox and get answers back: as futures,
as a callback on the loop's thread, or as an asynchronous stream. Nothing the receivers do can hold
the loop up: to asyncio it hands over a step's pieces in one call, and what a slow reader has not
taken is joined into one piece, never more than the whole answer.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as Items
from pathlib import Path
from typing import Any, Self

from hone_engine.config import EngineConfig
from hone_engine.engine.channel import Channel, Hub, Sink
from hone_engine.engine.engine import Engine
from hone_engine.engine.exchange import Exchange, Make
from hone_engine.engine.model import EngineInfo
from hone_engine.engine.pending import Batch, Outcome, Pending
from hone_engine.formats import ProgressCallback
from hone_engine.types import (
    Delta,
    EngineError,
    EngineStats,
    LoadingError,
    QueueFullError,
    Request,
    SamplingParams,
)

logger = logging.getLogger(__name__)

IDLE_S = 1.0  # the loop turns at least this often, with nothing to do too
GRACE_S = 30.0  # for requests under way when another model is to come


class EngineThread:
    """An `Engine` that runs until `close`. Every method is safe from any thread."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._inbox: deque[tuple[int, Request, Sink, float]] = deque()
        self._aborts: deque[int] = deque()
        self._sinks: dict[int, Sink] = {}
        self._hub = Hub(self.abort)
        self._wake = threading.Event()
        self._closing = False
        self._exchange: Exchange | None = None
        self._missing = ""  # why no model is there, if none is
        self._gate = threading.Lock()  # between those who post and `close`; never the loop
        self._thread = threading.Thread(target=self._run, name="hone-engine", daemon=True)
        self._thread.start()

    @classmethod
    def load(
        cls,
        path: str | Path,
        config: EngineConfig | None = None,
        *,
        on_progress: ProgressCallback | None = None,
    ) -> Self:
        """Load the model directory at `path` and start; raises as `hone_engine.runner.load`."""
        return cls(Engine.load(path, config, on_progress=on_progress))

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    @property
    def engine(self) -> Engine:
        """What is inside; of it use only what is safe from any thread."""
        return self._engine

    def chat_request(
        self,
        messages: Items[Mapping[str, Any]],
        parameters: Mapping[str, object] | SamplingParams,
        *,
        continue_final: bool = False,
    ) -> Request:
        """A request to go on with a conversation; raises RequestError."""
        return self._engine.chat_request(messages, parameters, continue_final=continue_final)

    def text_request(
        self, prompt: str | Items[int], parameters: Mapping[str, object] | SamplingParams
    ) -> Request:
        """A request to go on with a text or tokens; raises RequestError."""
        return self._engine.text_request(prompt, parameters)

    def submit(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Pending:
        """Queue a request. `on_delta` is called on the loop's thread and must return at once.

        Raises RequestError, QueueFullError, or EngineError after `close`. The future raises
        EngineError when the engine failed.
        """
        pending = Pending(self._engine.new_id(), self.abort, on_delta)
        self._post([pending.request_id], [request], pending)
        return pending

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The pieces of one answer as they come; closing the iterator aborts. Raises as `submit`;
        a failure in the engine comes as a delta with finish_reason "error"."""
        channel = self.open([request])
        try:
            while not channel.done:
                for _, delta in await channel.take():
                    yield delta
        finally:
            channel.close()

    def open(self, requests: Items[Request], *, of: EngineInfo | None = None) -> Channel:
        """Queue requests whose answers the running asyncio loop takes together (all or none are
        queued); raises as `submit`. Close the channel in any case. `of` is the `info` at the time
        the requests were made: LoadingError if another model has come since."""
        ids = [self._engine.new_id() for _ in requests]
        channel = self._hub.open(ids)
        self._post(ids, requests, channel, of)
        return channel

    def complete_all(self, requests: Iterable[Request]) -> Iterator[tuple[int, Outcome]]:
        """Answer any number of requests in one continuous batch, yielding (index, outcome) as they
        finish. A request that fails yields its error. Closing the iterator aborts the rest."""
        config = self._engine.config
        most = config.max_batch + min(config.max_batch, config.max_waiting)
        return Batch(self.submit, most).run(requests)

    def exchange(self, make: Make, again: Make, *, grace_s: float = GRACE_S) -> EngineInfo:
        """Have what `make` loads answer from now on; returns its info when it does.

        The present model is freed before: requests under way get `grace_s` seconds to end and fail
        then, new ones get LoadingError until it is done. Raises what `make` raised, after which
        `again` has made what ran before; where that fails too, requests get EngineError until a
        later exchange succeeds. Raises EngineError while another exchange is under way.
        """
        exchange = Exchange(make, again, time.monotonic() + grace_s)
        with self._gate:
            if self._closing:
                raise EngineError("the engine has been closed")
            if self._exchange is not None:
                raise EngineError("another model is being loaded already")
            self._exchange = exchange
        self._wake.set()
        return exchange.done.result()

    @property
    def is_loading(self) -> bool:
        """Whether another model is on its way, so that no request is taken."""
        return self._exchange is not None

    @property
    def missing(self) -> str:
        """Why there is no model; "" while there is one."""
        return self._missing

    def abort(self, request_id: int) -> None:
        """End a request after the step under way; nothing happens if it has ended."""
        self._aborts.append(request_id)
        self._wake.set()

    def stats(self) -> EngineStats:
        """One look at the engine; never blocks."""
        return self._engine.stats()

    def healthy(self, max_age_s: float = 30.0) -> bool:
        """Whether the loop has turned in the latest `max_age_s` seconds."""
        age = time.monotonic() - self._engine.heartbeat_at
        turns = age <= max_age_s or self.is_loading
        return self._thread.is_alive() and not self._closing and turns and not self._missing

    def close(self, timeout_s: float = 30.0) -> None:
        """Fail what runs, stop the loop, free the model. A second call does nothing."""
        if self._closing:
            return
        with self._gate:
            self._closing = True
        self._wake.set()
        self._thread.join(timeout_s)
        if not self._thread.is_alive() and not self._missing:
            self._engine.close()

    def _post(
        self, ids: Items[int], requests: Items[Request], sink: Sink, of: EngineInfo | None = None
    ) -> None:
        for request in requests:
            self._engine.checked(request)
        now = time.time()
        with self._gate:
            if self._closing:
                raise EngineError("the engine has been closed")
            if self._exchange is not None or (of is not None and of is not self._engine.info):
                raise LoadingError("another model is being loaded; try again in a moment")
            if self._missing:
                raise EngineError(self._missing)
            self._check_room(len(requests))
            for request_id, request in zip(ids, requests, strict=True):
                self._inbox.append((request_id, request, sink, now))
        self._wake.set()

    def _check_room(self, count: int) -> None:
        config = self._engine.config
        num_live = len(self._sinks) + len(self._inbox)
        if num_live + count > config.max_batch + config.max_waiting:
            self._engine.meters.num_refused += count
            raise QueueFullError(
                f"the engine is full: {num_live} requests run or wait; try again later",
                retry_after=self._retry_after(),
            )

    def _retry_after(self) -> int:
        """Seconds until a place should be free, by the rate at which requests finish."""
        rate = self._engine.meters.finish_rate.per_second(time.time())
        return min(60, max(1, round(1 / rate))) if rate else 5

    def _run(self) -> None:
        while not self._closing:
            self._engine.heartbeat_at = time.monotonic()
            try:
                busy = self._turn()
            except Exception as error:
                logger.exception("the engine's loop failed; every request is failed")
                self._fail_all(f"the engine failed ({type(error).__name__}: {error})")
                busy = True
            if not busy:
                self._wake.wait(IDLE_S)
                self._wake.clear()
        self._take_inbox()
        self._fail_all("the engine is shutting down")
        if self._exchange is not None:
            self._exchange.done.set_exception(EngineError("the engine is shutting down"))

    def _turn(self) -> bool:
        """One turn of the loop; False when there was nothing to do."""
        exchange = self._exchange
        if exchange is not None and exchange.is_due(len(self._sinks) + len(self._inbox)):
            self._make_exchange(exchange)
        aborts = [self._aborts.popleft() for _ in range(len(self._aborts))]
        self._take_inbox()  # after the aborts: a request comes before its own abort
        ends = [self._engine.abort(request_id) for request_id in aborts]
        self._deliver([end for end in ends if end is not None])
        if not self._engine.num_live:
            return False
        self._deliver(self._engine.step())
        return True

    def _make_exchange(self, exchange: Exchange) -> None:
        self._take_inbox()
        self._fail_all("another model took this one's place")
        before = self._engine
        engine, error = exchange.made(None if self._missing else before)
        with self._gate:
            if engine is None:
                self._missing = f"there is no model: {error}"
            else:
                engine.take_over(before)
                self._engine, self._missing = engine, ""
            self._exchange = None
        self._engine.heartbeat_at = time.monotonic()
        if error is not None:
            exchange.done.set_exception(error)
        else:
            exchange.done.set_result(self._engine.info)

    def _take_inbox(self) -> None:
        while self._inbox:
            request_id, request, sink, queued_at = self._inbox[0]
            self._sinks[request_id] = sink
            self._inbox.popleft()
            try:
                self._engine.add(request, request_id=request_id, queued_at=queued_at)
            except Exception as error:
                logger.exception("request %d could not be added", request_id)
                self._deliver([Delta(request_id, "", finish_reason="error", error=str(error))])

    def _deliver(self, deltas: Items[Delta]) -> None:
        for delta in deltas:
            sink = self._sinks.get(delta.request_id)
            if sink is None:
                continue
            if delta.finish_reason is not None:
                del self._sinks[delta.request_id]
            try:
                sink.feed(delta)
            except Exception:
                logger.exception("request %d: its receiver failed; aborting", delta.request_id)
                self._aborts.append(delta.request_id)
        self._hub.flush()

    def _fail_all(self, error: str) -> None:
        self._deliver(self._engine.reset(error))
        self._deliver([Delta(i, "", finish_reason="error", error=error) for i in self._sinks])
