"""What a project's retention is, and how much another one would let go of."""

from dataclasses import dataclass
from datetime import datetime

from hone.traces.selectors.query import fetch

# Both are kept by the job of the search index, some seconds behind.
_OLDER = """
    SELECT (SELECT coalesce(sum(ok + error), 0)::bigint FROM traces_count
            WHERE project_id = %(project)s AND slot < %(before)s),
        (SELECT coalesce(sum(n), 0)::bigint FROM traces_rollup
            WHERE project_id = %(project)s AND slot < %(before)s),
        (SELECT min(slot) FROM traces_count WHERE project_id = %(project)s)
"""


@dataclass(frozen=True, slots=True)
class Older:
    """Traces and observations that began before a moment, and about when the first of all did."""

    before: datetime
    traces: int
    observations: int
    first_at: datetime | None


def older(project_id: int, before: datetime) -> Older:
    """How much there is from before a whole hour, as of some seconds ago."""
    [row] = fetch(_OLDER, {"project": project_id, "before": before})
    return Older(before, *row)
