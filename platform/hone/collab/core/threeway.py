"""Three texts as one: what each side changed of their common origin, by lines and then by words.

diff3: where both sides keep what the origin says, the texts are held together; what lies between is
taken from the side that changed it, and is a conflict where both did, differently. Between the
lines that hold, the same is done again by words, so that two edits of one line meet.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

Kind = Literal["same", "mine", "theirs", "both", "conflict"]

# A {{variable}} is one word; a line break stands alone.
WORDS: Final = re.compile(r"\{\{\s*[\w.-]+\s*\}\}|\w+|[^\S\n]+|\n|[^\w\s]")
LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
MOST_PAIRS: Final = 300_000  # equal pairs, past which only what is there once holds texts together


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the three texts. All pieces' `mine` in a row are the text mine, and so on."""

    base: str
    mine: str
    theirs: str

    @property
    def kind(self) -> Kind:
        """Who changed it; `both` is the same change twice."""
        if self.mine == self.theirs:
            return "same" if self.mine == self.base else "both"
        if self.mine == self.base:
            return "theirs"
        return "mine" if self.theirs == self.base else "conflict"

    @property
    def text(self) -> str:
        """What becomes of it; of a conflict mine, until somebody decides."""
        return self.theirs if self.kind == "theirs" else self.mine


def text_merge(base: str, mine: str, theirs: str) -> list[Piece]:
    """The texts as pieces, those of the same kind joined."""
    pieces: list[Piece] = []
    for piece in _regions(*(LINES.findall(text) for text in (base, mine, theirs))):
        if piece.kind == "conflict":
            texts = (piece.base, piece.mine, piece.theirs)
            pieces += _regions(*(WORDS.findall(text) for text in texts))
        else:
            pieces.append(piece)
    return _joined(pieces)


def _regions(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> Iterator[Piece]:
    """Pieces that hold and pieces between, in turn."""
    to_mine, to_theirs = dict(matches(base, mine)), dict(matches(base, theirs))
    at = [0, 0, 0]  # how far each text is read

    def until(b: int, m: int, t: int) -> Piece:
        piece = Piece(
            "".join(base[at[0] : b]), "".join(mine[at[1] : m]), "".join(theirs[at[2] : t])
        )
        at[:] = b, m, t
        return piece

    for b in range(len(base)):
        if b not in to_mine or b not in to_theirs:
            continue
        m, t = to_mine[b], to_theirs[b]
        if (b, m, t) != tuple(at):
            yield until(b, m, t)
        yield until(b + 1, m + 1, t + 1)
    rest = until(len(base), len(mine), len(theirs))
    if rest != Piece("", "", ""):
        yield rest


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Neighbors of one kind as one piece; conflicts with only white space between are one."""
    out: list[Piece] = []
    for piece in pieces:
        if out and out[-1].kind == piece.kind:
            out[-1] = _sum(out[-1], piece)
        elif piece.kind == "conflict" and len(out) > 1 and _is_gap(out):
            out[-2:] = [_sum(_sum(out[-2], out[-1]), piece)]
        else:
            out.append(piece)
    return out


def _is_gap(out: Sequence[Piece]) -> bool:
    before, gap = out[-2:]
    return before.kind == "conflict" and gap.kind == "same" and not gap.base.strip(" \t")


def _sum(a: Piece, b: Piece) -> Piece:
    return Piece(a.base + b.base, a.mine + b.mine, a.theirs + b.theirs)


def matches(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of equal items, rising in both; not always the longest such list."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    inner_a, inner_b = a[start : len(a) - end], b[start : len(b) - end]
    counts = Counter(inner_b)
    is_small = sum(counts[item] for item in inner_a) <= MOST_PAIRS
    inner = (_close if is_small else _unique)(inner_a, inner_b)
    return [
        *((n, n) for n in range(start)),
        *((i + start, j + start) for i, j in inner),
        *((len(a) - n, len(b) - n) for n in range(end, 0, -1)),
    ]


def _close(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return [(block.a + n, block.b + n) for block in blocks for n in range(block.size)]


def _unique(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """What is there once in each, as far as it rises."""
    once_a, once_b = Counter(a), Counter(b)
    place = {item: j for j, item in enumerate(b) if once_b[item] == 1}
    return rising([(i, place[x]) for i, x in enumerate(a) if once_a[x] == 1 and x in place])


def rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of the pairs that rises in its second number, too; they rise in the first."""
    ends: list[int] = []  # the smallest end of a run of each length
    tops: list[int] = []  # the pair that it ends with
    previous: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        previous.append(tops[length - 1] if length else -1)
        ends[length : length + 1], tops[length : length + 1] = [j], [number]
    run: list[tuple[int, int]] = []
    number = tops[-1] if tops else -1
    while number >= 0:
        run.append(pairs[number])
        number = previous[number]
    return run[::-1]
