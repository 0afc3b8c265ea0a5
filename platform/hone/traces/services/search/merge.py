"""Small segments become larger ones, so that a search looks into few."""

from array import array
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import groupby, pairwise
from typing import Any, Final

from hone.traces.services.search.index import working
from hone.traces.services.search.rows import (
    NOTHING,
    Cursor,
    Span,
    Term,
    dense_over,
    segment_delete,
    segment_docs,
    segment_terms,
    segment_write,
)

FAN: Final = 6  # segments of one level that become one of the next
MAX_DOCS: Final = 400_000
_NEXT: Final = """
    SELECT array_agg(id ORDER BY from_seq) FROM (
        SELECT id, project_id, level, from_seq, num_docs,
            (row_number() OVER (PARTITION BY project_id, level ORDER BY from_seq) - 1) / %s AS heap
        FROM traces_search_segment WHERE num_docs <= %s AND NOT stale
    ) s GROUP BY project_id, level, heap
    HAVING count(*) = %s AND sum(num_docs) <= %s ORDER BY level LIMIT 1
"""


def search_merge() -> bool:
    """Merge one heap of segments; False where there is none."""
    with working() as cursor:
        if cursor is None:
            return False
        cursor.execute(_NEXT, [FAN, MAX_DOCS // 2, FAN, MAX_DOCS])
        row = cursor.fetchone()
        if row is None:
            return False
        _merge(cursor, row[0])
        segment_delete(cursor, row[0])
    return True


def _merge(cursor: Cursor, ids: Sequence[int]) -> None:
    cursor.execute(
        "SELECT project_id, from_seq, to_seq, level, num_docs, first_us, latest_us, ordered"
        " FROM traces_search_segment WHERE id = ANY(%s) ORDER BY array_position(%s, id)",
        [list(ids), list(ids)],
    )
    rows = cursor.fetchall()
    span = Span(rows[0][0], rows[0][1], rows[-1][2], rows[0][3] + 1)
    ordered = all(row[7] for row in rows) and _in_order(rows)
    docs = b"".join(segment_docs(cursor, segment_id) for segment_id in ids)
    ends = (min(row[5] for row in rows), max(row[6] for row in rows), ordered)
    offsets = [sum(row[4] for row in rows[:number]) for number in range(len(rows))]
    dense = dense_over(sum(row[4] for row in rows))
    segment_write(cursor, span, docs, ends, _terms(cursor, ids, offsets, dense))


def _in_order(rows: Sequence[Any]) -> bool:
    """Whether each segment begins after the one before it ends."""
    return all(one[6] <= other[5] for one, other in pairwise(rows))


def _terms(
    cursor: Cursor, ids: Sequence[int], offsets: Sequence[int], dense: int
) -> Iterator[Term]:
    """Words of all segments in order, their postings one behind the other."""
    streams = [
        _placed(cursor.connection.cursor(), segment_id, place)
        for place, segment_id in enumerate(ids)
    ]
    for _, group in groupby(merge(*streams, key=lambda t: t[:2]), key=lambda t: t[0]):
        found = list(group)
        word, count = found[0][2][0], sum(term[1] for _, _, term in found)
        if count > dense or any(term[1] and not term[2] for _, _, term in found):
            yield word, count, NOTHING  # common here or there: the text itself must be read
        else:
            yield word, count, _joined([(offsets[place], term[2]) for _, place, term in found])


def _placed(cursor: Any, segment_id: int, place: int) -> Iterator[tuple[bytes, int, Term]]:
    for term in segment_terms(cursor, segment_id):
        yield term[0].encode(), place, term


def _joined(parts: Sequence[tuple[int, "array[int]"]]) -> "array[int]":
    joined = array("I")
    latest = 0
    for offset, deltas in parts:
        joined.append(offset + deltas[0] - latest)
        joined.extend(deltas[1:])
        latest = offset + sum(deltas)
    return joined
