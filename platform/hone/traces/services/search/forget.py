"""What the index holds of traces that were erased in large numbers is dropped by segment."""

from datetime import datetime
from typing import Final

from django.db import transaction
from psycopg import errors

from hone.traces.services.partitions import PATIENCE_MS
from hone.traces.services.search.index import working
from hone.traces.services.search.rows import Cursor, segment_delete

_TABLES: Final = (
    "traces_search_segment, traces_search_words, traces_search_postings, traces_search_docs"
)


def search_forget(*, project_id: int, until_seq: int, before: datetime | None = None) -> bool:
    """Drop the project's segments of changes up to `until_seq`, or of traces that began before
    `before`; those that hold other traces, too, are made anew. False where the index is being
    written: ask again."""
    goes, touched, limit = "to_seq <= %s", "from_seq < %s", until_seq
    if before is not None:
        goes, touched, limit = "latest_us < %s", "first_us < %s", int(before.timestamp() * 10**6)
    with working() as cursor:
        if cursor is None:
            return False
        cursor.execute(
            f"SELECT id FROM traces_search_segment WHERE project_id = %s AND {goes}",
            [project_id, limit],
        )
        _drop(cursor, [segment_id for (segment_id,) in cursor.fetchall()])
        cursor.execute(
            "UPDATE traces_search_segment SET stale = true"
            f" WHERE project_id = %s AND {touched} AND NOT stale",
            [project_id, limit],
        )
    return True


def _drop(cursor: Cursor, ids: list[int]) -> None:
    """Delete segments; where there are no others, by emptying the tables."""
    if not ids:
        return
    cursor.execute(
        "SELECT EXISTS (SELECT FROM traces_search_segment WHERE NOT id = ANY(%s))", [ids]
    )
    row = cursor.fetchone()
    if row == (False,):
        try:
            with transaction.atomic():
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{PATIENCE_MS}ms"])
                cursor.execute(f"TRUNCATE {_TABLES}")
        except errors.LockNotAvailable:
            pass  # somebody searches all the time
        else:
            return
    segment_delete(cursor, ids)
