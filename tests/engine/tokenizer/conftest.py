"""Tokenizers of both kinds, small enough to read."""

import json
from pathlib import Path

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers

from hone_engine.tokenizer import Tokenizer
from hone_engine.tokenizer.token_bytes import byte_alphabet

SP = "\u2581"
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def byte_level() -> tokenizers.Tokenizer:
    alphabet = sorted(byte_alphabet(), key=byte_alphabet().__getitem__)
    vocabulary = {char: index for index, char in enumerate([*alphabet, "he", "\u0120t"])}
    inner = tokenizers.Tokenizer(models.BPE(vocabulary, [("h", "e"), ("\u0120", "t")]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken("<s>"), AddedToken("<e>"), AddedToken("<|user|>")])
    inner.add_tokens([AddedToken("<think>", special=False)])
    return inner


def sentencepiece(*, strips: bool = True) -> tokenizers.Tokenizer:
    pieces = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), SP, "h", "i", "hi", f"{SP}hi"]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    merges = [("h", "i"), (SP, "hi")]
    model = models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True)
    inner = tokenizers.Tokenizer(model)
    inner.normalizer = normalizers.Sequence([normalizers.Prepend(SP), normalizers.Replace(" ", SP)])
    steps = [decoders.Replace(SP, " "), decoders.ByteFallback(), decoders.Fuse()]
    inner.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if strips else steps)
    return inner


@pytest.fixture(scope="session")
def bytes_tokenizer() -> Tokenizer:
    named = {"bos_token": "<s>", "eos_token": "<e>"}
    return Tokenizer(byte_level(), template=TEMPLATE, named=named, eos_token_ids=(259,))


@pytest.fixture(scope="session")
def pieces_tokenizer() -> Tokenizer:
    return Tokenizer(sentencepiece())


@pytest.fixture
def model_path(tmp_path: Path) -> Path:
    byte_level().save(str(tmp_path / "tokenizer.json"))
    config = {"bos_token": "<s>", "eos_token": {"content": "<e>"}, "chat_template": TEMPLATE}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [259, 258]}')
    return tmp_path
