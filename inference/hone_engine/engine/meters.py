"""What the engine counts and measures about itself. Written by one thread, read by any."""

import time
from bisect import bisect_left
from collections.abc import Sequence as Items
from typing import TypedDict

from hone_engine.scheduler import Scheduler
from hone_engine.types import EngineStats, Sequence

WINDOW_S = 10

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STEP_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Histogram:
    """Counts of values by upper bound, the last bound being infinity."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Items[float]):
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Rate:
    """Events a second over the latest `WINDOW_S` seconds, in one bucket a second."""

    __slots__ = ("_counts", "_seconds")

    def __init__(self) -> None:
        self._counts = [0] * (WINDOW_S + 1)
        self._seconds = [0] * (WINDOW_S + 1)

    def add(self, count: int, now: float) -> None:
        second = int(now)
        at = second % len(self._counts)
        if self._seconds[at] != second:
            self._seconds[at] = second
            self._counts[at] = 0
        self._counts[at] += count

    def per_second(self, now: float) -> float:
        """The mean over the seconds since the first event in the window, `now` excluded."""
        latest = int(now)
        seen = [
            (second, count)
            for second, count in zip(self._seconds, self._counts, strict=True)
            if latest - WINDOW_S <= second <= latest
        ]
        if not seen:
            return 0.0
        span = max(1.0, now - min(second for second, _ in seen))
        return sum(count for _, count in seen) / span


class Counts(TypedDict):
    """Since the start."""

    num_steps: int
    num_finished: int
    num_failed: int
    num_aborted: int
    num_prompt_tokens: int
    num_cached_tokens: int
    num_completion_tokens: int


class Meters:
    """Counters since the start, rates of late, and distributions (all in seconds)."""

    def __init__(self) -> None:
        self.num_steps = 0
        self.num_finished = 0  # with stop or length
        self.num_failed = 0
        self.num_aborted = 0
        self.num_refused = 0  # queue full
        self.num_prompt_tokens = 0
        self.num_cached_tokens = 0
        self.num_completion_tokens = 0
        self.prompt_rate = Rate()
        self.token_rate = Rate()
        self.finish_rate = Rate()
        self.step_s = Histogram(STEP_SECONDS)
        self.queue_s = Histogram(SECONDS)
        self.first_token_s = Histogram(SECONDS)
        self.token_s = Histogram(STEP_SECONDS)
        self.request_s = Histogram(SECONDS)

    def started(self, queue_s: float, sequence: Sequence) -> None:
        """A request got its first prefill after `queue_s` of waiting."""
        self.queue_s.observe(queue_s)
        self.num_prompt_tokens += sequence.prompt_len
        self.num_cached_tokens += sequence.cached_len

    def computed(self, num_prompt_tokens: int, num_drawn: int, now: float) -> None:
        """A step computed so many tokens of prompts and drew so many new ones."""
        self.num_completion_tokens += num_drawn
        self.token_rate.add(num_drawn, now)
        self.prompt_rate.add(num_prompt_tokens, now)

    def finished(self, request_s: float, now: float) -> None:
        """A request came to its own end."""
        self.num_finished += 1
        self.finish_rate.add(1, now)
        self.request_s.observe(request_s)

    def stats(
        self, scheduler: Scheduler, num_preemptions: int, heartbeat_age_s: float
    ) -> EngineStats:
        """One look at the engine; `num_preemptions` are those of schedulers before this one."""
        now, pool = time.time(), scheduler.pool
        return EngineStats(
            num_running=len(scheduler.running),
            num_waiting=len(scheduler.waiting),
            kv_tokens_used=pool.num_held * pool.page_len,
            kv_tokens_cached=pool.num_idle * pool.page_len,
            kv_tokens_total=pool.num_pages * pool.page_len,
            tokens_per_second=self.token_rate.per_second(now),
            prompt_tokens_per_second=self.prompt_rate.per_second(now),
            heartbeat_age_s=max(0.0, heartbeat_age_s),
            num_preemptions=num_preemptions + scheduler.num_preemptions,
            **self.counts(),
        )

    def counts(self) -> Counts:
        """The counters that `types.EngineStats` has too."""
        return {
            "num_steps": self.num_steps,
            "num_finished": self.num_finished,
            "num_failed": self.num_failed,
            "num_aborted": self.num_aborted,
            "num_prompt_tokens": self.num_prompt_tokens,
            "num_cached_tokens": self.num_cached_tokens,
            "num_completion_tokens": self.num_completion_tokens,
        }
