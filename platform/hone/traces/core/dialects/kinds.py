"""What sort of observation a span is."""

from collections.abc import Callable
from typing import Final

from hone.traces.core.dialects.keys import (
    TYPE_OF_MLFLOW,
    TYPE_OF_OPENINFERENCE,
    TYPE_OF_OPERATION,
    TYPE_OF_TRACELOOP,
    VERCEL_EMBEDDINGS,
    VERCEL_GENERATIONS,
    VERCEL_WHOLES,
)
from hone.traces.core.dialects.plan import Plan
from hone.traces.core.dialects.values import Attributes
from hone.traces.core.span import TYPES


def type_of(attributes: Attributes, plan: Plan) -> str:
    """One of `TYPES`, by the most exact statement found."""
    for key in plan.types:
        value = attributes[key]
        if isinstance(value, str) and (found := _READERS[key](value)):
            break
    else:
        return plan.guess
    # Langfuse's Python SDK up to 3.3.0 sent generations as spans.
    is_disguised = found == "span" and "langfuse.observation.model.name" in attributes
    return "generation" if is_disguised else found


def _vercel(operation: str) -> str | None:
    if operation.startswith(VERCEL_GENERATIONS):
        return "generation"
    if operation.startswith(VERCEL_EMBEDDINGS):
        return "embedding"
    if operation.startswith("ai.toolCall"):
        return "tool"
    return "span" if operation.partition(" ")[0] in VERCEL_WHOLES else None


_READERS: Final[dict[str, Callable[[str], str | None]]] = {
    "langfuse.observation.type": lambda word: word.lower() if word.lower() in TYPES else None,
    "openinference.span.kind": lambda word: TYPE_OF_OPENINFERENCE.get(word.upper()),
    "gen_ai.operation.name": TYPE_OF_OPERATION.get,
    "operation.name": _vercel,
    "ai.operationId": _vercel,
    "mlflow.spanType": lambda word: TYPE_OF_MLFLOW.get(word.strip('"')),
    "traceloop.span.kind": TYPE_OF_TRACELOOP.get,
    "logfire.span_type": {"log": "event"}.get,
}


def readings(key: str) -> dict[str, str]:
    """The usual values of a type attribute, as they are written, with what they mean."""
    read = _READERS[key]
    words = {*TYPES, *TYPE_OF_OPENINFERENCE, *TYPE_OF_OPERATION, *TYPE_OF_TRACELOOP}
    words |= {*VERCEL_GENERATIONS, *VERCEL_EMBEDDINGS, *VERCEL_WHOLES, "ai.toolCall"}
    words |= {*TYPE_OF_MLFLOW, "log"}
    written = {form for word in words for form in (word, word.upper(), f'"{word}"')}
    found = {word: read(word) for word in written}
    return {word: kind for word, kind in found.items() if kind is not None}
