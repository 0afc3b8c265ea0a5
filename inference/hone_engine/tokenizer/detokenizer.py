"""Tokens to text, one at a time, never half a character."""

import codecs
from typing import Protocol

_UTF8 = codecs.getincrementaldecoder("utf-8")


class TokenSource(Protocol):
    """What a detokenizer asks of its tokenizer."""

    def token_bytes(self, token_id: int) -> bytes: ...
    def is_special(self, token_id: int) -> bool: ...


class Detokenizer:
    """The text of one answer as it grows; cost does not depend on its length.

    All pieces joined are the decoded answer. `strips` drops one leading space, sentencepiece's
    rule for a text that begins with the first token.
    """

    __slots__ = ("_skip_special", "_source", "_strips", "_utf8")

    def __init__(self, source: TokenSource, *, skip_special: bool = True, strips: bool = False):
        self._source = source
        self._skip_special = skip_special
        self._strips = strips
        self._utf8 = _UTF8("replace")

    def push(self, token_id: int) -> str:
        """The text that this token completes; "" while a character is unfinished."""
        if self._skip_special and self._source.is_special(token_id):
            return ""
        return self._start(self._utf8.decode(self._source.token_bytes(token_id)))

    def flush(self) -> str:
        """What is left at the end: U+FFFD for a character that stayed unfinished."""
        return self._start(self._utf8.decode(b"", final=True))

    def _start(self, text: str) -> str:
        if self._strips and text:
            self._strips = False
            return text.removeprefix(" ")
        return text
