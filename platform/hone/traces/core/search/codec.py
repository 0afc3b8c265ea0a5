"""Rows of a segment as bytes: blocks of words with a filter, postings, documents."""

import zlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import sub
from typing import Final

BLOCK_WORDS: Final = 4096
GRAM_BITS: Final = 1 << 14
DOC_BYTES: Final = 24  # trace id, start in unix microseconds
DOCS_IN_ROW: Final = 256
_LEVEL: Final = 1


@dataclass(frozen=True, slots=True)
class Block:
    """Sorted words, each between line feeds, and in how many documents each is."""

    text: bytes
    counts: "array[int]"

    def find(self, part: bytes, how: str) -> list[int]:
        """Positions of the words that are `part`, begin with it or hold it."""
        needle = {"exact": b"\n" + part + b"\n", "prefix": b"\n" + part, "inside": part}[how]
        found: list[int] = []
        at, line, counted = self.text.find(needle), -1, 0
        while at >= 0:
            line += self.text.count(b"\n", counted, at + 1)
            counted = at + 1
            found.append(line)
            # On from the end of this word: it is found once.
            at = self.text.find(needle, self.text.find(b"\n", at + 1))
        return found


def block_pack(words: Sequence[str], counts: Iterable[int]) -> tuple[bytes, bytes]:
    """A block and the filter of its three-letter parts."""
    text = ("\n" + "\n".join(words) + "\n").encode()
    packed = zlib.compress(_u32(counts).tobytes() + text, _LEVEL)
    grams = bytearray(GRAM_BITS // 8)
    for bit in {bit for word in words for bit in gram_bits(word)}:
        grams[bit >> 3] |= 1 << (bit & 7)
    return packed, bytes(grams)


def block_unpack(data: bytes, num_words: int) -> Block:
    raw = zlib.decompress(data)
    counts = array("I")
    counts.frombytes(raw[: 4 * num_words])
    return Block(raw[4 * num_words :], counts)


def gram_bits(word: str) -> set[int]:
    """Bits of the three-letter parts of a word, as PostgreSQL's get_bit counts them."""
    return {
        (ord(word[at]) * 961 + ord(word[at + 1]) * 31 + ord(word[at + 2])) % GRAM_BITS
        for at in range(len(word) - 2)
    }


def deltas_of(ordinals: Sequence[int]) -> "array[int]":
    """Ascending numbers as the first and the steps between them."""
    return array("I", [ordinals[0], *map(sub, ordinals[1:], ordinals)])


def postings_pack(lists: Sequence["array[int]"]) -> bytes:
    """Delta lists one behind the other; bytes of equal weight lie together, which compresses."""
    joined = array("I")
    for deltas in lists:
        joined.extend(deltas)
    raw = joined.tobytes()
    planes = b"".join(raw[plane::4] for plane in range(4))
    return zlib.compress(_u32(map(len, lists)).tobytes() + planes, _LEVEL)


def postings_unpack(data: bytes, num_lists: int) -> list["array[int]"]:
    """The delta lists of a row."""
    raw = zlib.decompress(data)
    lengths = array("I")
    lengths.frombytes(raw[: 4 * num_lists])
    planes = raw[4 * num_lists :]
    size = len(planes) // 4
    mixed = bytearray(len(planes))
    for plane in range(4):
        mixed[plane::4] = planes[plane * size : (plane + 1) * size]
    joined = array("I")
    joined.frombytes(bytes(mixed))
    ends = list(accumulate(lengths))
    return [joined[end - n : end] for end, n in zip(ends, lengths, strict=True)]


def ordinals_of(deltas: Iterable[int]) -> list[int]:
    return list(accumulate(deltas))


def _u32(values: Iterable[int]) -> "array[int]":
    return array("I", values)
