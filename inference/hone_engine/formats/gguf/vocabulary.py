"""tokenizer.json, tokenizer_config.json and the chat template from a GGUF file's keys."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.processors import TemplateProcessing

from hone_engine.formats.errors import FormatError

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # tokenizer.ggml.token_type

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _split(digits: str) -> pre_tokenizers.PreTokenizer:
    """Cut into words, runs of digits, runs of signs and white space; bytes afterwards."""
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(f"{_WORDS}|{digits}|{_REST}"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _byte_level(*before: pre_tokenizers.PreTokenizer) -> pre_tokenizers.PreTokenizer:
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    return pre_tokenizers.Sequence([*before, last])


PRE_TOKENIZERS: dict[str, Callable[..., pre_tokenizers.PreTokenizer]] = {  # tokenizer.ggml.pre
    "gpt-2": _byte_level,
    "smollm": lambda: _byte_level(pre_tokenizers.Digits(individual_digits=True)),
    "llama-bpe": lambda: _split(r"\p{N}{1,3}"),
    "qwen2": lambda: _split(r"\p{N}"),
}


class Vocabulary:
    """What the keys tokenizer.ggml.* say, checked."""

    def __init__(self, path: Path, values: dict[str, Any]):
        self.path = path
        self._values = values
        self.model = str(self.get("model"))
        self.pre = str(self.get("pre", "default"))
        self.tokens: list[str] = self._items("tokens", str)
        self.merges: list[str] = self._items("merges", str) if self.model == "gpt2" else []
        kinds = self.get("token_type") or [NORMAL] * len(self.tokens)
        if len(kinds) != len(self.tokens):
            raise FormatError(
                f"{path}: key tokenizer.ggml.token_type has {len(kinds)} entries, "
                f"wanted one a token ({len(self.tokens)})"
            )
        self.kinds: list[int] = kinds
        self.ids = {token: index for index, token in enumerate(self.tokens)}

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(f"tokenizer.ggml.{key}", default)

    def _items(self, key: str, kind: type) -> list[Any]:
        found = self.get(key)
        if not isinstance(found, list) or not found or not isinstance(found[0], kind):
            raise FormatError(f"{self.path}: key tokenizer.ggml.{key} is missing or empty")
        return found

    def token(self, key: str) -> str | None:
        """The token that e.g. `bos` names; None when there is none."""
        index = self.get(f"{key}_token_id")
        if index is None:
            return None
        if not isinstance(index, int) or not 0 <= index < len(self.tokens):
            raise FormatError(
                f"{self.path}: key tokenizer.ggml.{key}_token_id is {index!r}, "
                f"wanted 0..{len(self.tokens) - 1}"
            )
        return self.tokens[index]

    def adds(self, key: str) -> bool:
        """Whether an encoded text begins with bos, ends with eos."""
        sentencepiece = self.model == "llama"
        by_default = key == "bos" and (sentencepiece or self.pre == "llama-bpe")
        return bool(self.get(f"add_{key}_token", by_default))


def _added(vocabulary: Vocabulary, kinds: tuple[int, ...], special: bool) -> list[AddedToken]:
    return [
        AddedToken(token, special=special, normalized=False)
        for token, kind in zip(vocabulary.tokens, vocabulary.kinds, strict=True)
        if kind in kinds
    ]


def _bpe(vocabulary: Vocabulary) -> Tokenizer:
    if vocabulary.pre not in PRE_TOKENIZERS:
        raise FormatError(
            f"{vocabulary.path}: the pre-tokenizer is {vocabulary.pre!r}; "
            f"Hone reads {', '.join(PRE_TOKENIZERS)}"
        )
    pairs = [merge.partition(" ") for merge in vocabulary.merges]
    merges = [(first, second) for first, _, second in pairs]
    ignore = vocabulary.pre == "llama-bpe"
    tokenizer = Tokenizer(models.BPE(vocabulary.ids, merges, ignore_merges=ignore))
    if vocabulary.pre == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = PRE_TOKENIZERS[vocabulary.pre]()
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _sentencepiece(vocabulary: Vocabulary) -> Tokenizer:
    prefix = bool(vocabulary.get("add_space_prefix", True))
    model = models.BPE(
        vocabulary.ids,
        merges_from_scores(vocabulary),
        unk_token=vocabulary.token("unknown"),
        fuse_unk=True,
        byte_fallback=True,
    )
    tokenizer = Tokenizer(model)
    space = normalizers.Replace(" ", "\u2581")
    steps = [normalizers.Prepend("\u2581"), space] if prefix else [space]
    tokenizer.normalizer = normalizers.Sequence(steps)
    decoding = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    if prefix:
        decoding.append(decoders.Strip(" ", 1, 0))
    tokenizer.decoder = decoders.Sequence(decoding)
    return tokenizer


def merges_from_scores(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """The merges of a sentencepiece BPE model, which keeps scores instead.

    Each way to cut a token into two tokens is a merge, as urgent as the whole token's score.
    """
    ids, scores = vocabulary.ids, vocabulary.get("scores")
    if not isinstance(scores, list) or len(scores) != len(vocabulary.tokens):
        raise FormatError(
            f"{vocabulary.path}: key tokenizer.ggml.scores is missing or not one a token"
        )
    found = []
    for token, score, kind in zip(vocabulary.tokens, scores, vocabulary.kinds, strict=True):
        if kind not in (NORMAL, USER):
            continue
        cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
        known = [(ids[a], ids[b], a, b) for a, b in cuts if a in ids and b in ids]
        found += [(-score, a, b) for _, _, a, b in sorted(known)]
    return [(a, b) for _, a, b in sorted(found, key=lambda merge: merge[0])]


MODELS = {"gpt2": _bpe, "llama": _sentencepiece}


def _post_processor(vocabulary: Vocabulary) -> TemplateProcessing | None:
    before = vocabulary.token("bos") if vocabulary.adds("bos") else None
    after = vocabulary.token("eos") if vocabulary.adds("eos") else None
    used = [token for token in (before, after) if token is not None]
    if not used:
        return None
    single = [*([before] if before else []), "$A", *([after] if after else [])]
    return TemplateProcessing(
        single=single, special_tokens=[(token, vocabulary.ids[token]) for token in used]
    )


def tokenizer_files(path: Path, values: dict[str, Any]) -> dict[str, bytes]:
    """tokenizer.json, tokenizer_config.json and chat_template.jinja, by name."""
    vocabulary = Vocabulary(path, values)
    if vocabulary.model not in MODELS:
        raise FormatError(
            f"{path}: the tokenizer is {vocabulary.model!r}; Hone reads {', '.join(MODELS)}"
        )
    try:
        tokenizer = MODELS[vocabulary.model](vocabulary)
    except FormatError:
        raise
    except Exception as error:  # the library raises plain Exception
        raise FormatError(f"{path}: the vocabulary does not hold together ({error})") from None
    processor = _post_processor(vocabulary)
    if processor is not None:
        tokenizer.post_processor = processor
    tokenizer.add_special_tokens(_added(vocabulary, (CONTROL, UNKNOWN), special=True))
    tokenizer.add_tokens(_added(vocabulary, (USER,), special=False))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "add_bos_token": vocabulary.adds("bos"),
        "model_max_length": values.get(f"{values.get('general.architecture')}.context_length"),
    }
    for key, name in (("bos", "bos"), ("eos", "eos"), ("unknown", "unk"), ("padding", "pad")):
        config[f"{name}_token"] = vocabulary.token(key)
    files = {
        "tokenizer.json": tokenizer.to_str().encode(),
        "tokenizer_config.json": json.dumps(config, indent=2, ensure_ascii=False).encode(),
    }
    template = values.get("tokenizer.chat_template")
    if isinstance(template, str):
        files["chat_template.jinja"] = template.encode()
    return files
