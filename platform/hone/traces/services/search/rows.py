"""A segment's rows written as its words come, in order, so that nothing of it need be in memory."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from hone.traces.core.search import codec

Cursor = psycopg.Cursor[Any]
Term = tuple[str, int, "array[int]"]  # word, documents that hold it, their ordinals as deltas
_DENSE_SHARE: Final = 16
_DENSE_LEAST: Final = 1000
_ROW_POSTINGS: Final = 8192
_ROW_WORDS: Final = 512
NOTHING: Final = array("I")


@dataclass(frozen=True, slots=True)
class Span:
    """Which changes and which starts a segment covers."""

    project_id: int
    from_seq: int
    to_seq: int
    level: int


@dataclass(slots=True)
class _Writer:
    cursor: Cursor
    segment_id: int
    words: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    num_blocks: int = 0
    lists: list["array[int]"] = field(default_factory=list)
    num_postings: int = 0
    num_words: int = 0

    def add(self, word: str, count: int, deltas: "array[int]") -> None:
        self.words.append(word)
        self.counts.append(count)
        self.lists.append(deltas)
        self.num_postings += len(deltas)
        self.num_words += 1
        if self.num_postings >= _ROW_POSTINGS or len(self.lists) >= _ROW_WORDS:
            self.write_postings()
        if len(self.words) >= codec.BLOCK_WORDS:
            self.write_block()

    def write_postings(self) -> None:
        if not self.lists:
            return
        first = self.num_words - len(self.lists)
        self.cursor.execute(
            "INSERT INTO traces_search_postings VALUES (%s, %s, %s, %s)",
            [self.segment_id, first, len(self.lists), codec.postings_pack(self.lists)],
        )
        self.lists, self.num_postings = [], 0

    def write_block(self) -> None:
        if not self.words:
            return
        data, grams = codec.block_pack(self.words, self.counts)
        self.cursor.execute(
            "INSERT INTO traces_search_words VALUES (%s, %s, %s, %s, %s)",
            [self.segment_id, self.num_blocks, len(self.words), grams, data],
        )
        self.num_blocks += 1
        self.words, self.counts = [], []


def dense_over(num_docs: int) -> int:
    """A word in more documents than this keeps no postings: reading the texts finds it soon."""
    return max(_DENSE_LEAST, num_docs // _DENSE_SHARE)


def segment_write(
    cursor: Cursor, span: Span, docs: bytes, starts: Sequence[int], terms: Iterable[Term]
) -> int:
    """Write a segment; its id.

    `docs` are DOC_BYTES a document; `starts` the earliest and latest start among them and
    whether the documents lie in order of start.
    """
    first, latest, ordered = starts
    cursor.execute(
        "INSERT INTO traces_search_segment (project_id, from_seq, to_seq, level, num_docs,"
        " first_us, latest_us, ordered) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
        [span.project_id, span.from_seq, span.to_seq, span.level,
         len(docs) // codec.DOC_BYTES, first, latest, bool(ordered)],
    )  # fmt: skip
    row = cursor.fetchone()
    assert row is not None
    segment_id: int = row[0]
    size = codec.DOC_BYTES * codec.DOCS_IN_ROW
    for number, at in enumerate(range(0, len(docs), size)):
        cursor.execute(
            "INSERT INTO traces_search_docs VALUES (%s, %s, %s)",
            [segment_id, number, docs[at : at + size]],
        )
    writer = _Writer(cursor, segment_id)
    for term in terms:
        writer.add(*term)
    writer.write_postings()
    writer.write_block()
    return segment_id


def segment_terms(cursor: Cursor, segment_id: int) -> Iterator[Term]:
    """The words of a segment in order, as they were written."""
    cursor.execute(
        "SELECT block, num_words FROM traces_search_words WHERE segment_id = %s ORDER BY block",
        [segment_id],
    )
    words = _words(cursor, segment_id, cursor.fetchall())
    cursor.execute(
        "SELECT first_word FROM traces_search_postings WHERE segment_id = %s ORDER BY first_word",
        [segment_id],
    )
    for (first,) in cursor.fetchall():
        cursor.execute(
            "SELECT num_words, data FROM traces_search_postings"
            " WHERE segment_id = %s AND first_word = %s",
            [segment_id, first],
        )
        row = cursor.fetchone()
        assert row is not None
        for deltas in codec.postings_unpack(row[1], row[0]):
            word, count = next(words)
            yield word, count, deltas


def _words(
    cursor: Cursor, segment_id: int, blocks: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, int]]:
    for number, num_words in blocks:
        cursor.execute(
            "SELECT data FROM traces_search_words WHERE segment_id = %s AND block = %s",
            [segment_id, number],
        )
        row = cursor.fetchone()
        assert row is not None
        block = codec.block_unpack(row[0], num_words)
        yield from zip(block.text.decode()[1:-1].split("\n"), block.counts, strict=True)


def segment_docs(cursor: Cursor, segment_id: int) -> bytes:
    cursor.execute(
        "SELECT data FROM traces_search_docs WHERE segment_id = %s ORDER BY number", [segment_id]
    )
    return b"".join(bytes(data) for (data,) in cursor.fetchall())


def segment_delete(cursor: Cursor, segment_ids: Sequence[int]) -> None:
    """Delete segments whole; their parts go with them (ON DELETE CASCADE)."""
    cursor.execute("DELETE FROM traces_search_segment WHERE id = ANY(%s)", [list(segment_ids)])
