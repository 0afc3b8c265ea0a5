"""The engine inside of the gpu worker: where platform and engine meet in one process.

`celery … -Q gpu -I hone.gateway.local_engine` imports this module; nothing else does. Three threads
beside Celery's: the engine's own loop, its HTTP server on a loopback port (for the gateway), and
the one here, which tells the database that the engine lives and feeds it the items of batch runs.
"""

import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from celery import shared_task
from celery.signals import worker_init, worker_shutdown
from django.conf import settings
from django.db import Error as DatabaseError

from hone.common import clock
from hone.common.database import release_connections
from hone.gateway.models import BatchItem
from hone.gateway.services import engines, runs
from hone.gateway.services.messages import item_messages
from hone.gateway.services.owners import worker_name
from hone.gateway.services.runs import ItemResult
from hone_engine import server
from hone_engine.config import EngineConfig
from hone_engine.engine import Completion, EngineThread
from hone_engine.types import QueueFullError, RequestError

log = structlog.get_logger(__name__)
BEAT_S = 2.0
IDLE_S = 1.0  # how often the queue is looked at when nobody calls
GATHER_S = 0.02  # results that come together are written together
WRITE_AT_ONCE = 64

Finished = tuple[int, Future[Completion]]


class Feeder:
    """Keeps the engine full of batch items and writes what comes out of it.

    `in_flight` holds the items whose leases are ours; all database work is done by one thread.
    """

    def __init__(self, engine: EngineThread, model: str, owner: str, limit: int) -> None:
        self._engine = engine
        self._model = model
        self._owner = owner
        self._limit = limit
        self._finished: queue.SimpleQueue[Finished | None] = queue.SimpleQueue()
        self._in_flight: dict[int, tuple[BatchItem, Future[Completion], int, object]] = {}
        self._renew_at = 0.0

    @property
    def num_in_flight(self) -> int:
        return len(self._in_flight)

    def wake(self) -> None:
        """There may be new items, or canceled ones; any thread may call."""
        self._finished.put(None)

    def turn(self) -> None:
        """One round: renew leases, claim and submit, write what is finished; about a second."""
        self._renew_if_due()
        self._fill()
        self._write(self._gather())

    def stop(self) -> None:
        """Drop what runs and give its items back."""
        for _, future, _, _ in self._in_flight.values():
            future.cancel()
        runs.items_give_back(owner=self._owner, ids=list(self._in_flight))
        self._in_flight.clear()

    def _renew_if_due(self) -> None:
        if not self._in_flight or time.monotonic() < self._renew_at:
            return
        self._renew_at = time.monotonic() + runs.lease().total_seconds() / 4
        held = runs.items_renew(owner=self._owner, ids=list(self._in_flight))
        for pk in self._in_flight.keys() - held:  # canceled, or taken from us
            self._in_flight.pop(pk)[1].cancel()

    def _fill(self) -> None:
        room = self._limit - len(self._in_flight)
        if room <= 0:
            return
        for item in runs.items_claim(owner=self._owner, models=[self._model], limit=room):
            self._submit(item)

    def _submit(self, item: BatchItem) -> None:
        started_ns = clock.now_ns()
        messages = item_messages(item)
        try:
            request = self._engine.chat_request(messages, dict(item.run.parameters))
            future = self._engine.submit(request)
        except RequestError as error:
            self._fail(item, started_ns, messages, error.message)
        except QueueFullError:
            runs.items_give_back(owner=self._owner, ids=[item.pk])
        else:
            self._in_flight[item.pk] = (item, future, started_ns, messages)
            future.add_done_callback(partial(self._on_done, item.pk))

    def _on_done(self, pk: int, future: Future[Completion]) -> None:
        self._finished.put((pk, future))

    def _fail(self, item: BatchItem, started_ns: int, messages: object, error: str) -> None:
        result = ItemResult(item, started_ns, clock.now_ns(), input=messages, error=error)
        runs.items_finish(owner=self._owner, results=[result])

    def _gather(self) -> list[ItemResult]:
        """Results that are there; waits up to IDLE_S for the first."""
        results: list[ItemResult] = []
        patience = IDLE_S
        while len(results) < WRITE_AT_ONCE:
            try:
                found = self._finished.get(timeout=patience)
            except queue.Empty:
                break
            if found is None:  # woken
                self._renew_at = 0.0
                break
            result = self._result(*found)
            if result is not None:
                results.append(result)
                patience = GATHER_S
        return results

    def _result(self, pk: int, future: Future[Completion]) -> ItemResult | None:
        if pk not in self._in_flight or future.cancelled():
            return None
        item, _, started_ns, messages = self._in_flight[pk]
        error = future.exception()
        if error is not None:
            text = str(error) or type(error).__name__
            return ItemResult(item, started_ns, clock.now_ns(), input=messages, error=text)
        completion = future.result()
        timings = completion.timings
        return ItemResult(
            item,
            started_ns,
            clock.now_ns(),
            input=messages,
            output=completion.text,
            usage={
                "prompt_tokens": timings.prompt_tokens,
                "completion_tokens": timings.completion_tokens,
                "prompt_tokens_details": {"cached_tokens": timings.cached_tokens},
            },
            timings=asdict(timings),
            finish_reason=completion.finish_reason,
        )

    def _write(self, results: list[ItemResult]) -> None:
        if not results:
            return
        try:
            runs.items_finish(owner=self._owner, results=results)
        finally:
            # Not written means: the lease runs out and the item is answered again.
            for result in results:
                self._in_flight.pop(result.item.pk, None)


