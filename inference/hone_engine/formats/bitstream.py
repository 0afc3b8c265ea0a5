"""Streams of small codes in 32-bit words, the lowest bits first, one stream a column.

Code k of b bits takes the bits [k*b, (k+1)*b) of its column's stream; bit t of a stream is bit
t mod 32 of word t div 32. A code may begin in one word and end in the next.
"""

import math

import numpy as np

from hone_engine.formats.spec import Array


def unit(bits: int) -> tuple[int, int]:
    """Codes and words after which the pattern of a stream repeats: 32 and 3 for 3 bits."""
    common = math.gcd(bits, 32)
    return 32 // common, bits // common


def num_words(bits: int, count: int) -> int:
    """Words that `count` codes take."""
    return -(-count * bits // 32)


def _planes(bits: int) -> list[tuple[int, int, int]]:
    """Of each code of a unit: its first word, its shift there, its bits in the next word."""
    codes, _ = unit(bits)
    return [(at // 32, at % 32, max(at % 32 + bits - 32, 0)) for at in range(0, codes * bits, bits)]


def unpack(words: Array, bits: int, count: int) -> Array:
    """uint8 (count, N): the first `count` codes of uint32 streams (W, N)."""
    per_unit, unit_words = unit(bits)
    units = -(-count // per_unit)
    if units * unit_words > len(words):  # the last unit is not whole
        missing = np.zeros((units * unit_words - len(words), words.shape[1]), np.uint32)
        words = np.concatenate((words, missing))
    codes = np.empty((units, per_unit, words.shape[1]), np.uint8)
    mask, stop = np.uint32((1 << bits) - 1), units * unit_words
    for at, (word, shift, over) in enumerate(_planes(bits)):
        plane = words[word:stop:unit_words] >> np.uint32(shift)
        if over:
            plane |= words[word + 1 : stop : unit_words] << np.uint32(bits - over)
        np.bitwise_and(plane, mask, out=codes[:, at], casting="unsafe")
    return codes.reshape(units * per_unit, -1)[:count]


def pack(codes: Array, bits: int) -> Array:
    """uint32 (W, N) of codes (K, N) below 2**bits; the last word is filled with zeros."""
    count, cols = codes.shape
    per_unit, unit_words = unit(bits)
    units = -(-count // per_unit)
    full = np.zeros((units * per_unit, cols), np.uint8)
    full[:count] = codes
    words = np.zeros((units, unit_words, cols), np.uint32)
    for at, (word, shift, over) in enumerate(_planes(bits)):
        plane = full[at::per_unit].astype(np.uint32)
        words[:, word] |= plane << np.uint32(shift)
        if over:
            words[:, word + 1] |= plane >> np.uint32(bits - over)
    return words.reshape(units * unit_words, cols)[: num_words(bits, count)]
