"""Traces found through the index of words (services/search)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from hone.traces.core.search.wanted import Part
from hone.traces.selectors.rows import TraceRow
from hone.traces.selectors.search.find import Condition, trace_ids, traces_found
from hone.traces.selectors.search.plan import TAIL, is_stale, newer, plan_of

_ATTEMPTS: Final = 3
CANDIDATES: Final = 2000  # traces whose observations are looked at one by one


def search(
    condition: Condition, parts: Sequence[Part], start: datetime, end: datetime
) -> list[TraceRow] | None:
    """The newest rows that meet the condition; None where the index is of no help.

    `parts` (core.search.wanted) hold for every match; `start` and `end` bound when it began.
    """
    for _ in range(_ATTEMPTS):
        plan = plan_of(condition.project_id, parts, start, end)
        if newer(condition.project_id, plan.indexed_seq) > TAIL:
            return None
        rows = traces_found(plan, condition)
        if not is_stale(condition.project_id, plan):
            return rows
    return None


def candidates(
    project_id: int, parts: Sequence[Part], start: datetime, end: datetime
) -> list[bytes] | None:
    """Ids of all traces that may hold what is looked for; None where they are many."""
    for _ in range(_ATTEMPTS):
        plan = plan_of(project_id, parts, start, end)
        number = newer(project_id, plan.indexed_seq)
        if number > CANDIDATES:
            return None
        ids = trace_ids(plan, project_id, CANDIDATES)
        if ids is None or not is_stale(project_id, plan):
            return ids
    return None


__all__ = ["Condition", "candidates", "search"]
