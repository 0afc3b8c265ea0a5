"""What there is to filter by, with counts."""

from dataclasses import dataclass, field
from typing import Final

from hone.traces.selectors.filters import TraceFilter
from hone.traces.selectors.narrowing import where_narrowed
from hone.traces.selectors.query import fetch_slow
from hone.traces.selectors.rows import DEFAULT_ENVIRONMENT

NEWEST: Final = 20_000  # traces that are counted
CHOSEN: Final = 5000  # of those that meet conditions: many others may have to be read for them
MAX_VALUES: Final = 50  # of each facet
_FACETS: Final = {
    "models": "unnest(models)",
    "names": "name",
    "status": "CASE WHEN error_count > 0 THEN 'error' ELSE 'ok' END",
    "environments": f"coalesce(environment, '{DEFAULT_ENVIRONMENT}')",
    "tags": "unnest(tags)",
}


@dataclass(frozen=True, slots=True)
class FacetValue:
    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Facets:
    """For each facet its most frequent values."""

    models: list[FacetValue] = field(default_factory=list)
    names: list[FacetValue] = field(default_factory=list)
    status: list[FacetValue] = field(default_factory=list)
    environments: list[FacetValue] = field(default_factory=list)
    tags: list[FacetValue] = field(default_factory=list)


def traces_facets(wanted: TraceFilter) -> Facets:
    """Counts over the newest traces that `wanted` names."""
    where, values = where_narrowed(wanted)
    most = NEWEST if wanted.is_plain else CHOSEN
    parts = " UNION ALL ".join(
        f"(SELECT '{facet}', {value} AS value, count(*) AS number FROM newest"
        f" GROUP BY value ORDER BY number DESC, value LIMIT {MAX_VALUES})"
        for facet, value in _FACETS.items()
    )
    query = f"""
        WITH newest AS MATERIALIZED (
            SELECT t.models, t.name, t.error_count, t.environment, t.tags FROM traces_trace t
            WHERE {where} ORDER BY t.started_at DESC LIMIT {most}
        ) {parts}
    """
    facets = Facets()
    for facet, value, count in fetch_slow(query, values):
        getattr(facets, facet).append(FacetValue(value, count))
    return facets
