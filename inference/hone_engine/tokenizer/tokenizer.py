"""The tokenizer of one model directory."""

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from hone_engine.tokenizer.chat import Message, render
from hone_engine.tokenizer.detokenizer import Detokenizer
from hone_engine.tokenizer.token_bytes import rules_of
from hone_engine.types import RequestError

NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token")


class TokenizerError(ValueError):
    """A tokenizer that cannot be used; the message names the file."""


class Tokenizer:
    """Text to tokens and back. Any thread may call it."""

    def __init__(
        self,
        inner: tokenizers.Tokenizer,
        *,
        template: str | None = None,
        named: Mapping[str, str] | None = None,
        eos_token_ids: tuple[int, ...] = (),
    ):
        self._inner = inner
        self._lock = threading.Lock()  # over the switch that turns special tokens into plain text
        self._template = template
        self._named = dict(named or {})
        decoder = inner.decoder
        state = json.loads(decoder.__getstate__()) if decoder is not None else None
        self._to_bytes, self._strips = rules_of(state)
        added = inner.get_added_tokens_decoder()
        self._added = {index: token.content.encode() for index, token in added.items()}
        self._special = frozenset(index for index, token in added.items() if token.special)
        self._bytes: dict[int, bytes] = {}
        self.eos_token_ids = eos_token_ids
        self.vocab_size: int = inner.get_vocab_size(with_added_tokens=True)

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """The tokenizer of a model directory; raises TokenizerError naming the file."""
        file = path / "tokenizer.json"
        try:
            inner = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises plain Exception
            raise TokenizerError(f"{file}: cannot be read ({error})") from None
        inner.no_truncation()
        inner.no_padding()
        config = _read(path / "tokenizer_config.json")
        try:
            return cls(
                inner,
                template=_template(path, config),
                named=_named(config),
                eos_token_ids=_eos_token_ids(path),
            )
        except ValueError as error:
            raise TokenizerError(f"{file}: {error}") from None

    @property
    def has_chat_template(self) -> bool:
        return self._template is not None

    def encode(self, text: str, *, special: bool = True, parse_special: bool = True) -> list[int]:
        """The tokens of a text.

        special: with what the model wants around a text (bos). parse_special: the name of a
        special token in the text means that token; otherwise it is text like any other.
        Raises RequestError for a text that is not Unicode (a lone surrogate).
        """
        if not text.isascii():
            _check_unicode(text)
        with self._lock:
            self._inner.encode_special_tokens = not parse_special
            ids: list[int] = self._inner.encode(text, add_special_tokens=special).ids
        return ids

    def chat_text(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
        continue_final: bool = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> str:
        """A conversation as the model reads it; raises RequestError with param "messages"."""
        if self._template is None:
            raise RequestError(
                "this model has no chat template; use /v1/completions", param="messages"
            )
        return render(
            self._template,
            messages,
            add_generation_prompt=add_generation_prompt,
            continue_final=continue_final,
            variables={**self._named, "tools": tools},
        )

    def chat(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
        continue_final: bool = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[int]:
        """The tokens of a conversation: `chat_text`, encoded."""
        text = self.chat_text(
            messages,
            add_generation_prompt=add_generation_prompt,
            continue_final=continue_final,
            tools=tools,
        )
        return self.encode(text, special=False)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of one token, perhaps part of a character; a special token's name; b"" for a
        number that is no token."""
        found = self._bytes.get(token_id)
        if found is None:
            found = self._bytes[token_id] = self._find_bytes(token_id)
        return found

    def _find_bytes(self, token_id: int) -> bytes:
        if token_id in self._added:
            return self._added[token_id]
        token = self._inner.id_to_token(token_id) if token_id >= 0 else None
        return self._to_bytes(token) if token is not None else b""

    def is_special(self, token_id: int) -> bool:
        return token_id in self._special

    def detokenizer(
        self, *, skip_special: bool = True, prompt_ids: Sequence[int] = ()
    ) -> Detokenizer:
        """For one answer. After a prompt its first token keeps its leading space."""
        strips = self._strips and not prompt_ids
        return Detokenizer(self, skip_special=skip_special, strips=strips)

    def decode(self, ids: Sequence[int], *, skip_special: bool = True) -> str:
        """The text of tokens; U+FFFD stands for bytes that are no character."""
        detokenizer = self.detokenizer(skip_special=skip_special)
        return "".join([detokenizer.push(index) for index in ids] + [detokenizer.flush()])


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(
            f"the text holds a lone surrogate at character {error.start}; wanted Unicode"
        ) from None


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise TokenizerError(f"{path}: is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise TokenizerError(f"{path}: wanted a JSON object")
    return found


def _template(path: Path, config: dict[str, Any]) -> str | None:
    file = path / "chat_template.jinja"
    if file.exists():
        return file.read_text()
    found = config.get("chat_template")
    if isinstance(found, list):  # several, by name
        named = {str(item.get("name")): item.get("template") for item in found}
        found = named.get("default")
    return found if isinstance(found, str) else None


def _named(config: dict[str, Any]) -> dict[str, str]:
    """bos_token and the like, which templates use; each a string or an object with `content`."""
    named = {}
    for key in NAMED_TOKENS:
        found = config.get(key)
        found = found.get("content") if isinstance(found, dict) else found
        named[key] = found if isinstance(found, str) else ""
    return named


def _eos_token_ids(path: Path) -> tuple[int, ...]:
    """The tokens that end an answer: generation_config.json first, then config.json."""
    for name in ("generation_config.json", "config.json"):
        found = _read(path / name).get("eos_token_id")
        if found is not None:
            ids = found if isinstance(found, list) else [found]
            return tuple(int(index) for index in ids)
    return ()
