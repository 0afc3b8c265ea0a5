"""A step ahead: the GPU computes one step while the host makes up the next.

A drawn token is not known when the next step is launched. Until then PENDING holds its place in
the text; the runner takes the number from where the GPU left it.
"""

from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from hone_engine.types import Chunk, Sampled

PENDING = Sampled(-1)


@runtime_checkable
class AheadRunner(Protocol):
    """A runner that need not wait: it launches a step, and collects it after the next."""

    def launch(self, chunks: Items[Chunk]) -> Any: ...
    def collect(self, ticket: Any) -> list[Sampled | None]: ...


@dataclass(frozen=True, slots=True)
class Flight:
    """A step under way."""

    runner: AheadRunner
    chunks: list[Chunk]
    ticket: Any

    @classmethod
    def start(cls, runner: AheadRunner, chunks: list[Chunk]) -> "Flight":
        return cls(runner, chunks, runner.launch(chunks))

    @property
    def held(self) -> list[Sampled | None]:
        """What the scheduler is told meanwhile."""
        return [PENDING if chunk.samples else None for chunk in self.chunks]

    def land(self) -> list[Sampled | None]:
        """Wait for the step, and put its tokens where their places were held."""
        results = self.runner.collect(self.ticket)
        for chunk, sampled in zip(self.chunks, results, strict=True):
            if sampled is not None:
                ids, place = chunk.sequence.token_ids, chunk.start + chunk.length
                if place < len(ids):  # else it ended before it was committed
                    ids[place] = sampled.token_id
        return results
