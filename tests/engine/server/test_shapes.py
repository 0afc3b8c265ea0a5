import pytest

from hone_engine.server.shapes import (
    ChatShape,
    chat_logprobs,
    legacy_logprobs,
    timings_of,
    usage_of,
)
from hone_engine.types import Delta, Timings, TokenLogprob


def times(prompt: int = 10, cached: int = 0, completion: int = 5, end: float = 4.0) -> Timings:
    return Timings(
        queued_at=1.0,
        started_at=2.0,
        first_token_at=3.0,
        finished_at=end,
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=completion,
    )


def test_a_prompt_counts_once_however_many_choices_it_has() -> None:
    usage = usage_of([[times(10), times(10, cached=8)], [times(20, cached=16)]])
    assert usage == {
        "prompt_tokens": 30,
        "completion_tokens": 15,
        "total_tokens": 45,
        "prompt_tokens_details": {"cached_tokens": 16},
    }


def test_rates_are_over_what_was_computed() -> None:
    timings = timings_of([[times(10, cached=4), times(10, cached=4, end=5.0)]])
    assert timings["finished_at"] == 5.0
    assert timings["prompt_tokens_per_second"] == 6.0
    assert timings["tokens_per_second"] == 4.5


def test_rates_that_cannot_be_told_are_null() -> None:
    never = Timings(1.0, None, None, 2.0, 10, 0, 0)
    assert timings_of([[never]])["tokens_per_second"] is None
    assert timings_of([[never]])["prompt_tokens_per_second"] is None
    assert timings_of([[times(completion=1)]])["tokens_per_second"] is None


def test_part_of_a_character_is_shown_by_its_bytes() -> None:
    half = TokenLogprob(5, b"\xf0\x9f", -1.0, ((5, b"\xf0\x9f", -1.0),))
    chat = chat_logprobs([half])["content"][0]
    assert chat["bytes"] == [0xF0, 0x9F]
    assert chat["token"] == "\ufffd"
    assert legacy_logprobs([half], 0)["tokens"] == ["bytes:\\xf0\\x9f"]


def test_an_impossible_token_has_a_number_that_json_can_say() -> None:
    item = TokenLogprob(5, b"a", float("-inf"), ((6, b"b", float("-inf")),))
    assert chat_logprobs([item])["content"][0]["logprob"] == -9999.0
    assert legacy_logprobs([item], 0)["top_logprobs"] == [{"b": -9999.0}]


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        (Delta(1, "a"), [({"content": "a"}, None)]),
        (Delta(1, "", finish_reason="stop"), [({}, "stop")]),
        (Delta(1, "a", finish_reason="length"), [({"content": "a"}, None), ({}, "length")]),
    ],
)
def test_text_and_end_of_a_chat_come_in_chunks_of_their_own(
    delta: Delta, expected: list[object]
) -> None:
    shape = ChatShape("m", "fp", logprobs=False, include_usage=False)
    assert [(p["delta"], p["finish_reason"]) for p in shape.pieces(0, delta, 0)] == expected
