"""The search index, kept some seconds behind the observations by a job of its own."""

from hone.traces.services.search.forget import search_forget
from hone.traces.services.search.index import LOCK, search_index, search_stale
from hone.traces.services.search.merge import search_merge
from hone.traces.services.search.refresh import search_refresh, search_retain
from hone.traces.services.search.renew import search_renew

__all__ = [
    "LOCK",
    "search_forget",
    "search_index",
    "search_merge",
    "search_refresh",
    "search_renew",
    "search_retain",
    "search_stale",
]
