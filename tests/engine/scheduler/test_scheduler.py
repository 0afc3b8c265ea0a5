from collections.abc import Callable
from typing import Any

import pytest

from hone_engine.cache.blocks import PagePool
from hone_engine.scheduler import Scheduler
from hone_engine.types import Sequence

New = Callable[..., Sequence]


def scheduler_of(num_pages: int = 8, page_len: int = 4, **options: Any) -> Scheduler:
    options = {"max_batch": 4, "max_step_tokens": 8, **options}
    return Scheduler(PagePool(num_pages, page_len), **options)


def step(scheduler: Scheduler, memory: Any) -> list[tuple[int, int, int]]:
    """One turn of the loop; returns (id, start, length) of what ran."""
    chunks = scheduler.next_batch()
    ran = [(c.sequence.id, c.start, c.length) for c in chunks]
    scheduler.commit(chunks, memory.run(chunks))
    for chunk in chunks:
        if len(chunk.sequence.token_ids) == chunk.sequence.max_len:
            scheduler.finish(chunk.sequence)
    scheduler.pool.check()
    return ran


def run_out(scheduler: Scheduler, memory: Any, steps: int = 500) -> None:
    for _ in range(steps):
        if not scheduler.waiting and not scheduler.running:
            return
        assert step(scheduler, memory), "work is left, yet nothing runs"
    raise AssertionError("not done in time")


def test_with_nothing_to_do_the_batch_is_empty() -> None:
    assert scheduler_of().next_batch() == []


def test_a_prompt_is_computed_at_once_then_token_by_token(
    new_sequence: New, new_memory: Any, expected_answer: Any
) -> None:
    scheduler, memory = scheduler_of(), new_memory(8, 4)
    sequence = new_sequence([1, 2, 3], max_new=3)
    scheduler.add(sequence)
    assert [step(scheduler, memory) for _ in range(4)] == [
        [(0, 0, 3)],
        [(0, 3, 1)],
        [(0, 4, 1)],
        [],
    ]
    assert sequence.token_ids[3:] == expected_answer([1, 2, 3], 0, 3)
    assert scheduler.pool.num_held == 0


def test_a_long_prompt_is_cut_to_the_budget_while_others_go_on_answering(
    new_sequence: New, new_memory: Any
) -> None:
    scheduler, memory = scheduler_of(num_pages=16), new_memory(16, 4)
    scheduler.add(new_sequence([1], id=1))
    assert step(scheduler, memory) == [(1, 0, 1)]
    scheduler.add(new_sequence(list(range(20)), id=2))
    assert step(scheduler, memory) == [(1, 1, 1), (2, 0, 7)]
    assert step(scheduler, memory) == [(1, 2, 1), (2, 7, 7)]
    assert step(scheduler, memory) == [(1, 3, 1), (2, 14, 6)]
    assert step(scheduler, memory) == [(1, 4, 1), (2, 20, 1)]


def test_pages_are_taken_when_tokens_come_and_not_before(
    new_sequence: New, new_memory: Any
) -> None:
    scheduler, memory = scheduler_of(), new_memory(8, 4)
    scheduler.add(new_sequence([1, 2, 3], max_new=20))
    step(scheduler, memory)
    assert scheduler.pool.num_held == 1
    step(scheduler, memory)
    assert scheduler.pool.num_held == 1
    step(scheduler, memory)
    assert scheduler.pool.num_held == 2


def test_no_more_than_max_batch_run(new_sequence: New, new_memory: Any) -> None:
    scheduler, memory = scheduler_of(num_pages=16, max_batch=2), new_memory(16, 4)
    for index in range(3):
        scheduler.add(new_sequence([index], max_new=2, id=index))
    assert {ran[0] for ran in step(scheduler, memory)} == {0, 1}
    step(scheduler, memory)
    assert {ran[0] for ran in step(scheduler, memory)} == {2}


def test_when_pages_run_out_the_youngest_starts_over_and_its_answer_stays_the_same(
    new_sequence: New, new_memory: Any, expected_answer: Any
) -> None:
    scheduler, memory = scheduler_of(num_pages=5, page_len=2), new_memory(5, 2)
    old, young = new_sequence([1, 2], max_new=6, id=1), new_sequence([3, 4], max_new=6, id=2)
    scheduler.add(old)
    scheduler.add(young)
    run_out(scheduler, memory)
    assert old.num_preemptions == 0
    assert young.num_preemptions == 1
    assert scheduler.num_preemptions == 1
    assert old.token_ids[2:] == expected_answer([1, 2], 0, 6)
    assert young.token_ids[2:] == expected_answer([3, 4], 0, 6)


def test_more_work_than_pages_is_done_all_the_same(
    new_sequence: New, new_memory: Any, expected_answer: Any
) -> None:
    scheduler, memory = scheduler_of(num_pages=8, max_step_tokens=4), new_memory(8, 4)
    answered = [new_sequence([i] * 3, max_new=12, id=i) for i in range(4)]
    for sequence in answered:
        scheduler.add(sequence)
        step(scheduler, memory)
    run_out(scheduler, memory)
    for sequence in answered:
        assert sequence.token_ids[3:] == expected_answer([sequence.id] * 3, 0, 12)


def test_equal_beginnings_are_computed_once(new_sequence: New, new_memory: Any) -> None:
    scheduler, memory = scheduler_of(), new_memory(8, 4)
    prompt = list(range(10))
    scheduler.add(new_sequence([*prompt, 77], max_new=1, id=1))
    run_out(scheduler, memory)
    second = new_sequence([*prompt, 88], max_new=1, id=2)
    scheduler.add(second)
    assert step(scheduler, memory) == [(2, 8, 3)]
    assert second.cached_len == 8


