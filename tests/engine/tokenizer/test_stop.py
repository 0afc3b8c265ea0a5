import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone_engine.tokenizer import StopMatcher


def ended(text: str, stops: list[str]) -> tuple[str, str | None]:
    """The text before the first stop string that completes; the longest of several at once."""
    for end in range(1, len(text) + 1):
        found = [stop for stop in stops if text[:end].endswith(stop)]
        if found:
            stop = max(found, key=len)
            return text[: end - len(stop)], stop
    return text, None


alphabet = st.text("ab#", max_size=30)


@given(
    pieces=st.lists(st.text("ab#", max_size=5), max_size=12),
    stops=st.lists(st.text("ab#", min_size=1, max_size=5), max_size=4),
)
def test_pieces_never_change_what_is_shown(pieces: list[str], stops: list[str]) -> None:
    matcher = StopMatcher(stops)
    shown = "".join([matcher.push(piece) for piece in pieces] + [matcher.flush()])
    assert (shown, matcher.matched) == ended("".join(pieces), stops)


@given(text=st.text("ab#", max_size=20), stops=st.lists(st.text("ab#", min_size=1), min_size=1))
def test_only_a_possible_beginning_is_held_back(text: str, stops: list[str]) -> None:
    matcher = StopMatcher(stops)
    shown = matcher.push(text)
    held = text[len(shown) :] if matcher.matched is None else ""
    assert not held or any(stop.startswith(held) for stop in stops)


def test_without_stops_everything_passes() -> None:
    matcher = StopMatcher()
    assert matcher.push("anything\n") == "anything\n"
    assert matcher.flush() == ""


def test_nothing_is_shown_after_a_match() -> None:
    matcher = StopMatcher(["END"])
    assert matcher.push("one EN") == "one "
    assert matcher.push("D two") == ""
    assert matcher.matched == "END"
    assert matcher.push("three") + matcher.flush() == ""


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(ValueError, match="stop: got an empty string"):
        StopMatcher(["x", ""])
