"""Whether a model's name is meant: clauses as nested data, as genai-prices writes them."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

Match = Mapping[str, Any]


def matches(clause: Match, name: str) -> bool:
    """Whether a lower-case `name` satisfies a clause of one of the kinds below."""
    [(kind, wanted)] = clause.items()
    return _KINDS[kind](name, wanted)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# The patterns are the table's own, reviewed when it is renewed; nobody else's get here.
_KINDS: dict[str, Callable[[str, Any], bool]] = {
    "equals": lambda name, wanted: name == wanted,
    "starts_with": lambda name, wanted: name.startswith(wanted),
    "ends_with": lambda name, wanted: name.endswith(wanted),
    "contains": lambda name, wanted: wanted in name,
    "regex": lambda name, wanted: _compiled(wanted).search(name) is not None,
    "or": lambda name, wanted: any(matches(clause, name) for clause in wanted),
    "and": lambda name, wanted: all(matches(clause, name) for clause in wanted),
}
