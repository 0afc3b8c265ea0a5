"""Everything that reads traces. Every list has a time window and a limit."""

from hone.traces.selectors.changes import Change, changes_since, horizon
from hone.traces.selectors.detail import observation_detail, trace_detail
from hone.traces.selectors.facets import traces_facets
from hone.traces.selectors.filters import TraceFilter
from hone.traces.selectors.histogram import traces_histogram
from hone.traces.selectors.listing import traces_by_ids, traces_list
from hone.traces.selectors.rows import TraceRow

__all__ = [
    "Change",
    "TraceFilter",
    "TraceRow",
    "changes_since",
    "horizon",
    "observation_detail",
    "trace_detail",
    "traces_by_ids",
    "traces_facets",
    "traces_histogram",
    "traces_list",
]
