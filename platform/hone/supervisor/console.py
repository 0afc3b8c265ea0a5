"""What the person at the terminal sees: one line a step, with the time since the start."""

import sys
import time
from collections.abc import Callable
from typing import TextIO


class Console:
    """Writes short lines with the seconds since it was made; safe after the terminal is gone."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream or sys.stdout
        self._clock = clock
        self._started_at = clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the console was made."""
        return self._clock() - self._started_at

    def step(self, text: str) -> None:
        """One line of the timeline: `  1.2 s  text`."""
        self.line(f"{self.elapsed_s:6.1f} s  {text}")

    def line(self, text: str = "") -> None:
        """One line as it is."""
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return  # a closed terminal must not stop the servers
