"""What there is to filter observations by, with counts."""

from typing import Final

from hone.traces.selectors.facets import MAX_VALUES, FacetValue
from hone.traces.selectors.observations import ObservationFilter, trace_start
from hone.traces.selectors.query import fetch_slow

TRACES: Final = 5000  # in whose time observations are counted
_FACETS: Final = {
    "type": "type",
    "level": "level",
    "model": "model",
    "name": "name",
    "environment": "coalesce(environment, 'default')",
}


def observations_facets(wanted: ObservationFilter) -> dict[str, list[FacetValue]]:
    """For each column its most frequent values among the newest observations."""
    begin = trace_start(wanted, wanted.end, TRACES)
    where, values = wanted.where()
    parts = " UNION ALL ".join(
        f"(SELECT '{facet}', {value} AS value, count(*) AS number FROM newest"
        f" WHERE {value} IS NOT NULL GROUP BY value ORDER BY number DESC, value LIMIT {MAX_VALUES})"
        for facet, value in _FACETS.items()
    )
    query = f"""
        WITH newest AS MATERIALIZED (
            SELECT o.type, o.level, o.model, o.name, o.environment FROM traces_observation o
            WHERE {where} AND o.start_time >= %s AND o.start_time < %s
        ) {parts}
    """
    facets: dict[str, list[FacetValue]] = {facet: [] for facet in _FACETS}
    for facet, value, count in fetch_slow(query, [*values, begin, wanted.end]):
        facets[facet].append(FacetValue(value, count))
    return facets
