"""`@observe`: every call of a function as an observation, whatever sort of function it is."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast, overload

from hone.sdk.client import client
from hone.sdk.guard import guarded
from hone.sdk.keys import KINDS
from hone.sdk.observation import NOTHING, Observation
from hone.sdk.relay import relaying, relaying_async

F = TypeVar("F", bound=Callable[..., Any])
_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


@overload
def observe(function: F) -> F: ...
@overload
def observe(
    *,
    name: str | None = None,
    kind: str = "span",
    capture_input: bool = True,
    capture_output: bool = True,
) -> Callable[[F], F]: ...
def observe(
    function: F | None = None,
    *,
    name: str | None = None,
    kind: str = "span",
    capture_input: bool = True,
    capture_output: bool = True,
) -> F | Callable[[F], F]:
    """Record each call with arguments, result and error; generators until they are exhausted.

    The function behaves as before. Raises ValueError for an unknown kind, when decorating.
    """
    if kind not in KINDS:
        raise ValueError(f"kind: got {kind!r}, want one of {', '.join(sorted(KINDS))}")

    def around(wrapped: F) -> F:
        return cast(F, _Observed(wrapped, name, kind, capture_input, capture_output).wrapper())

    return around if function is None else around(function)


class _Observed:
    """One decorated function and what its observations look like."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None,
        kind: str,
        capture_input: bool,
        capture_output: bool,
    ) -> None:
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self.kind = kind
        self.captures_input = capture_input
        self.captures_output = capture_output
        self.parameters, self.num_skipped = _parameters(function)

    def wrapper(self) -> Callable[..., Any]:
        """The function that takes the decorated one's place."""
        keep, times = self.captures_output, self.kind == "generation"
        if inspect.isasyncgenfunction(self.function):
            return relaying_async(self.function, self.open, keep=keep, times=times)
        if inspect.isgeneratorfunction(self.function):
            return relaying(self.function, self.open, keep=keep, times=times)
        if inspect.iscoroutinefunction(self.function):
            return self._coroutine()
        return self._plain()

    def open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Observation:
        """The observation of one call, not current yet."""
        found = client()
        if found is None:
            return NOTHING
        observation = found.open(self.name, self.kind)
        if self.captures_input and observation.is_recording:
            self._say_input(observation, args, kwargs)
        return observation

    @guarded(None)
    def _say_input(
        self, observation: Observation, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        skipped, names = self.num_skipped, self.parameters
        given = dict(zip(names[skipped:], args[skipped:], strict=False))
        if len(args) > len(names):
            given["args"] = args[len(names) :]
        given.update(kwargs)
        if given:
            observation.update(input=given)

    def close(self, observation: Observation, result: object) -> None:
        """The call has returned."""
        if self.captures_output:
            observation.update(output=result)
        observation.end()

    def _plain(self) -> Callable[..., Any]:
        function = self.function

        @functools.wraps(function)
        def observed(*args: Any, **kwargs: Any) -> Any:
            observation = self.open(args, kwargs).enter()
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                observation.leave()
                observation.fail(error).end()
                raise
            observation.leave()
            self.close(observation, result)
            return result

        return observed

    def _coroutine(self) -> Callable[..., Any]:
        function = self.function

        @functools.wraps(function)
        async def observed(*args: Any, **kwargs: Any) -> Any:
            observation = self.open(args, kwargs).enter()
            try:
                result = await function(*args, **kwargs)
            except BaseException as error:
                observation.leave()
                observation.fail(error).end()
                raise
            observation.leave()
            self.close(observation, result)
            return result

        return observed


@guarded(((), 0))
def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], int]:
    """Names of the positional parameters, and 1 where the first is `self` or `cls`."""
    parameters = inspect.signature(function).parameters.values()
    names = tuple(p.name for p in parameters if p.kind in _POSITIONAL)
    return names, int(bool(names) and names[0] in ("self", "cls"))
