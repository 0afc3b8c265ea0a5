"""A filter's condition, narrowed to what the search index names where that is little."""

from hone.traces.selectors.filters import TraceFilter
from hone.traces.selectors.search import candidates


def where_narrowed(wanted: TraceFilter) -> tuple[str, list[object]]:
    """As `wanted.where()`: the texts still decide, but only those of candidates are read."""
    where, values = wanted.where()
    parts = wanted.parts()
    ids = candidates(wanted.project_id, parts, wanted.start, wanted.end) if parts else None
    if ids is None:
        return where, values
    return f"t.trace_id = ANY(%s) AND {where}", [ids, *values]
