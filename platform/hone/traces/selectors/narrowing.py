"""A filter's condition, narrowed to what the search index names where that is little."""

from hone.traces.selectors.filters import TraceFilter
from hone.traces.selectors.search import candidates


def ids_named(wanted: TraceFilter) -> list[bytes] | None:
    """The traces that the index names, among which all matches are; None where they are many."""
    parts = wanted.parts()
    return candidates(wanted.project_id, parts, wanted.start, wanted.end) if parts else None


def where_narrowed(wanted: TraceFilter) -> tuple[str, list[object]]:
    """As `wanted.where()`: the texts still decide, but only those of candidates are read."""
    return where_of(wanted, ids_named(wanted))


def where_of(wanted: TraceFilter, ids: list[bytes] | None) -> tuple[str, list[object]]:
    """The condition and its values, within `ids` where they are given."""
    where, values = wanted.where()
    if ids is None:
        return where, values
    return f"t.trace_id = ANY(%s) AND {where}", [ids, *values]
