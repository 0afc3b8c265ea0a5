"""Any order of arrivals, steps, failures and aborts: no page lost, no text mixed, no one stuck."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hone_engine.cache.blocks import PagePool
from hone_engine.scheduler import Scheduler
from hone_engine.types import Sequence

PREFIXES = [[], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9], [9, 9], list(range(20))]


class Serving(RuleBasedStateMachine):
    scheduler: Scheduler
    new_memory: Callable[..., Any]
    new_sequence: Callable[..., Sequence]
    expected_answer: Callable[..., list[int]]

    @initialize(
        num_pages=st.integers(1, 12),
        page_len=st.integers(1, 5),
        max_batch=st.integers(1, 5),
        spare=st.integers(0, 12),
        prefix_cache=st.booleans(),
    )
    def start(
        self, num_pages: int, page_len: int, max_batch: int, spare: int, prefix_cache: bool
    ) -> None:
        self.scheduler = Scheduler(
            PagePool(num_pages, page_len),
            max_batch=max_batch,
            max_step_tokens=max_batch + spare,
            max_skips=2,
            prefix_cache=prefix_cache,
        )
        self.memory = self.new_memory(num_pages, page_len)
        self.capacity = num_pages * page_len
        self.live: list[Sequence] = []
        self.num_added = 0

    @rule(
        prefix=st.sampled_from(PREFIXES),
        tail=st.lists(st.integers(0, 3), min_size=1, max_size=8),
        max_new=st.integers(1, 9),
        seed=st.integers(0, 2),
    )
    def add(self, prefix: list[int], tail: list[int], max_new: int, seed: int) -> None:
        prompt = (prefix + tail)[: max(1, self.capacity - max_new)]
        if len(prompt) + max_new <= self.capacity:
            sequence = self.new_sequence(prompt, max_new=max_new, seed=seed, id=self.num_added)
            self.num_added += 1
            self.live.append(sequence)
            self.scheduler.add(sequence)

    @rule()
    def step(self) -> None:
        chunks = self.scheduler.next_batch()
        assert bool(chunks) == bool(self.live), "work is left, yet nothing runs"
        assert len(chunks) <= self.scheduler.max_batch
        assert sum(c.length for c in chunks) <= self.scheduler.max_step_tokens
        assert len({c.sequence.id for c in chunks}) == len(chunks)
        self.scheduler.commit(chunks, self.memory.run(chunks))
        for chunk in chunks:
            if len(chunk.sequence.token_ids) == chunk.sequence.max_len:
                self.end(chunk.sequence)

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        sequence = data.draw(st.sampled_from(self.live))
        self.live.remove(sequence)
        self.scheduler.finish(sequence)

    @precondition(lambda self: self.live)
    @rule()
    def step_fails(self) -> None:
        for chunk in self.scheduler.next_batch():
            self.live.remove(chunk.sequence)
            self.scheduler.finish(chunk.sequence)

    def end(self, sequence: Sequence) -> None:
        prompt = sequence.token_ids[: sequence.prompt_len]
        length = sequence.max_len - sequence.prompt_len
        answer = sequence.token_ids[sequence.prompt_len :]
        assert answer == self.expected_answer(prompt, sequence.seed, length)
        self.live.remove(sequence)
        self.scheduler.finish(sequence)

    @invariant()
    def every_page_has_one_state(self) -> None:
        pool = self.scheduler.pool
        pool.check()
        held = {page for s in self.scheduler.running for page in s.pages}
        assert pool.num_held == len(held)
        assert all(not s.pages for s in self.scheduler.waiting)
        assert all(s.num_uncomputed == 1 for s in self.scheduler.running[:-1])
        assert len(self.live) == len(self.scheduler.running) + len(self.scheduler.waiting)

    def teardown(self) -> None:
        if not hasattr(self, "live"):
            return
        for _ in range(2000):
            if not self.live:
                break
            self.step()
        assert not self.live, "someone is stuck"
        pool = self.scheduler.pool
        assert pool.num_available == pool.num_pages
        pool.clear()
        assert pool.num_idle == 0


def test_any_order_of_events_is_served(
    new_memory: Callable[..., Any], new_sequence: Any, expected_answer: Any
) -> None:
    tools = {
        "new_memory": staticmethod(new_memory),
        "new_sequence": staticmethod(new_sequence),
        "expected_answer": staticmethod(expected_answer),
    }
    run_state_machine_as_test(
        type("ServingWithTools", (Serving,), tools),
        settings=settings(
            max_examples=150,
            stateful_step_count=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