class Host:
    """Loads the engine, serves it, and keeps the database informed, until `stop`."""

    def __init__(self, model_dir: Path) -> None:
        self._model_dir = model_dir
        self._owner = worker_name()
        self._stop = threading.Event()
        self._feeder: Feeder | None = None
        self._thread = threading.Thread(target=self._run, name="local-engine")

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Look at the queue now."""
        if self._feeder is not None:
            self._feeder.wake()

    def stop(self) -> None:
        """Stop serving, give unfinished items back, take the row out; returns when done."""
        self._stop.set()
        self.wake()
        self._thread.join(timeout=15)

    def _run(self) -> None:
        try:
            self._serve()
        except Exception:
            log.exception("engine_failed", model=str(self._model_dir))
            # A worker without its engine is of no use: the supervisor starts another one.
            os._exit(1)

    def _serve(self) -> None:
        name = self._model_dir.name
        self._until_done(lambda: engines.engine_announce(owner=self._owner, model=name))
        engine = EngineThread.load(str(self._model_dir), engine_config())
        handle = server.serve_in_thread(
            engine, host=settings.HONE_ENGINE_HOST, port=settings.HONE_ENGINE_PORT, api_key=None
        )
        try:
            self._until_done(runs.leases_of_the_dead_release)
            limit = min(settings.HONE_RUN_IN_FLIGHT, engine_config().max_batch)
            self._feeder = Feeder(engine, engine.info.name, self._owner, limit)
            self._until_done(lambda: self._beat(engine, handle.url))
            log.info(f"engine answers at {handle.url}", model=engine.info.name)
            self._loop(engine, handle.url, self._feeder)
        finally:
            self._shut_down(handle, engine)

    def _loop(self, engine: EngineThread, url: str, feeder: Feeder) -> None:
        beat_at = 0.0
        while not self._stop.is_set():
            try:
                if time.monotonic() >= beat_at:
                    beat_at = time.monotonic() + BEAT_S
                    self._beat(engine, url)
                    runs.items_sweep()
                feeder.turn()
            except DatabaseError as error:
                log.warning("database_down", error=str(error))
                release_connections()
                self._stop.wait(IDLE_S)

    def _beat(self, engine: EngineThread, url: str) -> None:
        info, stats = engine.info, engine.stats()
        if not engine.healthy():
            raise RuntimeError("the engine's loop stands still")
        engines.engine_beat(
            owner=self._owner,
            base_url=f"{settings.HONE_ENGINE_URL or url}/v1",
            model=info.name,
            info={
                "device": info.device,
                "context_length": info.context_len,
                "memory_bytes": info.memory_bytes,
                "running": stats.num_running,
                "waiting": stats.num_waiting,
                "kv_tokens_used": stats.kv_tokens_used,
                "kv_tokens_total": stats.kv_tokens_total,
                "tokens_per_second": round(stats.tokens_per_second, 1),
            },
        )

    def _shut_down(self, handle: Any, engine: EngineThread) -> None:
        for step in (
            lambda: engines.engine_remove(owner=self._owner),
            lambda: self._feeder.stop() if self._feeder else None,
            handle.close,
            engine.close,
            release_connections,
        ):
            try:
                step()
            except Exception as error:
                log.warning("engine_stop_failed", error=str(error))

    def _until_done(self, work: Callable[[], object]) -> None:
        """Do `work` as soon as the database takes it: its tables may not be there yet."""
        while not self._stop.is_set():
            try:
                work()
                return
            except DatabaseError:
                release_connections()
                self._stop.wait(0.2)


def engine_config() -> EngineConfig:
    """The engine's settings: its defaults, and what the environment says."""
    config = EngineConfig()
    return replace(
        config,
        threads=settings.HONE_ENGINE_THREADS or config.threads,
        cache_tokens=settings.HONE_ENGINE_CACHE_TOKENS or config.cache_tokens,
        max_batch=settings.HONE_ENGINE_MAX_BATCH or config.max_batch,
    )


_host: Host | None = None


@worker_init.connect
def start(**_: Any) -> None:
    """Load the engine while Celery connects."""
    global _host
    if not settings.HONE_ENGINE_MODEL:
        raise SystemExit("HONE_ENGINE_MODEL: the folder of the engine's model is wanted")
    _host = Host(Path(settings.HONE_ENGINE_MODEL))
    _host.start()


@worker_shutdown.connect
def stop(**_: Any) -> None:
    if _host is not None:
        _host.stop()


@shared_task(name=runs.WAKE)
def runs_wake() -> None:
    """Something changed in the queue of items."""
    if _host is not None:
        _host.wake()
