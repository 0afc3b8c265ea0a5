"""The bytes that each token stands for, by the decoder that tokenizer.json names."""

import re
from collections.abc import Callable
from typing import Any

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
SPACE = "\u2581"  # sentencepiece's


def byte_alphabet() -> dict[str, int]:
    """The character by which byte-level BPE shows each byte (GPT-2, 2019).

    Printable Latin-1 characters show themselves; the others take code points from 256 up.
    """
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in set(shown)]
    alphabet = {chr(byte): byte for byte in shown}
    return alphabet | {chr(256 + index): byte for index, byte in enumerate(hidden)}


_ALPHABET = byte_alphabet()


def _byte_level(token: str) -> bytes:
    try:
        return bytes([_ALPHABET[char] for char in token])
    except KeyError:
        return token.encode()


def _byte_fallback(token: str) -> bytes:
    match = _BYTE_TOKEN.fullmatch(token)
    return bytes([int(match[1], 16)]) if match else _spaced(token)


def _spaced(token: str) -> bytes:
    return token.replace(SPACE, " ").encode()


TokenBytes = Callable[[str], bytes]


def rules_of(decoder: dict[str, Any] | None) -> tuple[TokenBytes, bool]:
    """How a token becomes bytes, and whether a text loses its first space.

    decoder: the object of that name in tokenizer.json. Raises ValueError for one not known.
    """
    if decoder is None:
        return str.encode, False
    kinds = {step["type"]: step for step in decoder.get("decoders", [decoder])}
    known = {"ByteLevel", "ByteFallback", "Metaspace", "Replace", "Fuse", "Strip"}
    if strangers := sorted(set(kinds) - known):
        raise ValueError(f"decoder {strangers[0]!r}; wanted {', '.join(sorted(known))}")
    if "ByteLevel" in kinds:
        return _byte_level, False
    strips = "Strip" in kinds and kinds["Strip"].get("start", 0) > 0
    if "Metaspace" in kinds:
        strips = kinds["Metaspace"].get("prepend_scheme", "always") != "never"
    return (_byte_fallback if "ByteFallback" in kinds else _spaced), strips
