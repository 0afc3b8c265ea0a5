import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone_engine.tokenizer import Tokenizer, TokenizerError
from hone_engine.types import RequestError

SAMPLES = ["", " the he", "h\u00e9 \u6f22\u5b57 \U0001f642", "a\n\n\tb  c", "\u00a0\u200d"]


@pytest.mark.parametrize("text", SAMPLES)
def test_a_text_comes_back_from_its_tokens(bytes_tokenizer: Tokenizer, text: str) -> None:
    assert bytes_tokenizer.decode(bytes_tokenizer.encode(text)) == text


@pytest.mark.parametrize("text", ["hi hi", "hi \u6f22", " hi"])
def test_a_sentencepiece_text_comes_back(pieces_tokenizer: Tokenizer, text: str) -> None:
    assert pieces_tokenizer.decode(pieces_tokenizer.encode(text)) == text


@given(text=st.text(max_size=30))
def test_tokens_joined_one_by_one_are_the_text(bytes_tokenizer: Tokenizer, text: str) -> None:
    ids = bytes_tokenizer.encode(text, parse_special=False)
    detokenizer = bytes_tokenizer.detokenizer()
    pieces = [detokenizer.push(index) for index in ids]
    assert "\ufffd" not in "".join(pieces).replace("\ufffd" * text.count("\ufffd"), "")
    assert "".join(pieces) + detokenizer.flush() == text


@given(ids=st.lists(st.integers(0, 262), max_size=40))
def test_any_tokens_decode_as_the_library_does(bytes_tokenizer: Tokenizer, ids: list[int]) -> None:
    wanted = bytes_tokenizer._inner.decode(ids, skip_special_tokens=True)
    assert bytes_tokenizer.decode(ids) == wanted


@given(ids=st.lists(st.integers(0, 260), max_size=30))
def test_an_answer_goes_on_where_its_prompt_ended(
    pieces_tokenizer: Tokenizer, ids: list[int]
) -> None:
    prompt, answer = ids[: len(ids) // 2], ids[len(ids) // 2 :]
    detokenizer = pieces_tokenizer.detokenizer(prompt_ids=prompt)
    streamed = "".join([detokenizer.push(i) for i in answer] + [detokenizer.flush()])
    whole = b"".join(pieces_tokenizer.token_bytes(i) for i in answer)
    text = whole.decode("utf-8", "replace")
    assert streamed == (text if prompt else text.removeprefix(" "))


def test_half_a_character_is_never_shown(bytes_tokenizer: Tokenizer) -> None:
    ids = bytes_tokenizer.encode("\U0001f642!")
    detokenizer = bytes_tokenizer.detokenizer()
    assert [detokenizer.push(index) for index in ids] == ["", "", "", "\U0001f642", "!"]


def test_a_character_that_stays_unfinished_is_shown_as_such(bytes_tokenizer: Tokenizer) -> None:
    detokenizer = bytes_tokenizer.detokenizer()
    for index in bytes_tokenizer.encode("\U0001f642")[:2]:
        assert detokenizer.push(index) == ""
    assert detokenizer.flush() == "\ufffd"


def test_the_first_space_of_a_text_is_dropped_only_at_its_start(
    pieces_tokenizer: Tokenizer,
) -> None:
    ids = pieces_tokenizer.encode("hi")
    assert pieces_tokenizer.detokenizer().push(ids[0]) == "hi"
    assert pieces_tokenizer.detokenizer(prompt_ids=[1]).push(ids[0]) == " hi"


def test_special_tokens_are_skipped_or_named(bytes_tokenizer: Tokenizer) -> None:
    ids = bytes_tokenizer.encode("he<e><think>")
    assert bytes_tokenizer.decode(ids) == "he<think>"
    assert bytes_tokenizer.decode(ids, skip_special=False) == "he<e><think>"
    assert bytes_tokenizer.token_bytes(259) == b"<e>"
    assert bytes_tokenizer.is_special(259)
    assert not bytes_tokenizer.is_special(261)


def test_the_name_of_a_special_token_can_be_plain_text(bytes_tokenizer: Tokenizer) -> None:
    assert bytes_tokenizer.encode("<e>") == [259]
    plain = bytes_tokenizer.encode("<e>", parse_special=False)
    assert 259 not in plain
    assert bytes_tokenizer.decode(plain) == "<e>"


def test_numbers_that_are_no_token_have_no_bytes(bytes_tokenizer: Tokenizer) -> None:
    assert bytes_tokenizer.token_bytes(10_000) == b""
    assert bytes_tokenizer.token_bytes(-1) == b""


def test_a_lone_surrogate_is_refused(bytes_tokenizer: Tokenizer) -> None:
    with pytest.raises(RequestError, match="lone surrogate at character 1"):
        bytes_tokenizer.encode("a\ud800")


def test_many_threads_may_encode_both_ways_at_once(bytes_tokenizer: Tokenizer) -> None:
    outcomes: list[bool] = []

    def work(parse_special: bool) -> None:
        for _ in range(300):
            ids = bytes_tokenizer.encode("<e>", parse_special=parse_special)
            outcomes.append((ids == [259]) is parse_special)

    threads = [threading.Thread(target=work, args=(n % 2 == 0,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [True] * 1200


def test_a_directory_gives_template_names_and_ends(model_path: Path) -> None:
    found = Tokenizer.load(model_path)
    assert found.has_chat_template
    assert found.eos_token_ids == (259, 258)
    text = found.chat_text([{"role": "user", "content": "he"}])
    assert text == "<s><|user|>he<e><|assistant|>"


def test_a_template_file_comes_before_the_one_in_the_config(model_path: Path) -> None:
    (model_path / "chat_template.jinja").write_text("mine")
    found = Tokenizer.load(model_path)
    assert found.chat_text([{"role": "user", "content": "he"}]) == "mine"


def test_a_tokenizer_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: cannot be read"):
        Tokenizer.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: cannot be read"):
        Tokenizer.load(tmp_path)
