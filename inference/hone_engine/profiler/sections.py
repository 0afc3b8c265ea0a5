"""Wall time by section, for finding where a step goes; costs two clock reads a section."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Section:
    """Times of one section. Seconds; `best_s` is the shortest."""

    num_calls: int = 0
    total_s: float = 0.0
    best_s: float = float("inf")

    @property
    def mean_s(self) -> float:
        return self.total_s / self.num_calls if self.num_calls else 0.0


class Sections:
    """Named sections of a program: `with sections("name"): ...`. Not for threads at once."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._found: dict[str, Section] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time the body as one call of section `name`, also when it raises."""
        began = self._clock()
        try:
            yield
        finally:
            took = self._clock() - began
            section = self._found.setdefault(name, Section())
            section.num_calls += 1
            section.total_s += took
            section.best_s = min(section.best_s, took)

    def items(self) -> list[tuple[str, Section]]:
        """Sections, the most costly first."""
        return sorted(self._found.items(), key=lambda item: -item[1].total_s)
