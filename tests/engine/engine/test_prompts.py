import time

import pytest

from hone_engine.engine.prompts import encode_bounded
from hone_engine.tokenizer import Tokenizer
from hone_engine.types import RequestError


@pytest.mark.parametrize("text", ["a " * 4_000_000, " " * 8_000_000, "日本" * 2_000_000])
def test_megabytes_are_refused_without_encoding_them(
    smollm2_tokenizer: Tokenizer, text: str
) -> None:
    began = time.thread_time()
    with pytest.raises(RequestError) as caught:
        encode_bounded(smollm2_tokenizer, text, context_len=512, special=True, param="prompt")
    assert caught.value.code == "context_length_exceeded"
    assert time.thread_time() - began < 1


@pytest.mark.parametrize("text", ["", "a b c", " " * 30_000, "word " * 600, "x" * 4096])
def test_what_may_fit_is_encoded_whole(smollm2_tokenizer: Tokenizer, text: str) -> None:
    ids = encode_bounded(smollm2_tokenizer, text, context_len=512, special=True, param="prompt")
    assert ids == smollm2_tokenizer.encode(text)


def test_a_text_a_little_too_long_is_left_to_the_exact_count(
    smollm2_tokenizer: Tokenizer,
) -> None:
    text = "hello " * 520
    ids = encode_bounded(smollm2_tokenizer, text, context_len=512, special=True, param="prompt")
    assert len(ids) > 512
