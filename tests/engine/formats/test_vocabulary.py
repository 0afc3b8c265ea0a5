import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from hone_engine.formats import FormatError, open_checkpoint
from hone_engine.formats.gguf.vocabulary import tokenizer_files

Make = Callable[..., Path]


def tokenizer_of(values: dict[str, Any]) -> Tokenizer:
    full = {f"tokenizer.ggml.{key}": value for key, value in values.items()}
    files = tokenizer_files(Path("some.gguf"), full)
    return Tokenizer.from_str(files["tokenizer.json"].decode())


def byte_values(pre: str, *more: str, kinds: tuple[int, ...] = (), **keys: Any) -> dict[str, Any]:
    """Keys of a byte vocabulary; `more` are the tokens 256 and up, with their kinds."""
    shown = [chr(b) for b in [*range(33, 127), *range(161, 173), *range(174, 256)]]
    shown += [chr(256 + n) for n in range(256 - len(shown))]
    tokens = [*shown, *more, "\u0120t"]
    kinds = (*[1] * 256, *kinds, 1) if kinds else (1,) * len(tokens)
    found = {"tokens": tokens, "token_type": list(kinds), "merges": ["\u0120 t"]}
    return {"model": "gpt2", "pre": pre, **found, **keys}


@pytest.mark.parametrize(
    ("pre", "pieces"),
    [
        ("gpt-2", ["a", "1234", "\u010a\u010a", "\u0120B"]),
        ("smollm", ["a", "1", "2", "3", "4", "\u010a\u010a", "\u0120B"]),
        ("llama-bpe", ["a", "123", "4", "\u010a\u010a", "\u0120B"]),
        ("qwen2", ["a", "1", "2", "3", "4", "\u010a\u010a", "\u0120B"]),
    ],
)
def test_each_pre_tokenizer_cuts_digits_its_own_way(pre: str, pieces: list[str]) -> None:
    tokenizer = tokenizer_of(byte_values(pre))
    found = [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str("a1234\n\n B")]
    assert found == pieces


def test_an_unknown_pre_tokenizer_is_refused_by_name() -> None:
    with pytest.raises(FormatError, match=r"some\.gguf: the pre-tokenizer is 'tekken'; Hone reads"):
        tokenizer_of(byte_values("tekken"))


def test_an_unknown_model_is_refused_by_name() -> None:
    with pytest.raises(FormatError, match="the tokenizer is 't5'; Hone reads gpt2, llama"):
        tokenizer_of({"model": "t5", "tokens": ["a"]})


def test_special_and_added_tokens_keep_their_numbers() -> None:
    values = byte_values("smollm", "<|x|>", "<y>", kinds=(3, 4))
    tokenizer = tokenizer_of(values)
    added = tokenizer.get_added_tokens_decoder()
    assert {index: (t.content, t.special) for index, t in added.items()} == {
        256: ("<|x|>", True),
        257: ("<y>", False),
    }
    assert tokenizer.encode("<|x|><y>").ids == [256, 257]


def test_bos_is_added_where_the_file_says_so() -> None:
    values = byte_values("llama-bpe", "<s>", kinds=(3,), bos_token_id=256)
    assert tokenizer_of(values).encode("!").ids == [256, 0]
    assert tokenizer_of({**values, "add_bos_token": False}).encode("!").ids == [0]


def test_a_token_number_outside_of_the_vocabulary_is_refused() -> None:
    with pytest.raises(FormatError, match=r"bos_token_id is 999, wanted 0\.\.256"):
        tokenizer_of(byte_values("smollm", bos_token_id=999))


SP = "\u2581"
PIECES = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256))]
WORDS = [SP, "h", "e", "l", "o", "he", "ll", "hell", "hello", f"{SP}hello", "w"]


def sentencepiece(**keys: Any) -> dict[str, Any]:
    tokens = PIECES + WORDS
    scores = [0.0] * len(PIECES) + [-float(100 - len(word)) for word in WORDS]
    kinds = [2, 3, 3] + [6] * 256 + [1] * len(WORDS)
    ids = {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0}
    return {"model": "llama", "tokens": tokens, "scores": scores, "token_type": kinds} | ids | keys


def test_sentencepiece_merges_come_from_the_scores() -> None:
    tokenizer = tokenizer_of(sentencepiece())
    assert tokenizer.encode("hello").tokens == ["<s>", f"{SP}hello"]
    assert tokenizer.encode("hello hello", add_special_tokens=False).tokens == [f"{SP}hello"] * 2


def test_sentencepiece_falls_back_to_bytes_and_back() -> None:
    tokenizer = tokenizer_of(sentencepiece())
    found = tokenizer.encode("w\u00e9", add_special_tokens=False)
    assert found.tokens == [SP, "w", "<0xC3>", "<0xA9>"]
    assert tokenizer.decode(found.ids) == "w\u00e9"


def test_sentencepiece_without_a_space_in_front() -> None:
    tokenizer = tokenizer_of(sentencepiece(add_space_prefix=False, add_bos_token=False))
    assert tokenizer.encode("hello").tokens == ["hello"]


def test_sentencepiece_without_scores_is_refused() -> None:
    with pytest.raises(FormatError, match=r"scores is missing or not one a token"):
        tokenizer_of(sentencepiece(scores=[0.0]))


def test_a_gguf_file_brings_its_template_and_named_tokens(make_gguf: Make) -> None:
    files = open_checkpoint(make_gguf("F16")).sidecars()
    assert b"m['content']" in files["chat_template.jinja"]
    config = json.loads(files["tokenizer_config.json"])
    assert (config["bos_token"], config["eos_token"]) == ("<|im_start|>", "<|im_end|>")
    assert json.loads(files["generation_config.json"])["eos_token_id"] == 260
