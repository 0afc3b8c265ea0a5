"""One engine in the place of another, without a restart: the memory holds one model at a time."""

import gc
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from hone_engine.engine.engine import Engine
from hone_engine.engine.model import EngineInfo

Make = Callable[[], Engine]


@dataclass(slots=True)
class Exchange:
    """What is to run next. `make` is tried first; if it fails, `again` makes what ran before.
    Requests under way have until `deadline` (of the monotonic clock, in seconds) to end."""

    make: Make
    again: Make
    deadline: float
    done: Future[EngineInfo] = field(default_factory=Future)

    def is_due(self, num_live: int) -> bool:
        """Whether nothing runs any more, or has run long enough."""
        return num_live == 0 or time.monotonic() >= self.deadline

    def made(self, before: Engine | None) -> tuple[Engine | None, Exception | None]:
        """Free `before` and make what runs from now on (None: nothing could be made); beside it why
        it is not what was asked for."""
        try:
            if before is not None:
                before.close()
                gc.collect()  # what refers to itself would keep weights
            return self.make(), None
        except Exception as error:
            failure = error.with_traceback(None)  # its frames would hold the half loaded weights
        gc.collect()
        try:
            return self.again(), failure
        except Exception:
            return None, failure
