"""All that keeps the index fresh, small and free of what was deleted."""

import time
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection

from hone.traces.services.search.index import search_index
from hone.traces.services.search.merge import search_merge
from hone.traces.services.search.renew import search_renew

BUDGET_S: Final = 60.0  # of one run; the next one goes on
_SUMMARIZE: Final = """
    SELECT brin_summarize_new_values(inhrelid) FROM pg_inherits
    WHERE inhparent IN ('traces_observation_seq'::regclass, 'traces_observation_start'::regclass)
"""


def search_refresh() -> None:
    """Index what is new, merge small segments, renew stale ones."""
    until = time.monotonic() + BUDGET_S
    while search_index() and time.monotonic() < until:
        _summarize()
        _merge(until)
    _merge(until)
    while time.monotonic() < until and search_renew():
        pass


def _merge(until: float) -> None:
    while time.monotonic() < until and search_merge():
        pass


def search_retain(cutoff: datetime) -> None:
    """Let go of segments older than `cutoff`, and renew those of which much is older."""
    margin = timedelta(days=2 * settings.HONE_TRACES_PARTITION_DAYS)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM traces_search_segment WHERE to_timestamp(latest_us / 1e6) < %s", [cutoff]
        )
        cursor.execute(
            "UPDATE traces_search_segment SET stale = true"
            " WHERE to_timestamp(first_us / 1e6) < %s AND NOT stale",
            [cutoff - margin],
        )


def _summarize() -> None:
    """Let the block range indexes know the pages that came since: else all of them are read."""
    with connection.cursor() as cursor:
        cursor.execute(_SUMMARIZE)
