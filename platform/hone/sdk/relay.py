"""Generators as observations: everything that passes is passed on, and what came is remembered.

While the generator's own code runs its observation is the current one; between two items the
caller's context is back. Contexts are put back as values: the end may come in another task.
"""

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Final

from opentelemetry import context as otel

from hone.sdk.context import swap
from hone.sdk.observation import NOTHING, Observation

Open = Callable[[tuple[Any, ...], dict[str, Any]], Observation]

MAX_ITEMS: Final = 10_000


class Items:
    """What a generator gave: joined where all of it is text, else a list."""

    __slots__ = ("kept", "num_items")

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.num_items = 0

    def add(self, item: object) -> None:
        """Remember an item, the first MAX_ITEMS of them."""
        self.num_items += 1
        if self.num_items <= MAX_ITEMS:
            self.kept.append(item)

    def output(self) -> object:
        """The whole as a value; None where nothing came."""
        if not self.kept:
            return None
        more = self.num_items - len(self.kept)
        if all(isinstance(item, str) for item in self.kept):
            return "".join(self.kept) + (f"… [{more} items cut]" if more else "")
        return [*self.kept, f"… {more} more"] if more else self.kept


class Stage:
    """The context in which one generator's code runs."""

    __slots__ = ("_inside", "_is_idle", "_items", "_observation", "_outside", "_times_first")

    def __init__(self, observation: Observation, keep: bool, times: bool) -> None:
        self._observation = observation
        self._items = Items() if keep and observation.is_recording else None
        self._times_first = times
        self._is_idle = observation is NOTHING
        self._outside = otel.get_current()
        observation.enter()
        self._inside = swap(self._outside)  # what the observation entered, for the first step

    def enter(self) -> None:
        """The generator's code runs from here."""
        if not self._is_idle:
            self._outside = swap(self._inside)

    def leave(self) -> None:
        """It waits: the caller's context comes back, the generator's is kept for later."""
        if not self._is_idle:
            self._inside = swap(self._outside)

    def took(self, item: Any) -> Any:
        """An item on its way to the caller."""
        if self._items is not None:
            self._items.add(item)
        if self._times_first:
            self._observation.first_token()
        return item

    def end(self, error: BaseException | None = None) -> None:
        """The generator is exhausted, closed or has raised."""
        if self._items is not None:
            self._observation.update(output=self._items.output())
        if error is not None:
            self._observation.fail(error)
        self._observation.end()


def relaying(
    function: Callable[..., Generator[Any, Any, Any]], open_: Open, *, keep: bool, times: bool
) -> Callable[..., Generator[Any, Any, Any]]:
    """The generator function with an observation, from its first step to its end.

    `keep` its items as output; `times` when the first one came, for the time to first token.
    """

    @functools.wraps(function)
    def observed(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        stage = Stage(open_(args, kwargs), keep, times)

        def step(method: Callable[..., Any], *values: Any) -> Any:
            stage.enter()
            try:
                return method(*values)
            finally:
                stage.leave()

        try:
            item = step(generator.send, None)
            while True:
                try:
                    sent = yield stage.took(item)
                except GeneratorExit:
                    step(generator.close)
                    raise
                except BaseException as error:
                    item = step(generator.throw, error)
                else:
                    item = step(generator.send, sent)
        except StopIteration as stop:
            stage.end()
            return stop.value
        except BaseException as error:
            stage.end(error)
            raise

    return observed


def relaying_async(
    function: Callable[..., AsyncGenerator[Any, Any]], open_: Open, *, keep: bool, times: bool
) -> Callable[..., AsyncGenerator[Any, Any]]:
    """The async generator function with an observation, from its first step to its end.

    `keep` its items as output; `times` when the first one came, for the time to first token.
    """

    @functools.wraps(function)
    async def observed(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        stage = Stage(open_(args, kwargs), keep, times)

        async def step(method: Callable[..., Any], *values: Any) -> Any:
            stage.enter()
            try:
                return await method(*values)
            finally:
                stage.leave()

        try:
            item = await step(generator.asend, None)
            while True:
                try:
                    sent = yield stage.took(item)
                except GeneratorExit:
                    await step(generator.aclose)
                    raise
                except BaseException as error:
                    item = await step(generator.athrow, error)
                else:
                    item = await step(generator.asend, sent)
        except StopAsyncIteration:
            stage.end()
        except BaseException as error:
            stage.end(error)
            raise

    return observed
