"""Observations of some traces gathered into what a segment holds."""

from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hone.traces.core.search import codec
from hone.traces.core.search.terms import value_term, words_of


class Texts(NamedTuple):
    """What the index takes of an observation."""

    trace_id: bytes
    start_us: int
    name: str
    trace_name: str | None
    input: str | None
    output: str | None
    model: str | None
    user_id: str | None
    session_id: str | None
    environment: str | None
    release: str | None
    version: str | None
    tags: tuple[str, ...]


def _postings() -> "array[int]":
    return array("I")


@dataclass(slots=True)
class Gathered:
    """Documents (traces) in order of arrival and the words' documents."""

    docs: dict[bytes, list[int]] = field(default_factory=dict)  # trace id -> [ordinal, start]
    postings: dict[str, "array[int]"] = field(default_factory=lambda: defaultdict(_postings))
    # Of the trace under way, whose observations mostly come one after the other and say the same.
    trace_id: bytes = b""
    terms_here: set[str] = field(default_factory=set)
    texts_here: set[str] = field(default_factory=set)

    def add(self, texts: Texts) -> None:
        if texts.trace_id != self.trace_id:
            self.flush()
            self.trace_id = texts.trace_id
        doc = self.docs.setdefault(texts.trace_id, [len(self.docs), texts.start_us])
        doc[1] = min(doc[1], texts.start_us)
        self.terms_here.update(values_of(texts))
        for text in (texts.name, texts.trace_name, texts.input, texts.output):
            if text and text not in self.texts_here:
                self.texts_here.add(text)
                self.terms_here |= words_of(text)

    def flush(self) -> None:
        """Take over the words of the trace under way."""
        if self.trace_id:
            ordinal = self.docs[self.trace_id][0]
            postings = self.postings
            for term in self.terms_here:
                postings[term].append(ordinal)
        self.trace_id, self.terms_here, self.texts_here = b"", set(), set()

    def docs_bytes(self) -> tuple[bytes, list[int], int, int]:
        """Documents by start, each one's new ordinal by its old, first and latest start."""
        order = sorted(self.docs.items(), key=lambda item: (item[1][1], item[0]))
        moved = [0] * len(order)
        for place, (_, (ordinal, _start)) in enumerate(order):
            moved[ordinal] = place
        data = b"".join(trace_id + start.to_bytes(8, signed=True) for trace_id, (_, start) in order)
        return data, moved, order[0][1][1], order[-1][1][1]

    def terms(self, moved: list[int], dense: int) -> Iterator[tuple[str, int, "array[int]"]]:
        """Word, count and postings in the order of words; none for a word in over `dense`."""
        move = moved.__getitem__
        for word in sorted(self.postings, key=str.encode):
            ordinals = sorted(set(map(move, self.postings[word])))
            kept = ordinals if len(ordinals) <= dense else []
            yield word, len(ordinals), codec.deltas_of(kept) if kept else array("I")


def values_of(texts: Texts) -> Iterator[str]:
    """The terms of fields that are found by their whole value."""
    for name, value in zip(VALUES, texts[6:12], strict=True):
        if value:
            yield value_term(name, value)
    for name in {texts.name, texts.trace_name or texts.name}:
        yield value_term("name", name)
    for tag in texts.tags:
        yield value_term("tag", tag)


VALUES = ("model", "user", "session", "environment", "release", "version")
