"""The order of work: which tokens of which sequences the next forward pass computes.

A step takes one token of every sequence that is answering, then fills the rest of its token budget
with the prompt that is under way, then with those of waiting sequences. Pages are taken when their
tokens come. When none is left, the youngest sequence gives its pages up and starts over later
(its text is kept, and what the prefix cache still knows of it is not computed again).

`batch_invariant`: a device may compute a text's single rows by another kernel than several at
once, in other bits. Then the kernel of each token follows from its own text: prompts come in pieces
of two and more, answers that are computed again token by token, and only prompts are shared.
"""

from collections import deque
from collections.abc import Sequence as Items
from itertools import islice

from hone_engine.cache.blocks import PagePool, hashes_extend
from hone_engine.types import Chunk, Sampled, Sequence

SCAN_LEN = 32  # waiting sequences looked at in a step
LEAST_CUT = 3  # tokens of a prompt that a step must have room for where cuts are `batch_invariant`


class Scheduler:
    """Call in turn: `next_batch`, run it, `commit` its results, `finish` what ended.

    `add` and `finish` fit between any two steps. Invariants: `running` is in order of admission,
    only its latest may have a prompt that is not all computed, a running sequence's pages cover
    its computed tokens, and a waiting one holds no page.
    """

    def __init__(
        self,
        pool: PagePool,
        *,
        max_batch: int,
        max_step_tokens: int,
        max_skips: int = 4,
        prefix_cache: bool = True,
        batch_invariant: bool = False,
    ):
        assert 0 < max_batch <= max_step_tokens - (LEAST_CUT if batch_invariant else 0)
        self.pool = pool
        self.max_batch = max_batch
        self.max_step_tokens = max_step_tokens
        self.max_skips = max_skips
        self.prefix_cache = prefix_cache
        self.batch_invariant = batch_invariant
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.num_preemptions = 0
        self._page_len = pool.page_len

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence whose `max_len` the pool can hold when it runs alone."""
        capacity = self.pool.num_pages * self._page_len
        assert sequence.max_len <= capacity, f"{sequence.max_len} tokens never fit in {capacity}"
        if self.prefix_cache:
            hashes_extend(sequence.page_hashes, sequence.token_ids, self._page_len)
        self.waiting.append(sequence)

    def next_batch(self) -> list[Chunk]:
        """The chunks of the next step; empty only when nothing waits or runs."""
        num_preemptions = self.num_preemptions
        chunks = self._decode()
        budget = self.max_step_tokens - len(chunks)
        budget, satisfied = self._prefill(chunks, budget)
        if self.waiting and satisfied and num_preemptions == self.num_preemptions:
            self._admit(chunks, budget)
        return chunks

    def commit(self, chunks: Items[Chunk], results: Items[Sampled | None]) -> None:
        """Take over what was computed: the chunks' pages are known, the drawn tokens appended."""
        for chunk, sampled in zip(chunks, results, strict=True):
            sequence = chunk.sequence
            before = sequence.computed_len // self._page_len
            sequence.computed_len = end = chunk.start + chunk.length
            if self.batch_invariant:
                end = min(end, sequence.prompt_len)
            if sampled is not None:
                sequence.token_ids.append(sampled.token_id)
            if self.prefix_cache and end // self._page_len > before:
                self._publish(sequence, before, end // self._page_len)

    def finish(self, sequence: Sequence) -> None:
        """End a running or waiting sequence: its pages are let go."""
        try:
            self.running.remove(sequence)
        except ValueError:
            self.waiting.remove(sequence)
        self._release(sequence)

    def _decode(self) -> list[Chunk]:
        chunks: list[Chunk] = []
        running, page_len = self.running, self._page_len
        index = 0
        while index < len(running):  # which shrinks at its end when pages run out
            sequence = running[index]
            start = sequence.computed_len
            length = len(sequence.token_ids)
            if length - start == 1 and length < sequence.max_len:  # at it, its end is on the way
                if start == len(sequence.pages) * page_len and not self._take_page(sequence):
                    break
                chunks.append(Chunk(sequence, start, 1))
            index += 1
        return chunks

    def _take_page(self, sequence: Sequence) -> bool:
        """One more page, of the youngest if need be; False when that was `sequence` itself."""
        while (page := self.pool.take()) is None:
            if self._preempt() is sequence:
                return False
        sequence.pages.append(page)
        return True

    def _preempt(self) -> Sequence:
        """Put the youngest running sequence back to the head of the queue."""
        victim = self.running.pop()
        self._release(victim)
        victim.computed_len = 0
        victim.num_preemptions += 1
        self.num_preemptions += 1
        self.waiting.appendleft(victim)
        return victim

    def _prefill(self, chunks: list[Chunk], budget: int) -> tuple[int, bool]:
        """Continue the unfinished prompt; returns the budget left and whether it got all of it."""
        if not self.running or self.running[-1].num_uncomputed == 1:
            return budget, True
        sequence = self.running[-1]
        wanted = sequence.num_uncomputed
        length = self._cut(sequence, min(wanted, budget))
        length = self._cut(sequence, self._cover(sequence, length))
        if length:  # else it waits for pages of the older ones, which are answering
            chunks.append(Chunk(sequence, sequence.computed_len, length))
        return budget - length, length == wanted

    def _cut(self, sequence: Sequence, length: int) -> int:
        """Of the next `length` tokens, those to compute in one piece; 0: none in this step."""
        left = sequence.prompt_len - sequence.computed_len
        if not self.batch_invariant or length == left:
            return length
        if left <= 0:
            return min(length, 1)
        length = min(length, left)
        if left - length == 1:
            length -= 1
        return length if length > 1 or left == 1 else 0

    def _cover(self, sequence: Sequence, length: int) -> int:
        """Take free pages for the next `length` tokens; returns how many of them have one."""
        end = sequence.computed_len + length
        while len(sequence.pages) * self._page_len < end:
            page = self.pool.take()
            if page is None:
                break
            sequence.pages.append(page)
        return min(end, len(sequence.pages) * self._page_len) - sequence.computed_len

    def _admit(self, chunks: list[Chunk], budget: int) -> None:
        blocked: list[Sequence] = []
        for sequence in list(islice(self.waiting, SCAN_LEN)):
            least = LEAST_CUT if self.batch_invariant else 1
            if budget < least or len(self.running) == self.max_batch:
                break
            pages = self._match(sequence)
            if self._is_being_computed(sequence, len(pages)):
                continue  # a step or two later the page can be shared
            if not self._fits(sequence, pages):
                blocked.append(sequence)
            else:
                budget -= self._start(chunks, sequence, pages, budget)
                for passed in blocked:
                    passed.num_skips += 1
            if any(passed.num_skips >= self.max_skips for passed in blocked):
                break

    def _match(self, sequence: Sequence) -> list[int]:
        return self.pool.match(sequence.page_hashes[: self._num_shareable(sequence)])

    def _num_shareable(self, sequence: Sequence) -> int:
        """Pages that others may have computed for it."""
        # Its last token is always computed anew: without it there is nothing to draw from.
        most = len(sequence.token_ids) - 1
        if self.batch_invariant:
            most = max(min(most, sequence.prompt_len - 2), 0)
        return most // self._page_len

    def _is_being_computed(self, sequence: Sequence, index: int) -> bool:
        """Whether a running prompt will soon have the page that `sequence` needs next."""
        if index >= self._num_shareable(sequence) or not self.prefix_cache:
            return False
        name = sequence.page_hashes[index]
        return any(
            len(other.page_hashes) > index
            and other.page_hashes[index] == name
            and other.computed_len < (index + 1) * self._page_len
            for other in self.running
        )

    def _fits(self, sequence: Sequence, matched: list[int]) -> bool:
        """Whether the whole text has room beside what the running ones soon need."""
        wanted = -(-len(sequence.token_ids) // self._page_len) - len(matched)
        reserve = min(len(self.running), self.pool.num_pages // 16)
        available = self.pool.num_available - self.pool.count_idle(matched)
        return wanted + reserve <= available

    def _start(
        self, chunks: list[Chunk], sequence: Sequence, matched: list[int], budget: int
    ) -> int:
        """Admit a sequence and schedule its first chunk, whose length is returned."""
        self.waiting.remove(sequence)
        self.running.append(sequence)
        self.pool.hold(matched)
        sequence.pages = matched
        sequence.computed_len = len(matched) * self._page_len
        if sequence.num_preemptions == 0:
            sequence.cached_len = sequence.computed_len
        length = self._cover(sequence, self._cut(sequence, min(sequence.num_uncomputed, budget)))
        assert length > 0, "an admitted sequence has room"
        chunks.append(Chunk(sequence, sequence.computed_len, length))
        return length

    def _publish(self, sequence: Sequence, first: int, end: int) -> None:
        known = sequence.token_ids[: end * self._page_len]  # the latest may only hold a place
        hashes_extend(sequence.page_hashes, known, self._page_len)
        for index in range(first, end):
            self.pool.publish(sequence.pages[index], sequence.page_hashes[index])

    def _release(self, sequence: Sequence) -> None:
        self.pool.drop(sequence.pages)
        sequence.pages = []
