"""Which message of one list is which of another: they carry no identity across drafts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import orjson

from hone.collab.core.threeway import WORDS, matches

Message = Mapping[str, Any]
ALIKE: Final = 0.5  # share of common words from which two texts are the same message, edited
MOST_COMPARED: Final = 1000  # pairs of edited messages that are looked at


def message_key(message: Message) -> str:
    """The message as canonical JSON."""
    return orjson.dumps(message, option=orjson.OPT_SORT_KEYS).decode()


def pair(before: Sequence[Message], after: Sequence[Message]) -> dict[int, int]:
    """Places in `before` to places in `after`: the same, moved, or edited message."""
    keys_a, keys_b = [message_key(m) for m in before], [message_key(m) for m in after]
    found = dict(matches(keys_a, keys_b))
    _pair_moved(keys_a, keys_b, found)
    anchors = sorted(matches(keys_a, keys_b))
    _pair_alike(before, after, found)
    _pair_rewritten(before, after, found, anchors)
    return found


def _left(count: int, taken: Sequence[int]) -> list[int]:
    gone = set(taken)
    return [n for n in range(count) if n not in gone]


def _pair_moved(keys_a: Sequence[str], keys_b: Sequence[str], found: dict[int, int]) -> None:
    free = _left(len(keys_b), list(found.values()))
    for i in _left(len(keys_a), list(found)):
        j = next((j for j in free if keys_b[j] == keys_a[i]), None)
        if j is not None:
            found[i] = j
            free.remove(j)


def _pair_alike(before: Sequence[Message], after: Sequence[Message], found: dict[int, int]) -> None:
    """The most alike first; of equals those that stand closest."""
    left, right = _left(len(before), list(found)), _left(len(after), list(found.values()))
    if len(left) * len(right) > MOST_COMPARED:
        return
    words_a = {i: _words(before[i]) for i in left}
    words_b = {j: _words(after[j]) for j in right}
    rated = [
        (-alike(words_a[i], words_b[j]), abs(i - j), i, j)
        for i in left
        for j in right
        if before[i].get("role") == after[j].get("role")
    ]
    for rate, _, i, j in sorted(rated):
        if -rate >= ALIKE and i not in found and j not in found.values():
            found[i] = j


def _pair_rewritten(
    before: Sequence[Message],
    after: Sequence[Message],
    found: dict[int, int],
    anchors: Sequence[tuple[int, int]],
) -> None:
    """Between the same neighbors one message of a role is that message, whatever it says now."""
    bounds = [(-1, -1), *anchors, (len(before), len(after))]
    for (a0, b0), (a1, b1) in pairwise(bounds):
        left = [i for i in range(a0 + 1, a1) if i not in found]
        right = [j for j in range(b0 + 1, b1) if j not in found.values()]
        if len(left) == len(right) == 1:
            i, j = left[0], right[0]
            if before[i].get("role") == after[j].get("role"):
                found[i] = j


def alike(a: Counter[str], b: Counter[str]) -> float:
    """The share of words (0 to 1) that two messages have in common."""
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0


def _words(message: Message) -> Counter[str]:
    content = message.get("content")
    text = content if isinstance(content, str) else message_key({"content": content})
    return Counter(word for word in WORDS.findall(text) if not word.isspace())
