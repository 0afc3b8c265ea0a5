"""Segments that hold words of what was deleted are made anew from what is left."""

from typing import Final

from hone.traces.core.search import codec
from hone.traces.core.search.gather import Gathered
from hone.traces.services.search.index import (
    COLUMNS,
    FETCHED,
    gathered_write,
    texts_of,
    working,
)
from hone.traces.services.search.rows import Cursor, Span, segment_delete, segment_docs

_TEXTS: Final = f"""
    SELECT {COLUMNS} FROM traces_trace t JOIN traces_observation o
        ON o.project_id = t.project_id AND o.trace_id = t.trace_id
        AND o.start_time BETWEEN t.started_at AND t.latest_start_at
    WHERE t.project_id = %s AND t.trace_id = ANY(%s) AND o.seq > %s AND o.seq <= %s
"""


def search_renew() -> bool:
    """Make one stale segment anew; False where there is none."""
    with working() as cursor:
        if cursor is None:
            return False
        cursor.execute(
            "SELECT id, project_id, from_seq, to_seq, level FROM traces_search_segment"
            " WHERE stale ORDER BY id LIMIT 1"
        )
        row = cursor.fetchone()
        if row is None:
            return False
        gathered = _gather(cursor, *row[:4])
        segment_delete(cursor, row[:1])
        if gathered.docs:
            gathered_write(cursor, Span(*row[1:]), gathered)
    return True


def _gather(cursor: Cursor, segment_id: int, project_id: int, since: int, until: int) -> Gathered:
    data = segment_docs(cursor, segment_id)
    size = codec.DOC_BYTES
    ids = [data[at : at + 16] for at in range(0, len(data), size)]
    gathered = Gathered()
    for at in range(0, len(ids), FETCHED):
        cursor.execute(_TEXTS, [project_id, ids[at : at + FETCHED], since, until])
        for one in cursor.fetchall():
            gathered.add(texts_of(one))
    return gathered
