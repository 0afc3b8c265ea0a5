"""Matrices of other programs' formats as a GPU multiplies them: a width for every 128 inputs.

A tile of inputs has the greatest width of the codes in it, over all matrices that are held one
below the other, or the next one that is fast to multiply; a narrower code keeps its distance from
its zero point, so that values are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hone_engine.formats import Segment, Segments, TensorSpec
from hone_engine.formats.segments import in_blocks
from hone_engine.formats.spec import Array

TILE_COLS = 128
SCALE_COLS = 32
GROUPS = (128, 64, 32)
MOST_WIDENED = 4 / 3  # times the bits of a matrix that wider codes may take


@dataclass(frozen=True, slots=True)
class Mixed:
    """Unsigned codes uint8 (N, K), of the width of their tile; scales, mins fp16 (N, K / 32).

    bits, groups: of each tile. Value = scale * code + min, else scale * (code - 2**(bits - 1)).
    order: column k multiplies x[order[k]]; None: x[k].
    """

    codes: Array
    scales: Array
    mins: Array | None
    bits: list[int]
    groups: list[int]
    order: Array | None = None

    def take_rows(self, rows: Array) -> "Mixed":
        """These rows, in this order."""
        mins = None if self.mins is None else self.mins[rows]
        return Mixed(self.codes[rows], self.scales[rows], mins, self.bits, self.groups, self.order)


def mixable(specs: Sequence[TensorSpec]) -> bool:
    """Whether matrices over the same input have widths that need it, and can be held so."""
    if not all(spec.foreign for spec in specs) or len({spec.order for spec in specs}) > 1:
        return False
    widths = {width for spec in specs for width in spec.widths}
    if widths in ({4}, {8}):
        return False  # tiles of one width
    return all(spec.group % SCALE_COLS == 0 and spec.shape[1] % SCALE_COLS == 0 for spec in specs)


def widened(bits: Sequence[int]) -> list[int]:
    """The widths in which tiles are multiplied fastest, if those take few more bytes.

    4 and 8 bits cost a GPU half of the instructions of the others.
    """
    wide = [4 if width <= 4 else 8 for width in bits]
    return wide if sum(wide) / sum(bits) <= MOST_WIDENED else list(bits)


def mix(parts: Sequence[Segments], *, keep_widths: bool = False) -> Mixed:
    """Matrices one below the other, for which `mixable` holds.

    keep_widths: a tile has the greatest width in it even if a wider one is faster.
    """
    cols = parts[0].cols
    widths = np.stack([_per_block([s.bits for s in p.segments], p) for p in parts])
    bits = [int(tile.max()) for tile in _tiles(widths)]
    if not keep_widths:
        bits = widened(bits)
    places = np.stack([_group_numbers(part) for part in parts])
    groups = [_group(tile) for tile in _tiles(places)]
    minimum = any(s.zeros is not None for part in parts for s in part.segments)
    rows = sum(part.rows for part in parts)
    shape = (rows, cols // SCALE_COLS)
    made = Mixed(
        np.empty((rows, cols), np.uint8),
        np.empty(shape, np.float16),
        np.empty(shape, np.float16) if minimum else None,
        bits,
        groups,
        parts[0].perm,
    )
    first = 0
    for part, own in zip(parts, widths, strict=True):
        _fill(made, part, first, own)
        first += part.rows
    return made


def _fill(made: Mixed, part: Segments, first: int, own: Array) -> None:
    """Write one matrix's rows; `own`: its width in each 32 inputs."""
    of_tile = np.repeat(made.bits, TILE_COLS // SCALE_COLS)[: len(own)]
    lifted = (1 << (of_tile - 1)) - (1 << (own - 1))
    lift = np.repeat(lifted, SCALE_COLS).astype(np.uint8)[None]

    def fill(start: int, stop: int) -> None:
        segments = part.outputs(start, stop).segments
        to = slice(first + start, first + min(stop, part.rows))
        codes = np.concatenate([s.codes() for s in segments]).T
        made.codes[to] = codes if made.mins is not None else codes + lift
        made.scales[to] = np.concatenate([_repeated(s, s.scales) for s in segments]).T
        if made.mins is not None:
            made.mins[to] = np.concatenate([_minimums(s) for s in segments]).T

    in_blocks(fill, part.rows, part.cols)


def _per_block(values: Sequence[int], part: Segments) -> Array:
    """A segment's value for each 32 inputs."""
    counts = [segment.cols // SCALE_COLS for segment in part.segments]
    return np.repeat(np.array(values), counts)


def _group_numbers(part: Segments) -> Array:
    """The number of its group for each 32 inputs."""
    found, before = [], 0
    for s in part.segments:
        found.append(before + np.arange(0, s.cols, SCALE_COLS) // s.group)
        before += len(s.scales)
    return np.concatenate(found)


def _tiles(blocks: Array) -> list[Array]:
    """(parts, 4 or fewer) of each tile."""
    step = TILE_COLS // SCALE_COLS
    return [blocks[:, at : at + step] for at in range(0, blocks.shape[1], step)]


def _group(tile: Array) -> int:
    """The most inputs that share a scale everywhere in a tile."""
    for group in GROUPS:
        step = group // SCALE_COLS
        runs = [tile[:, at : at + step] for at in range(0, tile.shape[1], step)]
        if all((run == run[:, :1]).all() for run in runs):
            return group
    raise AssertionError("32 inputs share a scale")


def _repeated(segment: Segment, numbers: Array) -> Array:
    return numbers[np.arange(0, segment.cols, SCALE_COLS) // segment.group]


def _minimums(segment: Segment) -> Array:
    zeros = 1 << (segment.bits - 1) if segment.zeros is None else segment.zeros
    found = -(segment.scales.astype(np.float32) * zeros)
    return _repeated(segment, found.astype(np.float16))
