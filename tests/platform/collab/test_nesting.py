"""Values nested so deep that reading them would end the process are refused by name."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycrdt import Array, Doc, Map, Text, XmlElement, XmlFragment

from hone.collab.core.frames import FrameError
from hone.collab.core.nesting import MOST_DEEP, nesting_check
from hone.collab.core.shape import ShapeError, document_open, document_read, update_check

HEAD = b"\x01\x01\x05\x00\x28\x01\x06config\x01k\x01"
OPENERS = [b"\x75\x01", b"\x76\x01\x01k", b"\x75a", b"\x75\x02\x7d\x01"]


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("depth", [MOST_DEEP + 1, 300_000])
def test_a_value_that_is_too_deep_is_refused(opener: bytes, depth: int) -> None:
    with pytest.raises(ValueError, match="nested deeper than"):
        update_check(HEAD + opener * depth + b"\x7e\x00")


def test_a_value_of_the_options_of_a_document_counts_too() -> None:
    with pytest.raises(ValueError, match="nested deeper than"):
        update_check(b"\x01\x01\x05\x00\x29\x01\x06config\x01k\x01g" + b"\x75\x01" * 300_000)


def test_a_deep_value_that_is_taken_is_read_or_named() -> None:
    update = HEAD + b"\x75\x01" * (MOST_DEEP - 1) + b"\x7e\x00"
    update_check(update)
    with contextlib.suppress(ShapeError):
        document_read(document_open(update))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.binary(max_size=4)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("uv", max_size=3), inner),
    max_leaves=8,
)


@settings(deadline=None, max_examples=50)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_every_kind_of_content_is_walked_to_its_end(values: list[object]) -> None:
    document: Doc[object] = Doc()
    text = document.get("text", type=Text)
    text.insert(0, "uv" * MOST_DEEP)  # long enough to be walked
    text.format(0, 3, {"bold": True})
    text.insert_embed(2, {"a": [1]})
    del text[5:9]
    config = document.get("config", type=Map)
    messages = document.get("messages", type=Array)
    fragment = document.get("page", type=XmlFragment)
    fragment.children.append(XmlElement("p"))
    for number, value in enumerate(values):
        config[str(number)] = value
        messages.append(Map({"content": Text("x"), "value": value}))
    config["0"] = values[-1]
    update = document.get_update()
    nesting_check(update)
    update_check(update)


@given(st.binary(max_size=300))
def test_noise_is_walked_or_refused_by_name(data: bytes) -> None:
    with contextlib.suppress(FrameError):
        nesting_check(data + b"\x75" * (MOST_DEEP + 1))
