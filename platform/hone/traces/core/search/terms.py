"""What of an observation goes into the index.

A word is an unbroken run of letters or of digits and letters, in small letters; of a run longer
than PIECE_LEN overlapping pieces are kept, and of one longer than RUN_LEN only its beginning: such
runs are base64 or the like. Scripts without spaces (Han, kana) are kept as pairs of characters.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

PIECE_LEN: Final = 24
STEP: Final = 12
SURE_LEN: Final = PIECE_LEN - STEP + 1  # any part of a run up to this length lies in one piece
RUN_LEN: Final = 256
MARK: Final = "\x02"  # begins a term that is a field's whole value
_VALUE_LEN: Final = 80
HAN: Final = "\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
RUN: Final = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")
_ASCII_RUN: Final = re.compile("[a-z0-9]+")
_IS_HAN: Final = re.compile(rf"[{HAN}]")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def words_of(text: str) -> set[str]:
    """The words of a payload or a name; JSON's escapes are read where it looks like JSON."""
    if text[:1] in ("{", "[", '"') and "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    text = text.lower()
    is_plain = text.isascii()
    runs = set((_ASCII_RUN if is_plain else RUN).findall(text))
    if is_plain and max(map(len, runs), default=0) <= PIECE_LEN:
        return runs
    odd = [run for run in runs if len(run) > PIECE_LEN or run >= HAN[0]]
    runs.difference_update(odd)
    for run in odd:
        runs.update(pieces(run))
    return runs


def pieces(run: str) -> Iterable[str]:
    """The terms under which a run is kept."""
    if is_han(run):
        return [run] if len(run) == 1 else pairs(run[:RUN_LEN])
    if len(run) <= PIECE_LEN:
        return [run]
    run = run[:RUN_LEN]
    return [run[at : at + PIECE_LEN] for at in range(0, max(1, len(run) - STEP), STEP)]


def is_han(run: str) -> bool:
    """Whether a run is of a script that is kept in pairs."""
    return _IS_HAN.match(run) is not None


def pairs(run: str) -> Iterator[str]:
    return (run[at : at + 2] for at in range(len(run) - 1))


def value_term(field: str, value: str) -> str:
    """The term that says that `field` has this value; long values share one."""
    return f"{MARK}{field}{MARK}{value[:_VALUE_LEN]}".replace("\n", " ")


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return "/" if found[2] == "/" else " "
