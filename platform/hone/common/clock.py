"""The one place that asks what time it is. Call `clock.now()`, so that a test can set it."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The present, with time zone UTC."""
    return datetime.now(UTC)


def now_ns() -> int:
    """The present in nanoseconds since 1970."""
    return time.time_ns()
