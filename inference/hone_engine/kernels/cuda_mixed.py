"""Matrices of 2 to 8 bits, a width for each tile; the layout: csrc/kernels/linear/tile.cuh."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from hone_engine.kernels.cuda_packed import (
    BAND_ROWS,
    CUDA_BITS,
    TILE_COLS,
    UNIT_ROWS,
    CudaWeight,
    pack_codes,
    padded,
    spread,
    unpack_codes,
)

Tensor = torch.Tensor

WIDTHS = (2, 3, 4, 5, 6, 8)
MAX_RUNS = 16
SCALE_COLS = 32  # columns that share a scale at least

# Axes of a tile's codes as in `cuda_packed`: 0 unit, 1 high, 2 row, 3 tile, 4 half, 5 odd quarter,
# 6 lane, 7 product, 8 pair, 9 odd column. Planes: the axes of words, then of their bits from the
# highest; the lowest bits of a byte are the last axis'.
_SPLIT = (2, 8)
_TILE = (2, 2, 4, 2, 2, 2)
_OF_TWO = (0, 3, 4, 5, 2, 6, 9, 7, 8, 1)  # a byte has 4 codes
_OF_ONE = (0, 3, 4, 2, 6, 9, 5, 7, 8, 1)  # a byte has 8


@dataclass(frozen=True, slots=True)
class Run:
    """Tiles from `first` on, up to the next run: bits of a code, columns that share a scale."""

    first: int
    bits: int
    group: int


@dataclass(frozen=True, slots=True)
class CudaMixed:
    """A quantized matrix (rows, cols) on one device in tiles of several widths.

    tiles: uint8, 1-D. Value = scale * code + min where has_min, else scale * (code - 2**(bits-1)).
    order, wide: as in `CudaWeight`.
    """

    rows: int
    cols: int
    runs: tuple[Run, ...]
    has_min: bool
    tiles: Tensor
    order: Tensor | None = None
    wide: Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Bytes that a product streams."""
        return self.tiles.numel()

    @property
    def form(self) -> tuple[int, int, bool]:
        """Bits, group, has_min as the native functions take them: the runs say the first two."""
        return 0, 0, self.has_min

    @property
    def native_runs(self) -> tuple[tuple[int, int, int], ...]:
        return tuple((run.first, run.bits, run.group) for run in self.runs)

    def dequantize(self) -> Tensor:
        """fp32 (rows, cols), on the weight's device: the tiles read back, scale by scale."""
        units = padded(self.rows, BAND_ROWS) // UNIT_ROWS
        num_tiles = padded(self.cols, TILE_COLS) // TILE_COLS
        by_unit = self.tiles.view(units, -1)
        parts, at = [], 0
        for run, end in self.spans(num_tiles):
            size = (end - run.first) * tile_bytes(run, self.has_min)
            block = by_unit[:, at : at + size].reshape(units, end - run.first, -1)
            parts.append(_values(block, run, self.has_min))
            at += size
        return torch.cat(parts, dim=1)[: self.rows, : self.cols]

    def spans(self, num_tiles: int) -> list[tuple[Run, int]]:
        """Each run and the tile behind its last."""
        ends = [run.first for run in self.runs[1:]] + [num_tiles]
        return list(zip(self.runs, ends, strict=True))


def of_one_width(weight: CudaMixed) -> CudaMixed | CudaWeight:
    """A matrix all of whose tiles have 4 or 8 bits, and groups of one size, as just that."""
    if len(weight.runs) > 1 or weight.runs[0].bits not in CUDA_BITS:
        return weight
    bits, group = weight.runs[0].bits, weight.runs[0].group
    more = {"order": weight.order, "wide": weight.wide}
    return CudaWeight(weight.rows, weight.cols, bits, group, weight.has_min, weight.tiles, **more)


