"""The engine without a thread: add, step, abort, one caller at a time."""

import itertools
import logging
import time
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Items
from itertools import compress
from pathlib import Path
from typing import Any

from hone_engine.cache.blocks import PagePool
from hone_engine.config import EngineConfig, tuned
from hone_engine.engine.ahead import AheadRunner, Flight
from hone_engine.engine.answer import Answer
from hone_engine.engine.meters import Meters
from hone_engine.engine.model import EngineInfo, Model
from hone_engine.engine.prompts import encode_bounded, params_of, too_long
from hone_engine.formats import ProgressCallback
from hone_engine.runner import load
from hone_engine.sampling import seed_of
from hone_engine.scheduler import Scheduler
from hone_engine.types import (
    Chunk,
    Delta,
    EngineStats,
    FinishReason,
    Request,
    RequestError,
    Sampled,
    SamplingParams,
    Sequence,
)

logger = logging.getLogger(__name__)


class Engine:
    """Answers many requests at once, a token of each a step.

    `chat_request`, `text_request`, `checked`, `new_id`, `info` and `stats` are safe from any
    thread; the rest belongs to the one that steps.
    """

    def __init__(self, model: Model, config: EngineConfig):
        self.config = config
        self.model = model
        self.tokenizer = model.tokenizer
        self.meters = Meters()
        self.heartbeat_at = time.monotonic()
        runner = model.runner
        self.info = EngineInfo(
            name=model.name,
            device=model.device,
            context_len=runner.context_len,
            vocab_size=runner.vocab_size,
            memory_bytes=model.memory_bytes,
            kv_tokens_total=runner.num_pages * runner.page_len,
            max_batch=config.max_batch,
            started_at=time.time(),
        )
        self._ids = itertools.count(1)
        self._answers: dict[int, Answer] = {}
        self._flight: Flight | None = None  # the step under way, on a GPU
        self._num_preemptions = 0  # of schedulers before the present one
        self.scheduler = self._new_scheduler()

    @classmethod
    def load(
        cls,
        path: str | Path,
        config: EngineConfig | None = None,
        *,
        on_progress: ProgressCallback | None = None,
    ) -> "Engine":
        """An engine over the model directory at `path`; raises as `hone_engine.runner.load`."""
        config = tuned(config or EngineConfig())
        return cls(load(Path(path), config, on_progress=on_progress), config)

    def chat_request(
        self,
        messages: Items[Mapping[str, Any]],
        parameters: Mapping[str, object] | SamplingParams,
        *,
        continue_final: bool = False,
    ) -> Request:
        """A request to go on with a conversation; raises RequestError."""
        params = params_of(parameters)
        text = self.tokenizer.chat_text(
            messages, add_generation_prompt=not continue_final, continue_final=continue_final
        )
        ids = self._encoded(text, special=False, param="messages")
        return self.checked(Request(ids, params), param="messages")

    def text_request(
        self, prompt: str | Items[int], parameters: Mapping[str, object] | SamplingParams
    ) -> Request:
        """A request to go on with a text or tokens; raises RequestError."""
        params = params_of(parameters)
        if isinstance(prompt, str):
            ids = self._encoded(prompt, special=True, param="prompt")
        else:
            ids = list(prompt)
        return self.checked(Request(ids, params), param="prompt")

    def checked(self, request: Request, *, param: str = "prompt") -> Request:
        """The request itself if it can be served, else RequestError; safe from any thread."""
        length, info = len(request.prompt_ids), self.info
        if length == 0:
            raise RequestError(f"{param} is empty; it must come to at least one token", param=param)
        if length >= info.context_len:
            raise too_long(param, info.context_len, length)
        params = request.params
        for name, ids in (
            (param, request.prompt_ids),
            ("stop_token_ids", params.stop_token_ids),
            ("logit_bias", [token for token, _ in params.logit_bias]),
            ("allowed_tokens", params.allowed_tokens),
        ):
            if ids and not (min(ids) >= 0 and max(ids) < info.vocab_size):
                raise RequestError(
                    f"{name} holds a token id outside of 0 to {info.vocab_size - 1}", param=name
                )
        return request

    def new_id(self) -> int:
        """A number no other request has; safe from any thread."""
        return next(self._ids)

    def add(
        self, request: Request, *, request_id: int | None = None, queued_at: float | None = None
    ) -> int:
        """Queue a request and return its id; raises RequestError when it cannot be served."""
        self.checked(request)
        request_id = self.new_id() if request_id is None else request_id
        prompt, params = list(request.prompt_ids), request.params
        room = self.info.context_len - len(prompt)
        sequence = Sequence(
            id=request_id,
            token_ids=prompt,
            prompt_len=len(prompt),
            params=params,
            seed=seed_of(params, request.choice),
            max_len=len(prompt) + min(room, params.max_tokens or room),
        )
        queued_at = time.time() if queued_at is None else queued_at
        answer = Answer(sequence, request, self.tokenizer, self.model.eos_token_ids, queued_at)
        self.scheduler.add(sequence)
        self._answers[request_id] = answer
        return request_id

    def step(self) -> list[Delta]:
        """Compute once and return what it added to the answers; [] when there is nothing to do."""
        began = time.monotonic()
        self.heartbeat_at = began
        if isinstance(self.model.runner, AheadRunner):
            return self._step_ahead(self.model.runner)
        chunks = self.scheduler.next_batch()
        if not chunks:
            return []
        self._start(chunks)
        try:
            results = self.model.runner.run(chunks)
            self.scheduler.commit(chunks, results)
        except Exception as error:
            return self._fail(chunks, error)
        deltas = self._collect(chunks, results)
        self.meters.num_steps += 1
        self.meters.step_s.observe(time.monotonic() - began)
        return deltas

    def _step_ahead(self, runner: AheadRunner) -> list[Delta]:
        """Start the next step, then take what the one before has drawn."""
        began, chunks = time.monotonic(), self.scheduler.next_batch()
        landing, self._flight = self._flight, None
        failed: list[Delta] = []
        if chunks:
            self._start(chunks)
            try:
                self._flight = Flight.start(runner, chunks)
            except Exception as error:
                failed = self._fail(chunks, error)
        deltas = [] if landing is None else self._land(landing)
        if self._flight is not None:
            live = [c.sequence.id in self._answers for c in chunks]
            self.scheduler.commit(
                list(compress(chunks, live)), list(compress(self._flight.held, live))
            )
        if landing is not None:
            self.meters.num_steps += 1
            self.meters.step_s.observe(time.monotonic() - began)
        return deltas + failed

    def _land(self, flight: Flight) -> list[Delta]:
        """What a step has drawn; nothing for texts that have ended since it was launched."""
        try:
            results = flight.land()
        except Exception as error:
            return self._fail(flight.chunks, error)
        live = [c.sequence.id in self._answers for c in flight.chunks]
        return self._collect(list(compress(flight.chunks, live)), list(compress(results, live)))

    def _fail(self, chunks: Items[Chunk], error: Exception) -> list[Delta]:
        logger.exception("a step over %d sequences failed", len(chunks))
        live = [c.sequence for c in chunks if c.sequence.id in self._answers]
        return [self._end(sequence, "error", _words(error)) for sequence in live]

    def stream(self, request: Request) -> Iterator[Delta]:
        """One request, alone: its deltas until the end. Closing the iterator aborts it."""
        request_id = self.add(request)
        try:
            while request_id in self._answers:
                yield from (d for d in self.step() if d.request_id == request_id)
        finally:
            self.abort(request_id)

    def abort(self, request_id: int) -> Delta | None:
        """End a request now; None when it has already ended."""
        answer = self._answers.get(request_id)
        return None if answer is None else self._end(answer.sequence, "abort")

    def reset(self, error: str) -> list[Delta]:
        """Fail every request and start over with empty pages: after a defect in the engine."""
        now = time.time()
        deltas = [answer.finish("error", now, error) for answer in self._answers.values()]
        self.meters.num_failed += len(deltas)
        self._answers.clear()
        self._flight = None
        self._num_preemptions += self.scheduler.num_preemptions
        self.scheduler = self._new_scheduler()
        return deltas

    def take_over(self, before: "Engine") -> None:
        """Go on with the numbers and the counts of an engine whose place this one takes, so that no
        number comes twice and no count goes back."""
        self._ids, self.meters = before._ids, before.meters
        self._num_preemptions = before._num_preemptions + before.scheduler.num_preemptions

    def close(self) -> None:
        """Free the model; nothing can be asked after."""
        self.model.close()

    @property
    def num_live(self) -> int:
        return len(self._answers)

    def stats(self) -> EngineStats:
        """One look at the engine; safe from any thread."""
        scheduler, age = self.scheduler, time.monotonic() - self.heartbeat_at
        return self.meters.stats(scheduler, self._num_preemptions, age)

    def _encoded(self, text: str, *, special: bool, param: str) -> list[int]:
        context_len = self.info.context_len
        return encode_bounded(
            self.tokenizer, text, context_len=context_len, special=special, param=param
        )

    def _new_scheduler(self) -> Scheduler:
        runner, config = self.model.runner, self.config
        return Scheduler(
            PagePool(runner.num_pages, runner.page_len),
            max_batch=config.max_batch,
            max_step_tokens=config.max_step_tokens,
            max_skips=config.max_skips,
            prefix_cache=config.prefix_cache,
            batch_invariant=config.batch_invariant and config.device == "cuda",
        )

    def _start(self, chunks: Items[Chunk]) -> None:
        for chunk in chunks:
            answer = self._answers[chunk.sequence.id]
            if answer.started_at is None:
                answer.started_at = time.time()
                self.meters.started(answer.started_at - answer.queued_at, chunk.sequence)

    def _collect(self, chunks: Items[Chunk], results: Items[Sampled | None]) -> list[Delta]:
        now, num_drawn = time.time(), 0
        deltas: list[Delta] = []
        for chunk, sampled in zip(chunks, results, strict=True):
            if sampled is not None:
                num_drawn += 1
                delta = self._push(self._answers[chunk.sequence.id], sampled, now)
                if delta is not None:
                    deltas.append(delta)
        self.meters.computed(sum([c.length for c in chunks]) - num_drawn, num_drawn, now)
        return deltas

    def _push(self, answer: Answer, sampled: Sampled, now: float) -> Delta | None:
        latest_at = answer.latest_token_at
        try:
            delta = answer.push(sampled, now)
        except Exception as error:
            logger.exception("request %d: its text could not be made", answer.sequence.id)
            return self._end(answer.sequence, "error", _words(error))
        if latest_at:
            self.meters.token_s.observe(now - latest_at)
        else:
            self.meters.first_token_s.observe(now - answer.queued_at)
        if delta is not None and delta.finish_reason is not None:
            self._forget(answer)
            self.meters.finished(now - answer.queued_at, now)
        return delta

    def _end(self, sequence: Sequence, reason: FinishReason, error: str | None = None) -> Delta:
        answer = self._answers[sequence.id]
        self._forget(answer)
        if reason == "abort":
            self.meters.num_aborted += 1
        else:
            self.meters.num_failed += 1
        return answer.finish(reason, time.time(), error)

    def _forget(self, answer: Answer) -> None:
        del self._answers[answer.sequence.id]
        self.scheduler.finish(answer.sequence)


def _words(error: Exception) -> str:
    return f"the engine failed in this step ({type(error).__name__}: {error})"
