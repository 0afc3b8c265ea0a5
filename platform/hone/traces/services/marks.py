"""Numbers of changes that a reader can trust, although transactions commit out of order.

A sequence hands out numbers before commit, so the highest number seen says nothing about lower
ones. Every writer therefore first takes a shared advisory lock whose key holds a number at or below
any it will use; while the lock is held, nobody counts further than that (`selectors.changes`).
"""

from typing import Any

import psycopg

from hone.traces.core.marks import MARK, NUMBER_BITS


def seq_begin(cursor: psycopg.Cursor[Any]) -> int:
    """Mark this transaction as a writer; a number of its own.

    It also sees to it that the commit waits for the disk, however the server or the connection is
    set: what is acknowledged is durable.
    """
    # The columns are computed in their order: the lock is held before the number is taken.
    cursor.execute(
        "SELECT pg_advisory_xact_lock_shared((%s::bigint << %s) | last_value),"
        " CASE current_setting('synchronous_commit') WHEN 'off'"
        " THEN set_config('synchronous_commit', 'on', true) END,"
        " nextval('traces_seq') FROM traces_seq",
        [MARK, NUMBER_BITS],
    )
    row = cursor.fetchone()
    assert row is not None
    number: int = row[2]
    return number