def tile_bytes(run: Run, has_min: bool) -> int:
    """Bytes of a tile of a run: codes, scales, minimums."""
    numbers = TILE_COLS // run.group * UNIT_ROWS * (2 if has_min else 1)
    return UNIT_ROWS * TILE_COLS * run.bits // 8 + 2 * numbers


def runs_of(bits: Sequence[int], groups: Sequence[int]) -> tuple[Run, ...]:
    """The runs of tiles with these widths and groups; groups become the least where there would
    be more runs than a kernel takes."""
    found = _runs(bits, groups)
    return found if len(found) <= MAX_RUNS else _runs(bits, [min(groups)] * len(groups))


def _runs(bits: Sequence[int], groups: Sequence[int]) -> tuple[Run, ...]:
    pairs = list(zip(bits, groups, strict=True))
    starts = [0] + [at for at, (one, two) in enumerate(pairwise(pairs), 1) if one != two]
    return tuple(Run(at, *pairs[at]) for at in starts)


def pack_mixed(
    codes: Tensor,
    scales: Tensor,
    mins: Tensor | None,
    runs: tuple[Run, ...],
    *,
    device: torch.device | str | None = None,
) -> CudaMixed:
    """Pack unsigned codes into tiles on `device` (default: where codes are).

    codes: uint8 (rows, cols), of the width of their tile. scales, mins: fp16 (rows, cols / 32).
    """
    _check(codes, scales, mins, runs)
    device = torch.device(device or codes.device)
    rows, cols = codes.shape
    full_rows, num_tiles = padded(rows, BAND_ROWS), padded(cols, TILE_COLS) // TILE_COLS
    made = CudaMixed(rows, cols, runs, mins is not None, torch.empty(0, dtype=torch.uint8))
    parts = []
    for run, end in made.spans(num_tiles):
        span = slice(run.first * TILE_COLS, end * TILE_COLS)
        parts += _packed(codes, scales, mins, run, span, full_rows, device)
    units = full_rows // UNIT_ROWS
    packed = torch.cat([part.reshape(units, -1) for part in parts], dim=1).flatten()
    if packed.is_cuda:
        torch.cuda.synchronize(packed.device)
    return CudaMixed(rows, cols, runs, mins is not None, packed)


