"""Nothing of ours reaches the host application: an error of the SDK is logged and forgotten."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hone.sdk.options import log

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D")


def guarded(default: D) -> Callable[[Callable[P, R]], Callable[P, R | D]]:
    """The function gives `default` where it would raise."""

    def around(function: Callable[P, R]) -> Callable[P, R | D]:
        @functools.wraps(function)
        def safe(*args: P.args, **kwargs: P.kwargs) -> R | D:
            try:
                return function(*args, **kwargs)
            except Exception:
                log.debug("hone: %s failed", function.__qualname__, exc_info=True)
                return default

        return safe

    return around
