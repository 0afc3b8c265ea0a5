"""A version's content goes into a shared document and comes out as it was."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycrdt import Doc, Map

from hone.collab.core.shape import (
    Shape,
    ShapeError,
    document_made,
    document_open,
    document_read,
    update_check,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user"]), "content": TEXTS | JSON}),
    max_size=4,
)


@settings(deadline=None)
@given(
    st.builds(Shape, st.just("text"), TEXTS, st.dictionaries(TEXTS, JSON, max_size=3), st.just({}))
)
def test_a_text_prompt_comes_back(shape: Shape) -> None:
    assert document_read(document_open(document_made(shape))) == shape


@settings(deadline=None)
@given(MESSAGES)
def test_a_chat_prompt_comes_back(messages: list[dict[str, Any]]) -> None:
    shape = Shape("chat", messages, {"temperature": 0.5}, {"x": {"type": "text"}})
    assert document_read(document_open(document_made(shape))) == shape


def test_a_document_of_another_shape_is_refused() -> None:
    document = document_open(document_made(Shape("text", "a", {}, {})))
    document["meta"]["type"] = "poem"
    with pytest.raises(ShapeError, match=r"meta.type is 'poem'"):
        document_read(document)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 20, b"\x01\x02\x03"])
def test_what_is_no_update_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="decode"):
        update_check(data)


@settings(deadline=None)  # a panic that is caught takes its time to be printed
@given(st.binary(max_size=200))
def test_noise_never_gets_past_the_check_as_anything_but_a_value_error(data: bytes) -> None:
    try:
        update_check(data)
    except ValueError:
        return
    document = document_open()
    document.apply_update(data)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_damaged_update_breaks_nothing(position: int, byte: int) -> None:
    other: Doc[Any] = Doc()
    other["config"] = Map({"a": [1, 2, {"b": "c"}]})
    update = bytearray(other.get_update())
    update[position % len(update)] = byte
    try:
        update_check(bytes(update))
    except ValueError:
        return
    document = document_open(document_made(Shape("text", "kept", {}, {})))
    document.apply_update(bytes(update))
    assert str(document["text"]).count("kept") == 1
