"""The mapping tables as data for the extension; `dialects.keys` and `.plan` stay the truth."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from hone.traces.core.dialects import keys
from hone.traces.core.dialects.conversation import SPECIAL_EVENTS, Tree
from hone.traces.core.dialects.kinds import readings
from hone.traces.core.dialects.mapping import (
    COMPLETION_START,
    ERROR_TYPE,
    EXCEPTION_MESSAGE,
    LEVEL,
    RELEASE,
    RESOURCE_RELEASE,
    RESOURCE_VERSION,
    STATUS_MESSAGE,
    VERSION,
)
from hone.traces.core.dialects.payload import INSTRUCTIONS, SDK_LANGUAGE
from hone.traces.core.dialects.plan import Plan, Source, plan_for
from hone.traces.core.dialects.usage import (
    COST_DETAILS,
    MLFLOW_COST,
    MLFLOW_USAGE,
    OPENAI_USAGE,
    USAGE_DETAILS,
)
from hone.traces.core.fit import LIMITS, PROMPT_VERSION_LEN
from hone.traces.core.text import json_text
from hone.traces.core.tokens import ALIASES

_MAX_NAMES: Final = 256
# Spans with one of these are rare or need a closer look: they are left to the reference.
_LEFT: Final = frozenset(
    {
        *(COMPLETION_START, INSTRUCTIONS, COST_DETAILS, MLFLOW_COST, MLFLOW_USAGE),
        *(keys.MLFLOW_MODEL, keys.PROMPT_LINK, keys.LISTED_EVENTS, keys.LEVEL_NUMBER),
        keys.FUNCTION,
    }
)
_CONTEXT_PREFIX: Final = "otel."

Pieces = list[tuple[str, int]]


def rules() -> dict[str, Any]:
    """What holds for spans of all sorts."""
    return {
        # A character takes at least one byte, so a text of so many bytes surely fits.
        "limits": {**LIMITS, "prompt_version": PROMPT_VERSION_LEN},
        "aggregates": keys.AGGREGATES,
        "special_events": SPECIAL_EVENTS | keys.FIRST_TOKEN_EVENTS,
        "aliases": set(ALIASES),
        "levels": keys.LEVELS,
        "openai_usage": OPENAI_USAGE,
        "environment": keys.ENVIRONMENT,
        "exception_message": EXCEPTION_MESSAGE,
        "release": RESOURCE_RELEASE,
        "version": RESOURCE_VERSION,
        "language": SDK_LANGUAGE,
    }


def spec_of(names: Sequence[str], left: Collection[str] = ()) -> dict[str, Any] | None:
    """Where the values of a span with these attributes are found; None for the reference's."""
    if len(names) > _MAX_NAMES or len(set(names)) < len(names):
        return None
    if not _LEFT.isdisjoint(names) or any(name in left for name in names):
        return None
    plan = plan_for(dict.fromkeys(names))
    rests = [rest for _, rest in plan.metadata_pairs]
    is_plain = not plan.costs and len(set(rests)) == len(rests)
    one_metadata = len(plan.metadata) + bool(rests) <= 1
    if not is_plain or not one_metadata or any(n.startswith(_CONTEXT_PREFIX) for n in names):
        return None
    return _spec(plan, {name: number for number, name in enumerate(names)})


def _spec(plan: Plan, places: Mapping[str, int]) -> dict[str, Any]:
    def at(wanted: Iterable[str]) -> list[int]:
        return [places[name] for name in wanted if name in places]

    return {
        "name": at(plan.name),
        "model": at(plan.model) if plan.counts else [],
        "session": at(plan.session),
        "user": at(plan.user),
        "trace_name": at(plan.trace_name),
        "prompt_name": at(plan.prompt_name),
        "prompt_version": at(plan.prompt_version),
        "environment": at(plan.environment),
        "parameters": at(plan.parameters),
        "first_token_seconds": at(plan.first_token_seconds),
        "first_token_ms": at(plan.first_token_ms),
        "status_message": at((STATUS_MESSAGE,)),
        "error_type": at((ERROR_TYPE,)),
        "level": at((LEVEL,)),
        "release": at((RELEASE,)),
        "version": at((VERSION,)),
        "operation": at(keys.OPERATIONS),
        "tags": at(plan.tags),
        "types": [(places[key], readings(key)) for key in plan.types],
        "guess": plan.guess,
        "is_disguised": "langfuse.observation.model.name" in places,
        "parameter_pairs": _object((name, places[key]) for key, name in plan.parameter_pairs),
        "metadata_pairs": _object((rest, places[key]) for key, rest in plan.metadata_pairs),
        "input": _source(plan.input, places),
        "output": _source(plan.output, places),
        "metadata": places[plan.metadata[0]] if plan.metadata else -1,
        "usage_details": places.get(USAGE_DETAILS, -1) if plan.counts else -1,
        "kept": [(json_text(key) + ":", places[key], _repeats(plan, key, at)) for key in plan.kept],
        "tokens": [(part, at(wanted)) for part, wanted in plan.tokens.items() if plan.counts],
        "has_parts": plan.has_parts,
    }


def _repeats(plan: Plan, key: str, at: Any) -> list[int]:
    return [index for copied, texts in plan.copies if copied == key for index in at(texts)]


def _source(source: Source, places: Mapping[str, int]) -> tuple[int, Pieces]:
    if source.key is not None:
        return places[source.key], []
    if source.tree is None:
        return -1, []
    pieces: Pieces = []
    _grow(source.tree, places, pieces)
    return -1, _merged(pieces)


def _object(members: Iterable[tuple[str, int]]) -> Pieces:
    pieces: Pieces = []
    for number, (name, index) in enumerate(members):
        pieces.append((("," if number else "{") + json_text(name) + ":", index))
    return [*pieces, ("}", -1)] if pieces else []


def _grow(tree: Tree, places: Mapping[str, int], pieces: Pieces) -> None:
    """JSON of that shape, with holes where the attributes go."""
    if isinstance(tree, str):
        pieces.append(("", places[tree]))
        return
    is_list = isinstance(tree, list)
    pieces.append(("[" if is_list else "{", -1))
    branches = enumerate(tree) if isinstance(tree, list) else tree.items()
    for number, (key, branch) in enumerate(branches):
        pieces.append(("," if number else "", -1))
        if not is_list:
            pieces.append((json_text(key) + ":", -1))
        _grow(branch, places, pieces)
    pieces.append(("]" if is_list else "}", -1))


def _merged(pieces: Pieces) -> Pieces:
    """The same with literals that follow one another in one piece."""
    merged: Pieces = []
    literal = ""
    for text, index in pieces:
        literal += text
        if index >= 0:
            merged.append((literal, index))
            literal = ""
    return [*merged, (literal, -1)] if literal else merged
