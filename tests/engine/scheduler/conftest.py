"""A paged memory that only remembers tokens: what a model's cache must contain, made visible."""

from collections.abc import Callable
from hashlib import blake2b

import pytest

from hone_engine.types import Chunk, Sampled, SamplingParams, Sequence


def next_token(context: list[int], seed: int) -> int:
    """A token that depends on everything before it, as a model's does."""
    digest = blake2b(repr((context, seed)).encode(), digest_size=2).digest()
    return int.from_bytes(digest, "little")


class TokenMemory:
    """Writes each chunk's tokens into the pages and reads whole contexts back through them."""

    def __init__(self, num_pages: int, page_len: int):
        self.page_len = page_len
        self.slots: list[int | None] = [None] * (num_pages * page_len)

    def slot(self, sequence: Sequence, position: int) -> int:
        page = sequence.pages[position // self.page_len]
        return page * self.page_len + position % self.page_len

    def run(self, chunks: list[Chunk]) -> list[Sampled | None]:
        for chunk in chunks:
            assert chunk.length > 0
            assert chunk.start == chunk.sequence.computed_len
            for position in range(chunk.start, chunk.start + chunk.length):
                token = chunk.sequence.token_ids[position]
                self.slots[self.slot(chunk.sequence, position)] = token
        return [self.draw(chunk) for chunk in chunks]

    def draw(self, chunk: Chunk) -> Sampled | None:
        sequence, end = chunk.sequence, chunk.start + chunk.length
        seen = [self.slots[self.slot(sequence, position)] for position in range(end)]
        assert seen == sequence.token_ids[:end], "the cache holds another text"
        if not chunk.samples:
            return None
        return Sampled(next_token(sequence.token_ids, sequence.seed))


def make_sequence(prompt: list[int], max_new: int = 8, seed: int = 0, id: int = 0) -> Sequence:
    return Sequence(
        id=id,
        token_ids=list(prompt),
        prompt_len=len(prompt),
        params=SamplingParams(),
        seed=seed,
        max_len=len(prompt) + max_new,
    )


@pytest.fixture
def new_sequence() -> Callable[..., Sequence]:
    return make_sequence


@pytest.fixture
def new_memory() -> Callable[..., TokenMemory]:
    return TokenMemory


@pytest.fixture
def expected_answer() -> Callable[[list[int], int, int], list[int]]:
    def answer(prompt: list[int], seed: int, length: int) -> list[int]:
        text = list(prompt)
        for _ in range(length):
            text.append(next_token(text, seed))
        return text[len(prompt) :]

    return answer
