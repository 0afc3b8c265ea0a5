"""What conditions ask of the search index."""

from collections.abc import Iterable, Mapping
from typing import Final

from hone.common.conditions import Column, Condition
from hone.traces.core.search.terms import value_term
from hone.traces.core.search.wanted import Part, exact, parts_of

_SAYS_WORDS: Final = frozenset({"=", "contains", "matches", "starts with", "ends with"})


def parts_needed(conditions: Iterable[Condition], columns: Mapping[str, Column]) -> list[Part]:
    """What the index must hold for every row that meets the conditions."""
    return [part for one in conditions for part in _parts(one, columns[one.column].term)]


def _parts(condition: Condition, term: str | None) -> list[Part]:
    value, operator = condition.value, condition.operator
    if term is None:
        return []
    if term == "*":
        is_text = condition.type == "string" and operator in _SAYS_WORDS
        return parts_of(value) if is_text else []
    if operator == "=" and condition.type == "string":
        return [exact(value_term(term, value))]
    if operator == "all of" or (operator == "any of" and len(value) == 1):
        return [exact(value_term(term, one)) for one in value]
    return []