def test_a_prompt_known_in_full_still_computes_its_end(new_sequence: New, new_memory: Any) -> None:
    scheduler, memory = scheduler_of(), new_memory(8, 4)
    for index in range(2):
        scheduler.add(new_sequence(list(range(8)), max_new=1, id=index))
        ran = step(scheduler, memory)
    assert ran == [(1, 4, 4)]


def test_equal_prompts_that_come_together_wait_for_the_first_ones_pages(
    new_sequence: New, new_memory: Any, expected_answer: Any
) -> None:
    scheduler, memory = scheduler_of(num_pages=16, max_step_tokens=32), new_memory(16, 4)
    choices = [new_sequence(list(range(9)), max_new=2, id=i, seed=i) for i in range(3)]
    for sequence in choices:
        scheduler.add(sequence)
    assert step(scheduler, memory) == [(0, 0, 9)]
    assert step(scheduler, memory) == [(0, 9, 1), (1, 8, 1), (2, 8, 1)]
    run_out(scheduler, memory)
    for sequence in choices:
        assert sequence.token_ids[9:] == expected_answer(list(range(9)), sequence.id, 2)


def test_without_prefix_cache_nothing_is_kept(new_sequence: New, new_memory: Any) -> None:
    scheduler, memory = scheduler_of(prefix_cache=False), new_memory(8, 4)
    for index in range(2):
        sequence = new_sequence(list(range(9)), max_new=1, id=index)
        scheduler.add(sequence)
        run_out(scheduler, memory)
        assert sequence.cached_len == 0
    assert scheduler.pool.num_idle == 0


def test_a_large_request_is_passed_by_small_ones_but_not_for_ever(
    new_sequence: New, new_memory: Any
) -> None:
    scheduler = scheduler_of(num_pages=6, max_skips=2, max_step_tokens=32)
    memory = new_memory(6, 4)
    scheduler.add(new_sequence([0] * 7, max_new=9, id=0))
    step(scheduler, memory)
    scheduler.add(new_sequence([9] * 20, max_new=1, id=9))
    for index in range(1, 5):
        scheduler.add(new_sequence([index], max_new=1, id=index))
    order: list[int] = []
    for _ in range(30):
        order += [ran[0] for ran in step(scheduler, memory) if ran[0]]
    assert order == [1, 2, 9, 3, 4]


def test_abort_of_a_waiting_and_of_a_running_sequence_leaves_nothing_behind(
    new_sequence: New, new_memory: Any
) -> None:
    scheduler, memory = scheduler_of(max_batch=1), new_memory(8, 4)
    running, waiting = new_sequence([1, 2, 3], id=1), new_sequence([4], id=2)
    scheduler.add(running)
    scheduler.add(waiting)
    step(scheduler, memory)
    scheduler.finish(waiting)
    scheduler.finish(running)
    assert scheduler.next_batch() == []
    assert scheduler.pool.num_held == 0
    with pytest.raises(ValueError, match="not in deque"):
        scheduler.finish(running)


def test_a_sequence_that_can_never_fit_is_a_defect_and_said(new_sequence: New) -> None:
    with pytest.raises(AssertionError, match="never fit in 32"):
        scheduler_of().add(new_sequence([1], max_new=40))


def invariant(num_pages: int = 8, **options: Any) -> Scheduler:
    options = {"max_batch": 4, "max_step_tokens": 8, "batch_invariant": True, **options}
    return scheduler_of(num_pages, **options)


@pytest.mark.parametrize("length", range(2, 24))
def test_batch_invariant_prompts_never_come_one_token_at_a_time(
    new_sequence: New, new_memory: Any, length: int
) -> None:
    scheduler, memory = invariant(), new_memory(8, 4)
    sequence = new_sequence(list(range(length)), max_new=2)
    scheduler.add(sequence)
    pieces = [piece for _ in range(6) for piece in step(scheduler, memory)]
    prompt = [n for _, start, n in pieces if start < length]
    assert sum(prompt) == length
    assert min(prompt) > 1
    assert [n for _, start, n in pieces if start >= length] == [1]


def test_batch_invariant_answers_are_computed_again_token_by_token(
    new_sequence: New, new_memory: Any, expected_answer: Any
) -> None:
    scheduler, memory = invariant(num_pages=4), new_memory(4, 4)
    texts = [new_sequence([n, 2, 3, 4, 5], max_new=8) for n in (1, 7)]
    for text in texts:
        scheduler.add(text)
    ran: list[tuple[int, int, int]] = []
    for _ in range(100):
        if not scheduler.running and not scheduler.waiting:
            break
        ran += step(scheduler, memory)
    assert scheduler.num_preemptions > 0
    assert all(n == 1 for _, start, n in ran if start >= 5)
    assert all(start + n <= 5 for _, start, n in ran if start < 5)
    for text in texts:
        assert text.token_ids[5:] == expected_answer(text.token_ids[:5], 0, 8)


def test_batch_invariant_pages_of_an_answer_are_not_shared(
    new_sequence: New, new_memory: Any
) -> None:
    scheduler, memory = invariant(), new_memory(8, 4)
    first = new_sequence([1, 2, 3, 4, 5, 6], max_new=6)
    scheduler.add(first)
    run_out(scheduler, memory)
    again = new_sequence(list(first.token_ids), max_new=2)
    scheduler.add(again)
    step(scheduler, memory)
    assert again.cached_len == 4


def test_a_batch_invariant_prompt_that_is_known_leaves_two_tokens_to_compute(
    new_sequence: New, new_memory: Any
) -> None:
    scheduler, memory = invariant(), new_memory(8, 4)
    for _ in range(2):
        latest = new_sequence([1, 2, 3, 4, 5, 6, 7, 8, 9], max_new=2)
        scheduler.add(latest)
        run_out(scheduler, memory)
    assert latest.cached_len == 4
