from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hone_engine.engine.answer import Answer
from hone_engine.tokenizer import Tokenizer
from hone_engine.types import Delta, Request, Sampled, SamplingParams, Sequence

EOS = 2
Play = Callable[..., list[Delta]]


@pytest.fixture
def play(smollm2_tokenizer: Tokenizer) -> Play:
    """Feed the tokens of a text (or ids) to an answer; returns its deltas."""

    def run(text: str | list[int], room: int = 1000, **params: Any) -> list[Delta]:
        ids = smollm2_tokenizer.encode(text) if isinstance(text, str) else text
        wanted = SamplingParams(**params)
        sequence = Sequence(7, [1, 1], 2, wanted, seed=0, max_len=2 + room)
        answer = Answer(sequence, Request([1, 1], wanted), smollm2_tokenizer, [EOS], 100.0)
        answer.started_at = 101.0
        deltas = []
        for index, token_id in enumerate(ids):
            sequence.token_ids.append(token_id)
            logprob = None if wanted.logprobs is None else -float(index)
            delta = answer.push(Sampled(token_id, logprob, ((token_id, -0.5),)), 102.0 + index)
            if delta is not None:
                deltas.append(delta)
                if delta.finish_reason is not None:
                    break
        return deltas

    return run


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


def ids_of(deltas: list[Delta]) -> list[int]:
    return [token_id for delta in deltas for token_id in delta.token_ids]


def test_text_comes_token_by_token_and_ends_at_the_end_token(
    play: Play, smollm2_tokenizer: Tokenizer
) -> None:
    ids = smollm2_tokenizer.encode("Paris is a city.")
    deltas = play([*ids, EOS])
    assert text_of(deltas) == "Paris is a city."
    assert len(deltas) == len(ids) + 1
    assert ids_of(deltas) == ids
    assert [d.finish_reason for d in deltas] == [None] * len(ids) + ["stop"]
    assert deltas[-1].stop_reason is None


def test_the_end_carries_the_times_and_counts(play: Play) -> None:
    timings = play("a b c", room=3)[-1].timings
    assert timings is not None
    assert timings.queued_at == 100.0
    assert timings.started_at == 101.0
    assert timings.first_token_at == 102.0
    assert timings.finished_at == 104.0
    assert timings.prompt_tokens == 2
    assert timings.completion_tokens == 3


def test_it_ends_with_length_when_the_room_is_used_up(play: Play) -> None:
    deltas = play("one two three four", room=2)
    assert text_of(deltas) == "one two"
    assert deltas[-1].finish_reason == "length"


def test_an_ignored_end_token_is_text_like_any_other_special_token(play: Play) -> None:
    deltas = play([EOS, 339, 339], room=3, ignore_eos=True)
    assert deltas[-1].finish_reason == "length"
    assert ids_of(deltas) == [EOS, 339, 339]


def test_a_stop_token_ends_it_and_is_named(play: Play, smollm2_tokenizer: Tokenizer) -> None:
    ids = smollm2_tokenizer.encode("yes no")
    deltas = play(ids, stop_token_ids=(ids[-1],))
    assert text_of(deltas) == "yes"
    assert deltas[-1].stop_reason == ids[-1]


def test_half_a_character_is_never_shown(play: Play) -> None:
    deltas = play("né 日本 🧑‍🚀 ok")
    assert text_of(deltas) == "né 日本 🧑‍🚀 ok"
    assert all("\ufffd" not in delta.text for delta in deltas)


def test_a_character_cut_by_the_limit_is_shown_as_replaced(
    play: Play, smollm2_tokenizer: Tokenizer
) -> None:
    ids = smollm2_tokenizer.encode("🦭")
    assert len(ids) > 1
    deltas = play(ids, room=len(ids) - 1)
    assert text_of(deltas) == "\ufffd"
    assert ids_of(deltas) == ids[:-1]


def test_a_stop_string_across_tokens_is_cut_off_with_its_tokens(play: Play) -> None:
    deltas = play("The end is near, says he. More", stop=("near, says",), logprobs=0)
    assert text_of(deltas) == "The end is "
    assert deltas[-1].finish_reason == "stop"
    assert deltas[-1].stop_reason == "near, says"
    told = b"".join(item.token for delta in deltas for item in delta.logprobs)
    assert told == b"The end is near"[: len(told)]
    assert len(told) <= len(b"The end is near")


def test_what_may_become_a_stop_string_is_held_back_and_comes_when_it_does_not(
    play: Play, smollm2_tokenizer: Tokenizer
) -> None:
    ids = [smollm2_tokenizer.encode(piece)[0] for piece in ("a", "#", "#", "b", "#")]
    deltas = play(ids, stop=("###",), room=5)
    assert [delta.text for delta in deltas] == ["a", "##b", "#"]
    assert [len(delta.token_ids) for delta in deltas] == [1, 3, 1]


def test_logprobs_lie_beside_the_tokens_of_their_piece(play: Play) -> None:
    deltas = play("one two three", room=3, logprobs=1)
    found = [(item.token, item.logprob) for delta in deltas for item in delta.logprobs]
    assert found == [(b"one", 0.0), (b" two", -1.0), (b" three", -2.0)]
    assert deltas[0].logprobs[0].top == ((deltas[0].token_ids[0], b"one", -0.5),)


def test_without_logprobs_there_are_none(play: Play) -> None:
    assert all(delta.logprobs == () for delta in play("one two"))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    text=st.text(alphabet="ab é日🦭", max_size=20),
    stop=st.lists(st.text(alphabet="ab é日🦭", min_size=1, max_size=4), max_size=3),
)
def test_the_answer_is_the_text_up_to_the_first_stop_that_completes(
    play: Play, smollm2_tokenizer: Tokenizer, text: str, stop: list[str]
) -> None:
    ids = [*smollm2_tokenizer.encode(text), EOS]
    deltas = play(ids, stop=tuple(stop))
    whole = smollm2_tokenizer.decode(ids)
    ends = [(whole.index(s) + len(s), -len(s)) for s in stop if s in whole]
    expected = whole if not ends else whole[: sum(min(ends))]
    assert text_of(deltas) == expected
    assert deltas[-1].finish_reason == "stop"
    assert ids_of(deltas) == ids[: len(ids_of(deltas))]
