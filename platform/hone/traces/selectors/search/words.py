"""Words of segments that fit a part of what is looked for."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from hone.traces.core.search import codec
from hone.traces.core.search.wanted import Part
from hone.traces.selectors.query import fetch

MAX_CACHED: Final = 24 << 20  # bytes of words kept in the process
MAX_WORDS: Final = 2000  # of one segment that fit a part; with more the part does not help
_PROBES: Final = 4  # blocks of a segment that foretell how many words fit
_MANY: Final = 1 << 60
Row = tuple[int, int, int]  # segment, block, number of words


@dataclass(slots=True)
class _Cache:
    blocks: OrderedDict[tuple[int, int], codec.Block] = field(default_factory=OrderedDict)
    size: int = 0
    lock: Lock = field(default_factory=Lock)

    def get(self, key: tuple[int, int]) -> codec.Block | None:
        with self.lock:
            block = self.blocks.get(key)
            if block is not None:
                self.blocks.move_to_end(key)
            return block

    def put(self, key: tuple[int, int], block: codec.Block) -> None:
        with self.lock:
            if key not in self.blocks:
                self.size += len(block.text) + 4 * len(block.counts)
            self.blocks[key] = block
            while self.size > MAX_CACHED:
                _, old = self.blocks.popitem(last=False)
                self.size -= len(old.text) + 4 * len(old.counts)


_cache: Final = _Cache()


@dataclass(slots=True)
class Fitting:
    """Numbers of the words of one segment that fit, and in how many documents they are."""

    words: list[int] = field(default_factory=list)
    num_docs: int = 0


def words_fitting(segment_ids: Sequence[int], part: Part) -> dict[int, Fitting]:
    """For each segment that has any, the words that fit."""
    bits = sorted(codec.gram_bits(part.text))
    where = "".join(f" AND get_bit(grams, {bit}) = 1" for bit in bits)
    rows = fetch(
        "SELECT segment_id, block, num_words FROM traces_search_words"
        f" WHERE segment_id = ANY(%s){where} ORDER BY segment_id, block",
        [list(segment_ids)],
    )
    found: dict[int, Fitting] = {}
    of_segment: dict[int, list[Row]] = {}
    for row in rows:
        of_segment.setdefault(row[0], []).append(row)
    probed = {segment: own[:: -(-len(own) // _PROBES)] for segment, own in of_segment.items()}
    _look(found, [row for own in probed.values() for row in own], part)
    rest: list[Row] = []
    for segment, own in of_segment.items():
        seen = len(found[segment].words) if segment in found else 0
        if seen * len(own) > len(probed[segment]) * MAX_WORDS:
            found[segment].num_docs = _MANY  # as many in every block: too many in all
        else:
            rest += set(own) - set(probed[segment])
    _look(found, sorted(rest), part)
    return found


def _look(found: dict[int, Fitting], rows: Sequence[Row], part: Part) -> None:
    """Note the words of these blocks that fit."""
    blocks = _blocks(rows)
    needle = part.text.encode()
    for segment_id, number, _ in rows:
        block = blocks[segment_id, number]
        for position in block.find(needle, part.how):
            fitting = found.setdefault(segment_id, Fitting())
            fitting.words.append(number * codec.BLOCK_WORDS + position)
            fitting.num_docs += block.counts[position]


def _blocks(rows: Sequence[Row]) -> dict[tuple[int, int], codec.Block]:
    blocks: dict[tuple[int, int], codec.Block] = {}
    missing: list[Row] = []
    for segment_id, number, num_words in rows:
        block = _cache.get((segment_id, number))
        if block is None:
            missing.append((segment_id, number, num_words))
        else:
            blocks[segment_id, number] = block
    if missing:
        read = fetch(
            "SELECT segment_id, block, num_words, data FROM traces_search_words"
            " JOIN unnest(%s::bigint[], %s::int[]) AS k (s, b) ON segment_id = s AND block = b",
            [[row[0] for row in missing], [row[1] for row in missing]],
        )
        for segment_id, number, num_words, data in read:
            block = codec.block_unpack(data, num_words)
            blocks[segment_id, number] = block
            _cache.put((segment_id, number), block)
    return blocks
