"""Two drafts of one origin become one: nothing is lost, whoever is called mine."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.collab.core.change import document_change
from hone.collab.core.merge import Conflict, Merge, MergeError, shapes_merge
from hone.collab.core.pairing import pair
from hone.collab.core.resolve import Choice, ChoiceError, Resolved, merge_resolve
from hone.collab.core.shape import Shape, document_made, document_open, document_read
from hone.collab.core.threeway import matches, text_merge

WORDS = st.sampled_from(["a", "b", "the", "{{x}}", " ", "\n", ".", "word ", "line\n"])
TEXTS = st.lists(WORDS, max_size=24).map("".join)
MESSAGES = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant"]),
        st.sampled_from(["hi", "hi there you", "bye now", "one two three", "one two four"]),
    ),
    max_size=5,
)
MAPS = st.dictionaries(
    st.sampled_from("abc"),
    st.integers(0, 2) | st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)),
)
TEXT_SHAPES = st.builds(lambda text, config: Shape("text", text, config, {}), TEXTS, MAPS)
CHAT_SHAPES = st.builds(lambda chat, config: Shape("chat", chat, config, {}), MESSAGES, MAPS)
THREE = st.tuples(*[TEXT_SHAPES] * 3) | st.tuples(*[CHAT_SHAPES] * 3)


def text(prompt: str) -> Shape:
    return Shape("text", prompt, {}, {})


def chat(*messages: str | dict[str, Any]) -> Shape:
    """Messages as `user: text`."""
    read = [dict(zip(("role", "content"), m.split(": ", 1), strict=True)) for m in messages]  # type: ignore[union-attr]
    return Shape("chat", read, {}, {})


def said(shape: Shape) -> list[str]:
    return [f"{m['role']}: {m['content']}" for m in shape.prompt]  # type: ignore[index,call-overload]


def all_taken(merge: Merge, take: Any) -> Shape:
    return merge_resolve(merge, {key: Choice(take) for key in merge.conflicts}).shape


@given(THREE)
@settings(max_examples=150, deadline=None)
def test_with_a_side_that_changed_nothing_the_other_side_comes_out(shapes) -> None:
    base, other, _ = shapes
    for mine, theirs in ((base, other), (other, base), (other, other)):
        merge = shapes_merge(base, mine, theirs)
        assert merge.conflicts == {}
        assert merge_resolve(merge, {}).shape == other


@given(THREE)
@settings(max_examples=150, deadline=None)
def test_it_does_not_matter_who_is_called_mine(shapes) -> None:
    base, one, other = shapes
    here, there = shapes_merge(base, one, other), shapes_merge(base, other, one)
    swapped = {(c.kind, repr(c.base), repr(c.theirs), repr(c.mine)) for c in _comparable(there)}
    assert {(c.kind, repr(c.base), repr(c.mine), repr(c.theirs)) for c in _comparable(here)} == (
        swapped
    )
    assert (here.order is None) == (there.order is None)
    if here.conflicts:
        assert all_taken(here, "mine") == all_taken(there, "theirs") or here.order
    else:
        assert merge_resolve(here, {}).shape == merge_resolve(there, {}).shape


def _comparable(merge: Merge) -> list[Conflict]:
    """An order is told by places, which depend on the side."""
    return [conflict for conflict in merge.conflicts.values() if conflict.kind != "order"]


@given(TEXTS, TEXTS, TEXTS)
@settings(max_examples=200, deadline=None)
def test_pieces_in_a_row_are_the_three_texts(base: str, mine: str, theirs: str) -> None:
    pieces = text_merge(base, mine, theirs)
    assert "".join(piece.base for piece in pieces) == base
    assert "".join(piece.mine for piece in pieces) == mine
    assert "".join(piece.theirs for piece in pieces) == theirs


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_clean_merge_has_the_edits_of_both(data: st.DataObject) -> None:
    words = [f"w{n}" for n in range(data.draw(st.integers(1, 30)))]
    sides = []
    for mark in "mt":
        changed: list[str] = []
        for word in words:
            edit = data.draw(st.sampled_from(["keep", "keep", "keep", "drop", "put"]))
            changed += [] if edit == "drop" else [word]
            changed += [f"{mark}{word}"] if edit == "put" else []
        sides.append(changed)
    merge = shapes_merge(*(text(" ".join(side)) for side in (words, *sides)))
    if merge.conflicts:
        return
    result = str(merge_resolve(merge, {}).shape.prompt).split()
    for side in sides:
        assert set(side) - set(words) <= set(result), "what was put in is there"
        assert not (set(words) - set(side)) & set(result), "what was taken out is not"


@given(THREE)
@settings(max_examples=150, deadline=None)
def test_nothing_that_a_side_wrote_is_lost(shapes) -> None:
    """Of a chat: each message of a side is in the merge, or as the origin had it."""
    base, mine, theirs = shapes
    merge = shapes_merge(base, mine, theirs)
    assert all(conflict.mine != conflict.theirs for conflict in merge.conflicts.values())
    if merge.type == "text":
        return
    for side, places in ((mine, "mine"), (theirs, "theirs")):
        shown = {getattr(entry, places) for entry in merge.entries}
        gone = [message for n, message in enumerate(side.prompt) if n not in shown]
        assert all(message in base.prompt for message in gone)


def test_two_edits_of_one_line_meet() -> None:
    merge = shapes_merge(
        text("Answer in one short sentence.\n"),
        text("Answer in two short sentences.\n"),
        text("Answer {{user}} in one short sentence.\n"),
    )
    assert merge.conflicts == {}
    assert merge_resolve(merge, {}).shape.prompt == "Answer {{user}} in two short sentences.\n"


def test_conflicting_words_are_chosen_or_written_anew() -> None:
    merge = shapes_merge(text("Be kind."), text("Be brief."), text("Be precise."))
    [(key, conflict)] = merge.conflicts.items()
    assert (conflict.base, conflict.mine, conflict.theirs) == (
        ("kind",),
        ("brief",),
        ("precise",),
    )
    for choice, wanted in (
        (Choice("mine"), "Be brief."),
        (Choice("theirs"), "Be precise."),
        (Choice("both"), "Be brief precise."),
        (Choice("edit", "brief and precise"), "Be brief and precise."),
    ):
        assert merge_resolve(merge, {key: choice}).shape.prompt == wanted
    with pytest.raises(ChoiceError):
        merge_resolve(merge, {key: Choice("edit", 3)})


def test_a_conflict_keeps_its_id_while_other_things_change() -> None:
    first = shapes_merge(text("Be kind."), text("Be brief."), text("Be precise."))
    second = shapes_merge(text("Be kind."), text("New.\nBe brief."), text("Be precise."))
    assert first.conflicts.keys() == second.conflicts.keys()
    config = shapes_merge(
        Shape("text", "Be kind.", {}, {}),
        Shape("text", "Be brief.", {"model": "m"}, {}),
        text("Be precise."),
    )
    assert config.conflicts.keys() == first.conflicts.keys()


def test_messages_are_inserted_removed_moved_and_edited_by_both() -> None:
    base = chat("system: Be kind to all.", "user: One two three?", "assistant: Four.", "user: Bye")
    mine = chat("system: Be kind to all people.", "user: One two three?", "user: Bye", "user: New")
    theirs = chat(
        "user: Bye", "system: Be kind to all.", "user: One two three?", "assistant: Four."
    )
    merge = shapes_merge(base, mine, theirs)
    assert merge.conflicts == {}
    result = merge_resolve(merge, {})
    assert said(result.shape) == [
        "user: Bye",
        "user: New",
        "system: Be kind to all people.",
        "user: One two three?",
    ]
    assert result.origins == [2, 3, 0, 1]


def test_both_may_add_a_message_at_one_place() -> None:
    base = chat("system: Be kind.")
    merge = shapes_merge(
        base, chat("system: Be kind.", "user: b"), chat("system: Be kind.", "user: a")
    )
    assert merge.conflicts == {}
    assert said(merge_resolve(merge, {}).shape) == ["system: Be kind.", "user: a", "user: b"]


def test_a_message_edited_here_and_removed_there_is_a_conflict() -> None:
    base = chat("system: Be kind to all.", "user: Hi")
    merge = shapes_merge(base, chat("system: Be kind to all people.", "user: Hi"), chat("user: Hi"))
    [conflict] = merge.conflicts.values()
    assert (conflict.kind, conflict.theirs) == ("presence", ())
    assert said(all_taken(merge, "mine")) == ["system: Be kind to all people.", "user: Hi"]
    assert said(all_taken(merge, "theirs")) == ["user: Hi"]


def test_two_different_orders_are_a_conflict() -> None:
    base = chat("user: a1", "user: b2", "user: c3")
    merge = shapes_merge(
        base, chat("user: b2", "user: a1", "user: c3"), chat("user: a1", "user: c3", "user: b2")
    )
    assert [conflict.kind for conflict in merge.conflicts.values()] == ["order"]
    assert said(all_taken(merge, "mine")) == ["user: b2", "user: a1", "user: c3"]
    assert said(all_taken(merge, "theirs")) == ["user: a1", "user: c3", "user: b2"]


def test_settings_are_merged_key_by_key() -> None:
    base = Shape("text", "", {"model": "m", "parameters": {"temperature": 0, "top_p": 1}}, {})
    mine = Shape("text", "", {"model": "n", "parameters": {"temperature": 1, "top_p": 1}}, {})
    theirs = Shape(
        "text", "", {"model": "m", "parameters": {"temperature": 2}}, {"x": {"type": "s"}}
    )
    merge = shapes_merge(base, mine, theirs)
    [conflict] = merge.conflicts.values()
    assert conflict.where == "config.parameters.temperature"
    assert all_taken(merge, "theirs").config == {"model": "n", "parameters": {"temperature": 2}}
    assert all_taken(merge, "theirs").variables == {"x": {"type": "s"}}
    with pytest.raises(ChoiceError, match="want mine or theirs"):
        all_taken(merge, "both")


def test_a_text_and_a_chat_are_not_merged() -> None:
    with pytest.raises(MergeError, match="one is a text prompt, the other a chat prompt"):
        shapes_merge(text("a"), text("b"), chat("user: c"))


def test_an_edited_message_is_known_again() -> None:
    before = chat("user: tell me a story about a fox", "user: tell me a joke").prompt
    after = chat("user: tell me a joke", "user: tell me a long story about a red fox").prompt
    assert pair(before, after) == {0: 1, 1: 0}  # type: ignore[arg-type]


PIECES = st.sampled_from(["a", "ü", "🙂", " ", "\n", "{{x}}", "word "])
ANY_TEXT = st.lists(PIECES, max_size=12).map("".join)
ANY_CHAT = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "tool"])},
        optional={
            "content": ANY_TEXT | st.none() | st.just([{"type": "text"}]),
            "n": st.integers(0, 9),
        },
    ),
    max_size=5,
)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_document_says_what_is_wanted_and_so_does_its_copy(data: st.DataObject) -> None:
    kind, contents = data.draw(st.sampled_from([("text", ANY_TEXT), ("chat", ANY_CHAT)]))
    before, after = (Shape(kind, data.draw(contents), data.draw(MAPS), {}) for _ in range(2))
    places = range(len(before.prompt)) if kind == "chat" else []
    drawn: list[int | None] = list(data.draw(st.permutations(places)))
    origins = (drawn + [None] * len(after.prompt))[: len(after.prompt)]
    document = document_open(document_made(before))
    copy = document_open(document.get_update())
    copy.apply_update(document_change(document, Resolved(after, origins)))
    assert document_read(document) == document_read(copy) == after


@given(
    st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12)
)
def test_matches_rise_and_are_equal(a: list[str], b: list[str]) -> None:
    found = matches(a, b)
    assert all(a[i] == b[j] for i, j in found)
    assert found == sorted(set(found))
    assert all(x[1] < y[1] for x, y in pairwise(found))


def test_a_long_text_of_one_word_takes_no_time() -> None:
    base = ["a\n"] * 20_000
    found = matches([*base, "b\n", *base], ["c\n", *base, "d\n", *base])
    assert len(found) >= 20_000