def _packed(
    codes: Tensor,
    scales: Tensor,
    mins: Tensor | None,
    run: Run,
    span: slice,
    full_rows: int,
    device: torch.device,
) -> list[Tensor]:
    """The tiles of one run, (units, tiles, bytes)."""
    cols = span.stop - span.start
    block = _pad(codes[:, span].to(device), full_rows, cols)
    pieces = [pack_planes(block, run.bits)]
    for numbers in (scales, mins):
        if numbers is None:
            continue
        own = numbers[:, span.start // SCALE_COLS : span.stop // SCALE_COLS].to(device).half()
        whole = _pad(own, full_rows, cols // SCALE_COLS)[:, :: run.group // SCALE_COLS]
        by_tile = whole.reshape(full_rows // UNIT_ROWS, UNIT_ROWS, cols // TILE_COLS, -1)
        by_tile = by_tile.permute(0, 2, 3, 1).contiguous()
        pieces.append(by_tile.flatten(2).view(torch.uint8))
    return [torch.cat(pieces, dim=-1)]


def pack_planes(codes: Tensor, bits: int) -> Tensor:
    """uint8 (units, tiles, bytes) of padded unsigned codes (units * 16, tiles * 128)."""
    if bits in (4, 8):
        return pack_codes(codes, bits)
    units, tiles = codes.shape[0] // UNIT_ROWS, codes.shape[1] // TILE_COLS
    planes = []
    if bits >= 4:
        planes.append(pack_codes(codes & 15, 4))
        codes = codes >> 4
    if bits in (2, 3, 6):
        planes.append(_bytes_of(codes & 3, units, tiles, _OF_TWO, 2))
        codes = codes >> 2
    if bits in (3, 5):
        planes.append(_bytes_of(codes & 1, units, tiles, _OF_ONE, 1))
    return torch.cat(planes, dim=-1)


def _bytes_of(codes: Tensor, units: int, tiles: int, axes: Sequence[int], bits: int) -> Tensor:
    split = codes.view(units, *_SPLIT, tiles, *_TILE).permute(*axes)
    places = split.reshape(units, tiles, -1, 8 // bits)
    shifts = torch.arange(0, 8, bits, dtype=torch.uint8, device=codes.device)
    return (places << shifts).sum(-1, dtype=torch.uint8)


def unpack_planes(packed: Tensor, bits: int) -> Tensor:
    """The inverse of `pack_planes`."""
    if bits in (4, 8):
        return unpack_codes(packed, bits)
    units, tiles, _ = packed.shape
    found = torch.zeros(
        units * UNIT_ROWS, tiles * TILE_COLS, dtype=torch.uint8, device=packed.device
    )
    at = shift = 0
    if bits >= 4:
        at, shift = UNIT_ROWS * TILE_COLS // 2, 4
        found |= unpack_codes(packed[..., :at], 4)
    for plane_bits, axes, wanted in ((2, _OF_TWO, (2, 3, 6)), (1, _OF_ONE, (3, 5))):
        if bits in wanted:
            size = UNIT_ROWS * TILE_COLS * plane_bits // 8
            found |= _codes_of(packed[..., at : at + size], axes, plane_bits) << shift
            at, shift = at + size, shift + plane_bits
    return found


def _codes_of(packed: Tensor, axes: Sequence[int], bits: int) -> Tensor:
    units, tiles, _ = packed.shape
    shifts = torch.arange(0, 8, bits, dtype=torch.uint8, device=packed.device)
    places = (packed[..., None] >> shifts) & ((1 << bits) - 1)
    sizes = (units, *_SPLIT, tiles, *_TILE)
    split = places.reshape([sizes[axis] for axis in axes])
    back = [axes.index(axis) for axis in range(len(axes))]
    return split.permute(*back).reshape(units * UNIT_ROWS, tiles * TILE_COLS)


def _values(block: Tensor, run: Run, has_min: bool) -> Tensor:
    """fp32 (units * 16, tiles * 128)."""
    num_code_bytes = UNIT_ROWS * TILE_COLS * run.bits // 8
    codes = unpack_planes(block[..., :num_code_bytes], run.bits).float()
    numbers = block[..., num_code_bytes:].contiguous().view(torch.float16)
    count = TILE_COLS // run.group * UNIT_ROWS
    zero = 0 if has_min else 1 << (run.bits - 1)
    values = (codes - zero) * spread(numbers[..., :count], run.group)
    return values + spread(numbers[..., count:], run.group) if has_min else values


def _check(codes: Tensor, scales: Tensor, mins: Tensor | None, runs: tuple[Run, ...]) -> None:
    rows, cols = codes.shape
    if not rows or not cols or cols % SCALE_COLS:
        raise ValueError(f"codes: got {rows} rows of {cols}, wanted columns of a multiple of 32")
    for name, tensor in (("scales", scales), ("mins", mins)):
        wanted = (rows, cols // SCALE_COLS)
        if tensor is not None and tuple(tensor.shape) != wanted:
            raise ValueError(f"{name}: got shape {tuple(tensor.shape)}, wanted {wanted}")
    if not runs or len(runs) > MAX_RUNS or runs[0].first != 0:
        raise ValueError(f"runs: got {len(runs)}, wanted 1 to {MAX_RUNS}, the first at tile 0")
    for run in runs:
        if run.bits not in WIDTHS or run.group not in (32, 64, 128):
            raise ValueError(f"runs: got {run}, wanted bits of {WIDTHS} and groups of 32, 64, 128")


def _pad(tensor: Tensor, rows: int, cols: int) -> Tensor:
    return torch.nn.functional.pad(tensor, (0, cols - tensor.shape[1], 0, rows - tensor.shape[0]))
