"""The newest matches, segment by segment, reading no more than it takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from hone.traces.core.search import codec
from hone.traces.selectors.query import fetch, fetch_slow
from hone.traces.selectors.rows import COLUMNS, TraceRow, trace_row_from
from hone.traces.selectors.search.plan import SLACK, Plan, Segment

_LEAST: Final = 64  # candidates whose texts are read at once, at first: most are matches
_MORE: Final = 3  # times as many the next time, ...
_MOST: Final = 600  # ... up to this
FEW: Final = 400
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ORDER: Final = "ORDER BY t.started_at DESC, t.trace_id DESC LIMIT %s"

Found = dict[str, TraceRow]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Condition:
    """What a row must meet (selectors.filters), and how many are wanted."""

    project_id: int
    where: str
    values: list[Any]
    number: int


def traces_found(plan: Plan, condition: Condition) -> list[TraceRow]:
    """The newest `condition.number` matches among what the plan names and what is newer."""
    found = _select(condition, "seq > %s", plan.indexed_seq)
    if few := _all_of_few(plan):
        return _newest(found | _select(condition, "trace_id = ANY(%s)", few), condition.number)
    for segment in sorted(plan.segments, key=lambda s: s.latest, reverse=True):
        if _enough(found, condition.number, segment.latest):
            break
        found |= _of_segment(segment, condition, found)
    return _newest(found, condition.number)


def _all_of_few(plan: Plan) -> list[bytes]:
    """All candidates, where they are so few that they are read together; else none."""
    number = sum(len(segment.ordinals or ()) for segment in plan.segments)
    if number > FEW or any(segment.ordinals is None for segment in plan.segments):
        return []
    return [trace_id for _, trace_id in _docs([(s.id, s.ordinals or []) for s in plan.segments])]


def trace_ids(plan: Plan, project_id: int, most: int) -> list[bytes] | None:
    """Ids of all candidates and of what is newer; None where they are more than `most`."""
    if any(segment.ordinals is None for segment in plan.segments):
        return None
    if sum(len(segment.ordinals or ()) for segment in plan.segments) > most:
        return None
    newer = fetch(
        "SELECT trace_id FROM traces_trace WHERE project_id = %s AND seq > %s",
        [project_id, plan.indexed_seq],
    )
    ids = {bytes(trace_id) for (trace_id,) in newer}
    wanted = [(segment.id, segment.ordinals or []) for segment in plan.segments]
    return sorted(ids.union(trace_id for _, trace_id in _docs(wanted)))


def _newest(found: Found, number: int) -> list[TraceRow]:
    return sorted(found.values(), key=lambda row: (row.started_at, row.id), reverse=True)[:number]


def _enough(found: Found, number: int, latest: datetime) -> bool:
    """Whether nothing that began at `latest` or before can still come into the result."""
    rows = _newest(found, number)
    return len(rows) == number and rows[-1].started_at > latest


def _of_segment(segment: Segment, condition: Condition, found: Found) -> Found:
    if segment.ordinals is None:
        return _scan(condition, segment.first - SLACK, segment.latest)
    here: Found = {}
    for batch, latest in _batches(segment, condition):
        if _enough(found | here, condition.number, latest):
            break
        here |= _select(condition, "trace_id = ANY(%s)", batch)
    return here


def _batches(segment: Segment, condition: Condition) -> Iterator[tuple[list[bytes], datetime]]:
    """Trace ids of the candidates, newest first, and when the first of a batch began at latest."""
    assert segment.ordinals is not None
    loaded: Iterator[list[tuple[int, bytes]]]
    if segment.ordered:
        portions = _portions(segment.ordinals[::-1], condition.number)
        loaded = (_docs([(segment.id, portion)]) for portion in portions)
    else:
        every = sorted(_docs([(segment.id, segment.ordinals)]), reverse=True)
        loaded = _portions(every, condition.number)
    for docs in loaded:
        latest = _EPOCH + timedelta(microseconds=max(start for start, _ in docs))
        yield [trace_id for _, trace_id in docs], latest


def _portions(items: list[T], number: int) -> Iterator[list[T]]:
    """Ever larger portions; the first one suffices where most candidates are matches."""
    at, size = 0, max(_LEAST, number + number // 4)
    while at < len(items):
        yield items[at : at + size]
        at, size = at + size, max(size, min(size * _MORE, _MOST))


def _docs(wanted: Sequence[tuple[int, Sequence[int]]]) -> list[tuple[int, bytes]]:
    """Start and trace id of documents, given as segments with ordinals."""
    places = [(segment_id, one) for segment_id, ordinals in wanted for one in ordinals]
    keys = sorted({(segment_id, one // codec.DOCS_IN_ROW) for segment_id, one in places})
    rows = {
        (segment_id, number): data
        for segment_id, number, data in fetch(
            "SELECT segment_id, number, data FROM traces_search_docs"
            " JOIN unnest(%s::bigint[], %s::int[]) AS k (s, n) ON segment_id = s AND number = n",
            [[key[0] for key in keys], [key[1] for key in keys]],
        )
    }
    docs = []
    for segment_id, ordinal in places:
        number, place = divmod(ordinal, codec.DOCS_IN_ROW)
        at = place * codec.DOC_BYTES
        one = bytes(rows[segment_id, number][at : at + codec.DOC_BYTES])
        docs.append((int.from_bytes(one[16:], signed=True), one[:16]))
    return docs


def _select(condition: Condition, which: str, value: object) -> Found:
    """Matches among the traces that an index names. OFFSET 0 keeps the planner from walking all
    traces in order of start instead, which is quick only where matches are many."""
    traces = f"(SELECT * FROM traces_trace WHERE project_id = %s AND {which} OFFSET 0) t"
    query = f"SELECT {COLUMNS} FROM {traces} WHERE {condition.where} {_ORDER}"
    values = [condition.project_id, value, *condition.values, condition.number]
    return _rows(query, values)


def _scan(condition: Condition, first: datetime, latest: datetime) -> Found:
    """Matches among all traces of a time, read from the newest on."""
    query = (
        f"SELECT {COLUMNS} FROM traces_trace t"
        f" WHERE {condition.where} AND t.started_at BETWEEN %s AND %s {_ORDER}"
    )
    return _rows(query, [*condition.values, first, latest, condition.number])


def _rows(query: str, values: list[Any]) -> Found:
    return {(row := trace_row_from(one)).id: row for one in fetch_slow(query, values)}
