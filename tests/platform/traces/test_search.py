"""The index of words finds what reading every text finds."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from hone.accounts.models import Project
from hone.traces.core.search import codec
from hone.traces.core.search.terms import words_of
from hone.traces.core.search.wanted import Part, parts_of
from hone.traces.core.span import Span
from hone.traces.selectors import (
    TraceFilter,
    listing,
    narrowing,
    traces_facets,
    traces_histogram,
    traces_list,
)
from hone.traces.selectors.query import fetch
from hone.traces.services import spans_ingest, trace_delete
from hone.traces.services.search import search_index, search_merge, search_refresh, search_renew

Make = Callable[..., Span]
ALPHABET = 'abz9_ -\\"/\nßÉ北京東かン'


def holds(words: set[str], part: Part) -> bool:
    tests = {
        "exact": lambda word: word == part.text,
        "prefix": lambda word: word.startswith(part.text),
        "inside": lambda word: part.text in word,
    }
    return any(map(tests[part.how], words))


@given(st.text(ALPHABET, max_size=120), st.integers(0, 119), st.integers(1, 60))
def test_whatever_stands_in_a_text_has_its_parts_in_the_index(
    text: str, start: int, length: int
) -> None:
    looked_for = text[start : start + length]
    words = words_of(text)
    if text[:1] not in ("{", "[", '"'):
        assert all(holds(words, part) for part in parts_of(looked_for)), (words, looked_for)


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("zebra", [Part("zebra", "inside")]),
        ("the zebra runs", [Part("zebra", "exact"), Part("runs", "prefix"), Part("the", "inside")]),
        ("北京", [Part("北京", "exact")]),
        ("京", [Part("京", "inside")]),
        ("...", []),
        ("x", []),
        ("a" * 300, [Part("a" * 13, "inside")]),
    ],
)
def test_parts_of_a_search(query: str, parts: list[Part]) -> None:
    assert parts_of(query) == parts


def test_json_escapes_are_read() -> None:
    assert words_of('{"a": "one\\ntwo \\u00c9t\\u00e9 c:\\\\new"}') == {
        "a", "one", "two", "été", "c", "new",
    }  # fmt: skip
    assert words_of("plain\\new") == {"plain", "new"}


def test_a_long_run_is_found_by_any_piece() -> None:
    run = "".join(random.Random(3).choices("abcdef0123456789", k=200))
    words = words_of(f"x {run} y")
    for start in range(0, 180, 7):
        assert all(holds(words, part) for part in parts_of(run[start : start + 15]))


@given(st.lists(st.lists(st.integers(0, 2**24), min_size=0, max_size=40, unique=True), max_size=9))
def test_postings_come_back(lists: list[list[int]]) -> None:
    packed = [codec.deltas_of(sorted(one)) if one else codec.deltas_of([0])[:0] for one in lists]
    back = codec.postings_unpack(codec.postings_pack(packed), len(packed))
    assert [codec.ordinals_of(deltas) for deltas in back] == [sorted(one) for one in lists]


@given(st.sets(st.text("abcdé9", min_size=1, max_size=8), min_size=1, max_size=60), st.data())
def test_a_block_finds_its_words(words: set[str], data: st.DataObject) -> None:
    ordered = sorted(words, key=str.encode)
    packed, _ = codec.block_pack(ordered, range(len(ordered)))
    block = codec.block_unpack(packed, len(ordered))
    part = data.draw(st.text("abcdé9", min_size=1, max_size=3))
    for how in ("exact", "prefix", "inside"):
        fit = [n for n, word in enumerate(ordered) if holds({word}, Part(part, how))]
        assert block.find(part.encode(), how) == fit


WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "zebra",
    "Größe",
    "北京市",
    "user_id",
    "x-ray",
    "3f2a9c1e",
]


@pytest.fixture
def many(project: Project, make_span: Make, base_ns: int) -> list[Span]:
    """300 traces of two spans each with random words; the needle stands in three of them."""
    chance = random.Random(5)
    spans: list[Span] = []
    for number in range(300):
        trace_id = f"{number + 1:032x}"
        for part in range(2):
            said = " ".join(chance.choices(WORDS, k=6)) + f" n{number}"
            if number in (7, 120, 290) and part:
                said += " needlework"
            spans.append(
                make_span(
                    part, trace_id=trace_id, span_id=f"{number * 2 + part + 1:016x}",
                    name=f"call {number % 9}", input=said, output=f'{{"said": "{said}\\nend"}}',
                    start_ns=base_ns + number * 10**9 + part, end_ns=base_ns + number * 10**9 + 9,
                    model=f"model-{number % 50}", tags=(f"tag{number % 70}",),
                )
            )  # fmt: skip
    return spans


def wanted_of(project: Project, **values: Any) -> TraceFilter:
    now = datetime.now(UTC)
    times = {"start": now - timedelta(days=2), "end": now + timedelta(days=1)}
    return TraceFilter(project_id=project.id, **(times | values))


def both_ways(wanted: TraceFilter, monkeypatch: pytest.MonkeyPatch, limit: int = 10) -> list[str]:
    """The pages of a list, which must be the same with and without the index."""

    def pages() -> list[str]:
        ids: list[str] = []
        after = None
        while True:
            rows, after = traces_list(wanted, limit=limit, after=after)
            ids += [row.id for row in rows]
            if after is None:
                return ids

    with_index = pages()
    with monkeypatch.context() as patch:
        patch.setattr(listing, "search", lambda *_: None)
        assert pages() == with_index
    return with_index


QUERIES = ["needle", "needlework", "EDLEWOR", "zebra größe", "ta gam", "n12", "京市", "f2a9c1e",
           "absent", "user_id", "said", "call 3", "x-ray n290", 'end"', "n7 needlework\nend",
           "e"]  # fmt: skip


@pytest.mark.django_db(transaction=True)  # only what is committed is indexed
@pytest.mark.parametrize("steps", [1, 12, 100])
def test_the_index_changes_no_answer(
    project: Project, many: list[Span], monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    chance = random.Random(steps)
    chance.shuffle(many)
    size = len(many) // steps
    for at in range(0, len(many), size):
        spans_ingest(project_id=project.id, spans=many[at : at + size])
        if at < len(many) * 0.8:
            while search_index():
                pass
    if steps == 100:
        while search_merge():
            pass
        assert fetch("SELECT max(level) > 1 AND count(*) < 20 FROM traces_search_segment", []) == [
            (True,)
        ]
    for text in QUERIES:
        both_ways(wanted_of(project, text=text), monkeypatch)
    assert len(both_ways(wanted_of(project, text="needlework"), monkeypatch, 2)) == 3
    assert len(both_ways(wanted_of(project, model="model-7"), monkeypatch)) == 6
    assert both_ways(wanted_of(project, tag="tag9", text="zebra"), monkeypatch) is not None
    assert both_ways(wanted_of(project, name="none"), monkeypatch) == []


@pytest.mark.django_db(transaction=True)  # only what is committed is indexed
def test_what_is_not_indexed_yet_is_found(
    project: Project, make_span: Make, many: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.id, spans=many)
    search_refresh()
    late = replace(many[0], span_id="f" * 16, parent_span_id=many[0].span_id, input="a latecomer")
    spans_ingest(project_id=project.id, spans=[late])
    assert both_ways(wanted_of(project, text="latecomer"), monkeypatch) == [late.trace_id]
    search_refresh()
    assert both_ways(wanted_of(project, text="latecomer"), monkeypatch) == [late.trace_id]


@pytest.mark.django_db(transaction=True)  # only what is committed is indexed
def test_counts_are_the_same_with_and_without_the_index(
    project: Project, many: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.id, spans=many)
    search_refresh()
    for values in ({"text": "needle"}, {"model": "model-7", "text": "zebra"}, {"tag": "none"}):
        wanted = wanted_of(project, **values)
        with_index = traces_histogram(wanted, buckets=7), traces_facets(wanted)
        with monkeypatch.context() as patch:
            patch.setattr(narrowing, "candidates", lambda *_: None)
            assert (traces_histogram(wanted, buckets=7), traces_facets(wanted)) == with_index


@pytest.mark.django_db(transaction=True)  # only what is committed is indexed
def test_words_of_a_deleted_trace_leave_the_index(project: Project, many: list[Span]) -> None:
    spans_ingest(project_id=project.id, spans=many)
    search_index()
    assert words_stored("needlework")
    for number in (7, 120, 290):
        assert trace_delete(project_id=project.id, trace_id=f"{number + 1:032x}")
    assert search_renew()
    assert not search_renew()
    assert not words_stored("needlework")
    assert words_stored("zebra")


def words_stored(word: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT data, num_words FROM traces_search_words")
        blocks = [codec.block_unpack(*row) for row in cursor.fetchall()]
    return any(block.find(word.encode(), "inside") for block in blocks)


@pytest.mark.django_db(transaction=True)  # only what is committed is indexed
def test_another_project_is_never_searched(
    project: Project, foreign_project: Project, many: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.id, spans=many)
    search_index()
    assert both_ways(wanted_of(foreign_project, text="needlework"), monkeypatch) == []
