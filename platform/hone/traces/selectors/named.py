"""Observations by their names, wherever they lie."""

from collections.abc import Collection, Sequence
from typing import Final

from hone.traces.selectors.detail import OBSERVATION, Observation, observation_from
from hone.traces.selectors.query import fetch
from hone.traces.selectors.rows import milliseconds

Name = tuple[str, str]  # trace id and observation id, hex
# One look-up a name, within the times of its trace: no partition is searched in vain.
_NAMED: Final = f"""
    SELECT n.trace_id, o.* FROM unnest(%s::bytea[], %s::bytea[]) AS n (trace_id, span_id)
    JOIN traces_trace t ON t.project_id = %s AND t.trace_id = n.trace_id
    CROSS JOIN LATERAL (
        {
    OBSERVATION.replace("BETWEEN %s AND %s", "BETWEEN t.started_at AND t.latest_start_at").replace(
        "o.trace_id = %s", "o.trace_id = n.trace_id"
    )
} AND o.span_id = n.span_id
    ) o
"""

_TIMES: Final = """
    SELECT n.trace_id, n.span_id, o.start_time, o.end_time, o.level
    FROM unnest(%s::bytea[], %s::bytea[]) AS n (trace_id, span_id)
    JOIN traces_trace t ON t.project_id = %s AND t.trace_id = n.trace_id
    CROSS JOIN LATERAL (
        SELECT o.start_time, o.end_time, o.level FROM traces_observation o
        WHERE o.project_id = t.project_id AND o.trace_id = n.trace_id
            AND o.start_time BETWEEN t.started_at AND t.latest_start_at AND o.span_id = n.span_id
    ) o
"""


def observations_named(project_id: int, names: Collection[Name]) -> dict[Name, Observation]:
    """The observations that are there, by name."""
    wanted: Sequence[Name] = [name for name in names if all(name)]
    if not wanted:
        return {}
    found = fetch(_NAMED, [*_columns(wanted), project_id, project_id])
    named = ((bytes(trace_id).hex(), observation_from(row)) for trace_id, *row in found)
    return {(trace_id, observation.id): observation for trace_id, observation in named}


def times_named(project_id: int, names: Collection[Name]) -> dict[Name, tuple[float, str]]:
    """Duration in ms and level of the observations that are there, by name."""
    wanted = [name for name in names if all(name)]
    rows = fetch(_TIMES, [*_columns(wanted), project_id]) if wanted else []
    return {
        (bytes(trace_id).hex(), bytes(span_id).hex()): (milliseconds(start, end) or 0.0, level)
        for trace_id, span_id, start, end, level in rows
    }


def _columns(names: Sequence[Name]) -> list[list[bytes]]:
    return [[bytes.fromhex(name[part]) for name in names] for part in (0, 1)]
