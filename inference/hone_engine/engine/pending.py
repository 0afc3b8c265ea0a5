"""Answers to come, one by one and by the thousand."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue

from hone_engine.engine.answer import Completion
from hone_engine.types import (
    Delta,
    EngineError,
    QueueFullError,
    Request,
    RequestError,
    TokenLogprob,
)

RETRY_S = 0.05

Outcome = Completion | EngineError | RequestError


class Pending(Future[Completion]):
    """A request's answer to come. `cancel` aborts it: the result then has what was said till then
    and `finish_reason` "abort"."""

    def __init__(
        self,
        request_id: int,
        abort: Callable[[int], None],
        on_delta: Callable[[Delta], None] | None = None,
    ):
        super().__init__()
        self.request_id = request_id
        self._abort = abort
        self._on_delta = on_delta
        self._texts: list[str] = []
        self._token_ids: list[int] = []
        self._logprobs: list[TokenLogprob] = []

    def cancel(self) -> bool:
        if self.done():
            return False
        self._abort(self.request_id)
        return True

    def feed(self, delta: Delta) -> None:
        """Take the next piece; called by the loop."""
        self._texts.append(delta.text)
        self._token_ids += delta.token_ids
        self._logprobs += delta.logprobs
        try:
            if self._on_delta is not None:
                self._on_delta(delta)
        finally:
            if delta.finish_reason is not None:
                self._finish(delta)

    def _finish(self, delta: Delta) -> None:
        if delta.finish_reason in (None, "error") or delta.timings is None:
            self.set_exception(EngineError(delta.error or "the engine failed"))
            return
        self.set_result(
            Completion(
                delta.request_id,
                "".join(self._texts),
                tuple(self._token_ids),
                tuple(self._logprobs),
                delta.finish_reason,
                delta.stop_reason,
                delta.timings,
            )
        )


class Batch:
    """Keeps up to `most` requests in flight until all of an iterable have an outcome."""

    def __init__(self, submit: Callable[[Request], Pending], most: int):
        self._submit = submit
        self._most = most
        self._pending: dict[int, Pending] = {}
        self._done: SimpleQueue[int] = SimpleQueue()

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, Outcome]]:
        """(index, outcome) as they finish; closing the iterator aborts what is in flight."""
        try:
            for index, request in enumerate(requests):
                while len(self._pending) >= self._most:
                    yield self._next()
                error = self._start(index, request)
                if error is not None:
                    yield index, error
            while self._pending:
                yield self._next()
        finally:
            for pending in self._pending.values():
                pending.cancel()

    def _start(self, index: int, request: Request) -> Outcome | None:
        while True:
            try:
                pending = self._submit(request)
            except QueueFullError:  # others use the engine too
                time.sleep(RETRY_S)
            except (RequestError, EngineError) as error:
                return error
            else:
                self._pending[index] = pending
                pending.add_done_callback(lambda _: self._done.put(index))
                return None

    def _next(self) -> tuple[int, Outcome]:
        index = self._done.get()
        pending = self._pending.pop(index)
        error = pending.exception()
        if isinstance(error, EngineError):
            return index, error
        return index, pending.result()
