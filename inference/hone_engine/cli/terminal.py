"""Writing to a terminal: plain lines, one line of progress, dim text where there is color."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from hone_engine.formats import Progress

CLEAR_LINE = "\r\x1b[2K"


def say(text: str = "", *, end: str = "\n") -> None:
    """Write to standard output at once."""
    sys.stdout.write(text + end)
    sys.stdout.flush()


def fail(message: str) -> None:
    """Say on standard error what went wrong."""
    clear_line()
    sys.stderr.write(f"hone: {message}\n")


def clear_line() -> None:
    """Remove the line of progress, if there is one."""
    if sys.stderr.isatty():
        sys.stderr.write(CLEAR_LINE)
        sys.stderr.flush()


def dim(text: str, stream: TextIO | None = None) -> str:
    """The text in gray on a terminal, plain elsewhere or where NO_COLOR is set."""
    stream = stream or sys.stdout
    return f"\x1b[2m{text}\x1b[0m" if stream.isatty() and not os.environ.get("NO_COLOR") else text


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends what is under way as Ctrl-C does, so that it can clean up behind it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class ProgressLine:
    """A line on standard error that is rewritten in place; silent when that is no terminal."""

    def __init__(self, what: str):
        self._what = what
        self._shown_at = -1.0

    def __call__(self, progress: Progress) -> None:
        done = progress.num_bytes >= progress.total_bytes
        if not sys.stderr.isatty() or (not done and progress.elapsed_s - self._shown_at < 0.1):
            return
        self._shown_at = progress.elapsed_s
        sys.stderr.write(CLEAR_LINE + self.text(progress))
        sys.stderr.flush()
        if done:
            clear_line()

    def text(self, progress: Progress) -> str:
        """E.g. "Importing  61 %  60/98 MB  0.41 GB/s  1 s left"."""
        share = progress.num_bytes / max(progress.total_bytes, 1)
        return (
            f"{self._what} {share:4.0%}  "
            f"{progress.num_bytes / 1e6:.0f}/{progress.total_bytes / 1e6:.0f} MB  "
            f"{progress.bytes_per_second / 1e9:.2f} GB/s  {progress.left_s:.0f} s left"
        )
