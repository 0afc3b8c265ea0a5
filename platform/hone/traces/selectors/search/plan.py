"""In which segments to look, and for which of their documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from hone.traces.core.search import codec
from hone.traces.core.search.wanted import Part
from hone.traces.selectors.query import fetch
from hone.traces.selectors.search.words import MAX_WORDS, words_fitting

PARTS: Final = 4  # of a search that are looked up, the most telling ones
DENSE_SHARE: Final = 32  # candidates in more than this share of a segment: read its traces instead
TAIL: Final = 20_000  # traces that are not indexed yet and looked through; with more all are read
DENSE_LEAST: Final = 1000
SLACK: Final = timedelta(days=1)  # a trace may have begun before what a segment saw of it


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment, and the documents of it that may fit; None: any may."""

    id: int
    num_docs: int
    first: datetime
    latest: datetime
    ordered: bool
    ordinals: list[int] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Segments that may hold matches, and the number up to which they cover everything."""

    indexed_seq: int
    segments: list[Segment]
    known: frozenset[int]  # ids of all segments; where they change meanwhile, plan again


def plan_of(project_id: int, parts: Sequence[Part], start: datetime, end: datetime) -> Plan:
    """What the index says about traces that began in [start, end) and fit all parts."""
    rows = segments_of(project_id)
    seq = rows[0][0]
    there = [
        Segment(*row[1:6], None)
        for row in rows
        if row[1] is not None and row[4] >= start and row[3] < end + SLACK
    ]
    known = frozenset(row[1] for row in rows if row[1] is not None)
    segments = _narrowed(there, parts[:PARTS])
    rest = [segment for segment in segments if segment.ordinals is not None]
    whole = [segment for segment in segments if segment.ordinals is None]
    return Plan(seq, [*rest, *_as_one(whole)], known)


def is_stale(project_id: int, plan: Plan) -> bool:
    """Whether segments that the plan relies on have become others meanwhile."""
    return plan.known != {row[1] for row in segments_of(project_id) if row[1] is not None}


def newer(project_id: int, seq: int) -> int:
    """How many traces changed after `seq`, counted up to TAIL + 1."""
    [(number,)] = fetch(
        "SELECT count(*) FROM (SELECT FROM traces_trace WHERE project_id = %s AND seq > %s"
        " LIMIT %s) t",
        [project_id, seq, TAIL + 1],
    )
    return int(number)


def _as_one(segments: list[Segment]) -> list[Segment]:
    """One stretch of time for segments whose traces must be read: it is read once."""
    if not segments:
        return []
    first, latest = min(s.first for s in segments), max(s.latest for s in segments)
    return [replace(segments[0], first=first, latest=latest)]


def segments_of(project_id: int) -> list[tuple[int, int, int, datetime, datetime, bool]]:
    """The state of the index and the project's segments, as of one moment."""
    return fetch(
        "SELECT (SELECT coalesce(max(indexed_seq), 0) FROM traces_search_state), s.id, s.num_docs,"
        " to_timestamp(s.first_us / 1e6), to_timestamp(s.latest_us / 1e6), s.ordered"
        " FROM (SELECT) one LEFT JOIN traces_search_segment s ON s.project_id = %s",
        [project_id],
    )


def _narrowed(segments: list[Segment], parts: Sequence[Part]) -> list[Segment]:
    """The segments that have words for every part, each with its documents."""
    words: dict[int, list[tuple[int, list[int]]]] = {}
    for part in parts:
        if not segments:
            break
        fitting = words_fitting([segment.id for segment in segments], part)
        segments = [segment for segment in segments if segment.id in fitting]
        for segment in segments:
            fits = fitting[segment.id]
            most = max(segment.num_docs // DENSE_SHARE, DENSE_LEAST)
            if len(fits.words) <= MAX_WORDS and fits.num_docs <= most:
                words.setdefault(segment.id, []).append((fits.num_docs, fits.words))
    return _with_docs(segments, words)


def _with_docs(
    segments: list[Segment], words: Mapping[int, list[tuple[int, list[int]]]]
) -> list[Segment]:
    """The segments with the documents that hold their two rarest parts, less those without any."""
    found: dict[int, set[int]] = {}
    for turn in range(2):
        asked = {
            segment.id: sorted(words[segment.id])[turn][1]
            for segment in segments
            if len(words.get(segment.id, ())) > turn and (turn == 0 or found.get(segment.id))
        }
        for segment_id, docs in _documents(asked).items():
            found[segment_id] = found[segment_id] & docs if segment_id in found else docs
    return [
        replace(segment, ordinals=sorted(found[segment.id])) if segment.id in found else segment
        for segment in segments
        if found.get(segment.id) != set()
    ]


# One answer for all segments: a trip for each of them would cost more than the reading.
_POSTINGS: Final = """
    SELECT p.segment_id, p.first_word, p.num_words, p.data FROM (
        SELECT DISTINCT k.segment, (SELECT first_word FROM traces_search_postings
            WHERE segment_id = k.segment AND first_word <= k.word
            ORDER BY first_word DESC LIMIT 1) AS first
        FROM unnest(%s::bigint[], %s::int[]) AS k (segment, word)
    ) k JOIN traces_search_postings p ON p.segment_id = k.segment AND p.first_word = k.first
"""


def _documents(asked: Mapping[int, list[int]]) -> dict[int, set[int]]:
    """For each segment the documents that hold one of its words; none where one is too common."""
    if not asked:
        return {}
    pairs = [(segment_id, word) for segment_id, words in asked.items() for word in words]
    docs: dict[int, set[int]] = {segment_id: set() for segment_id in asked}
    for segment_id, first, num_words, data in fetch(
        _POSTINGS, [*map(list, zip(*pairs, strict=True))]
    ):
        lists = codec.postings_unpack(data, num_words)
        for word in asked[segment_id]:
            if first <= word < first + num_words and segment_id in docs:
                if lists[word - first]:
                    docs[segment_id].update(codec.ordinals_of(lists[word - first]))
                else:
                    del docs[segment_id]
    return docs
