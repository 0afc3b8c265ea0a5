"""`with span(...)` and `with generation(...)`: a block of code as an observation."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from hone.sdk.client import client
from hone.sdk.observation import NOTHING, UNSET, Observation


class Block:
    """A context manager that gives its Observation; made anew for each use."""

    __slots__ = ("_kind", "_name", "_observation", "_said")

    def __init__(self, name: str, kind: str, said: dict[str, Any]) -> None:
        self._name = name
        self._kind = kind
        self._said = said
        self._observation = NOTHING

    def __enter__(self) -> Observation:
        found = client()
        if found is not None:
            self._observation = found.open(self._name, self._kind).update(**self._said).enter()
        return self._observation

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        observation = self._observation
        if error is not None:
            observation.fail(error)
        observation.leave()
        observation.end()

    async def __aenter__(self) -> Observation:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, traceback)

    def start(self) -> Observation:
        """Open it without a block: the caller calls `end`, and nothing is inside of it."""
        found = client()
        return NOTHING if found is None else found.open(self._name, self._kind).update(**self._said)


def span(
    name: str,
    *,
    kind: str = "span",
    input: object = UNSET,
    metadata: Mapping[str, object] | None = None,
) -> Block:
    """A block of code, of any kind: span, chain, tool, agent, retriever, evaluator, guardrail …"""
    return Block(name, kind, {"input": input, "metadata": metadata})


def generation(
    name: str,
    *,
    model: str | None = None,
    input: object = UNSET,
    parameters: Mapping[str, object] | None = None,
    prompt: Any = None,
    metadata: Mapping[str, object] | None = None,
) -> Block:
    """A call of a model; say its answer and usage with `update`."""
    said = {
        "model": model,
        "input": input,
        "parameters": parameters,
        "prompt": prompt,
        "metadata": metadata,
    }
    return Block(name, "generation", said)
