"""What a text needs to be found in the index: conditions that every match meets."""

from dataclasses import dataclass
from typing import Final

from hone.traces.core.search.terms import (
    MARK,
    PIECE_LEN,
    RUN,
    SURE_LEN,
    is_han,
    pairs,
)

MIN_PART_LEN: Final = 2  # a single letter inside of words helps nobody


@dataclass(frozen=True, slots=True)
class Part:
    """A term of the index must be `text`, begin with it, or hold it anywhere."""

    text: str
    how: str  # exact | prefix | inside


def parts_of(query: str) -> list[Part]:
    """The conditions, the most telling first; empty where the index cannot help.

    The words at both ends of the query may go on beyond it; those between are whole.
    """
    query = query.lower()
    parts: dict[Part, None] = {}
    for found in RUN.finditer(query):
        if query[max(0, found.start() - 1) : found.start()] == "\\":
            continue  # what looks like an escape may have been read as one
        for part in _parts(found[0], found.start() == 0, found.end() == len(query)):
            parts[part] = None
    return sorted(parts, key=_telling)


def exact(term: str) -> Part:
    return Part(term, "exact")


def _parts(run: str, open_left: bool, open_right: bool) -> list[Part]:
    if is_han(run):
        if len(run) == 1:
            return [Part(run, "inside")]
        return [Part(pair, "exact") for pair in pairs(run[:PIECE_LEN])]
    if open_left:
        text = run[:SURE_LEN] if open_right else run[-SURE_LEN:]
        return [Part(text, "inside")] if len(text) >= MIN_PART_LEN else []
    if len(run) > PIECE_LEN or not open_right:
        return [Part(run[:PIECE_LEN], "exact")]
    return [Part(run, "prefix")]


def _telling(part: Part) -> tuple[bool, int]:
    return not part.text.startswith(MARK), -len(part.text) - 2 * (part.how == "exact")
