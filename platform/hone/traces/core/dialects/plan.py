"""Where to look, worked out once for all spans whose attributes have the same keys.

One instrumentation writes few different sets of keys, so the search through every dialect's names
is done once a set and remembered. This is what makes the mapping affordable at ingest speed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from hone.traces.core.dialects import keys
from hone.traces.core.dialects.conversation import Tree, tree_of
from hone.traces.core.dialects.keys import Keys

_MAX_REMEMBERED: Final = 256  # attributes; a larger set is not worth its memory


class Source(NamedTuple):
    """Where a payload comes from: one attribute, or a tree of them, or nowhere."""

    key: str | None = None
    tree: Tree | None = None
    copies: tuple[tuple[str, Keys], ...] = ()  # an attribute, message texts that it may repeat
    taken: Keys = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """For every field the attributes that are there and may hold it, in order of preference."""

    name: Keys
    types: Keys
    guess: str
    model: Keys
    parameters: Keys
    parameter_pairs: tuple[tuple[str, str], ...]
    input: Source
    output: Source
    copies: tuple[tuple[str, Keys], ...]  # an attribute and the message texts it may repeat
    metadata: Keys
    metadata_pairs: tuple[tuple[str, str], ...]
    tokens: Mapping[str, Keys]
    costs: Mapping[str, Keys]
    first_token_seconds: Keys
    first_token_ms: Keys
    prompt_name: Keys
    prompt_version: Keys
    session: Keys
    user: Keys
    tags: Keys
    trace_name: Keys
    environment: Keys
    has_parts: bool  # of the tokens of a side, such as cached ones
    counts: bool  # False: it repeats what its children used
    kept: Keys  # attributes that no other field holds


def plan_for(attributes: Mapping[str, object]) -> Plan:
    """The plan for these attributes' keys."""
    if len(attributes) > _MAX_REMEMBERED:
        return _plan(tuple(attributes))
    return _remembered(tuple(attributes))


def _plan(names: Keys) -> Plan:
    present = frozenset(names)
    groups = _grouped(names)
    given = _source(present, groups, keys.INPUT_FIRST, keys.INPUT_GROUPS, keys.INPUT)
    answer = _source(present, groups, keys.OUTPUT_FIRST, keys.OUTPUT_GROUPS, keys.OUTPUT)
    metadata = _those(keys.METADATA, present)
    pairs = tuple((p + rest, rest) for p in keys.METADATA_GROUPS for rest in groups.get(p, ()))
    taken = {*given.taken, *answer.taken, *metadata, *(name for name, _ in pairs)}
    prefix = keys.PARAMETER_PREFIX
    return Plan(
        name=_those(keys.NAME, present),
        types=_those(keys.TYPES, present),
        guess=_guess(present),
        model=_those(keys.MODEL, present),
        parameters=_those(keys.PARAMETERS, present),
        parameter_pairs=tuple(
            (name, name[len(prefix) :])
            for name in names
            if name.startswith(prefix) and name != "gen_ai.request.model"
        ),
        input=given,
        output=answer,
        copies=given.copies + answer.copies,
        metadata=metadata,
        metadata_pairs=pairs,
        tokens=(tokens := _each(keys.TOKENS, present)),
        costs=_each(keys.COSTS, present),
        first_token_seconds=_those(keys.FIRST_TOKEN_SECONDS, present),
        first_token_ms=_those(keys.FIRST_TOKEN_MS, present),
        prompt_name=_those(keys.PROMPT_NAME, present),
        prompt_version=_those(keys.PROMPT_VERSION, present),
        session=_those(keys.SESSION, present),
        user=_those(keys.USER, present),
        tags=_those(keys.TAGS, present),
        trace_name=_those(keys.TRACE_NAME, present),
        environment=_those(keys.ENVIRONMENT, present),
        has_parts=not tokens.keys() <= {"input", "output", "total"},
        counts=present.isdisjoint(keys.AGENT_MARKS),
        kept=tuple(name for name in names if name not in taken),
    )


_remembered = lru_cache(maxsize=1024)(_plan)


def _those(wanted: Keys, present: frozenset[str]) -> Keys:
    return tuple(key for key in wanted if key in present)


def _each(parts: Mapping[str, Keys], present: frozenset[str]) -> dict[str, Keys]:
    found = {part: _those(wanted, present) for part, wanted in parts.items()}
    return {part: those for part, those in found.items() if those}


def _guess(present: frozenset[str]) -> str:
    if present.intersection(keys.TOOL_MARKS):
        return "tool"
    if present.intersection(keys.AGENT_MARKS):
        return "agent"
    return "generation" if present.intersection(keys.MODEL) else "span"


def _grouped(names: Keys) -> dict[str, list[str]]:
    """Names under a prefix that belong together, by prefix, the prefix cut off."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if name.startswith(keys.GROUPS):
            prefix = next(prefix for prefix in keys.GROUPS if name.startswith(prefix))
            rest = name[len(prefix) :]
            if prefix not in keys.INDEXED or rest[:1].isdecimal():
                groups.setdefault(prefix, []).append(rest)
    return groups


def _source(
    present: frozenset[str],
    groups: dict[str, list[str]],
    exact: Keys,
    prefixes: Keys,
    rest: Keys,
) -> Source:
    if first := _those(exact, present):
        return Source(key=first[0], taken=first[:1])
    others = _those(rest, present)
    for prefix in prefixes:
        tree = tree_of(prefix, groups[prefix]) if prefix in groups else None
        if tree is not None:
            taken = tuple(prefix + name for name in groups[prefix])
            texts = tuple(name for name in taken if name.endswith(("content", ".text")))
            return Source(tree=tree, copies=tuple((o, texts) for o in others), taken=taken)
    return Source(key=others[0], taken=others[:1]) if others else Source()
