"""The wire format: what is written is read again, and nothing else gets through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.collab.core.awareness import Entry, Presence, entries_encode, entries_parse, stamped
from hone.collab.core.frames import FrameError, Reader, number, sized

CLIENTS = st.integers(0, 2**53)
STATES = st.none() | st.dictionaries(st.text(max_size=5), st.integers(-9, 9), max_size=3)
ENTRIES = st.lists(st.builds(Entry, CLIENTS, st.integers(0, 2**31), STATES), max_size=5)


@given(st.lists(st.integers(0, 2**56)), st.binary())
def test_numbers_and_bytes_come_back(values: list[int], data: bytes) -> None:
    reader = Reader(b"".join(map(number, values)) + sized(data))
    assert [reader.number() for _ in values] == values
    assert reader.bytes() == data
    assert reader.is_done()


@given(ENTRIES)
def test_states_come_back(entries: list[Entry]) -> None:
    assert entries_parse(entries_encode(entries)) == entries


@given(st.binary(max_size=60))
def test_noise_is_read_or_refused_by_name(data: bytes) -> None:
    try:
        entries = entries_parse(data)
    except FrameError:
        return
    assert all(isinstance(entry.state, dict | None) for entry in entries)


def test_a_later_clock_wins_and_a_departure_at_the_same_one() -> None:
    presence = Presence()
    assert presence.apply([Entry(1, 5, {"a": 1})], 0.0)
    assert not presence.apply([Entry(1, 4, {"a": 2}), Entry(1, 5, {"a": 3})], 0.0)
    assert presence.present() == [Entry(1, 5, {"a": 1})]
    assert presence.apply([Entry(1, 5, None)], 0.0) == [Entry(1, 5, None)]
    assert presence.present() == []
    assert not presence.apply([Entry(2, 1, None)], 0.0), "nobody knew it was there"


def test_whoever_falls_silent_is_let_go() -> None:
    presence = Presence()
    presence.apply([Entry(1, 1, {}), Entry(2, 1, {})], 0.0)
    presence.apply([Entry(2, 2, {})], 20.0)
    assert presence.expire(35.0) == [Entry(1, 2, None)]
    assert presence.present() == [Entry(2, 2, {})]
    assert presence.expire(100.0) == [Entry(2, 3, None)]


def test_the_name_is_the_servers_word() -> None:
    entry = stamped(Entry(1, 1, {"user": {"name": "Mallory"}, "cursor": 3}), {"name": "Bob"})
    assert entry.state == {"user": {"name": "Bob"}, "cursor": 3}
    assert stamped(Entry(1, 2, None), {"name": "Bob"}).state is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the frame ends inside a number"),
        (b"\x05ab", "the frame ends 3 bytes early"),
        (b"\xff" * 12, "a number of the frame is too large"),
    ],
)
def test_a_frame_that_ends_early_says_so(data: bytes, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        Reader(data).bytes()
