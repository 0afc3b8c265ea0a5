"""Quantized weights in the tiles of the CUDA products; the layout: csrc/kernels/linear/tile.cuh."""

from dataclasses import dataclass

import torch

UNIT_ROWS = 16
TILE_COLS = 128
BAND_ROWS = 128
CUDA_BITS = (4, 8)
CUDA_GROUPS = (32, 64, 128)

# Axes of a tile's codes: (unit, high row half, row of 8), (tile, quarter, quad lane, product, word
# half, column pair) -> (unit, tile), quarter, (row, quad lane), product, then inside words.
_SPLIT_ROWS = (2, 8)
_SPLIT_COLS = (4, 4, 2, 2, 2)


@dataclass(frozen=True, slots=True)
class CudaWeight:
    """A quantized matrix (rows, cols) in tiles on one device, ready for `cuda_linear`.

    tiles: uint8, 1-D. bits: 4 or 8. group: 32, 64 or 128 columns. has_min: value = scale * code +
    min, else scale * (code - zero). order: int32 (cols,), column k multiplies x[order[k]], which
    the caller of the product brings there; None: x[k]. wide: the same in 16 bits (rows, cols), for
    products of many rows where memory is spared for it.
    """

    rows: int
    cols: int
    bits: int
    group: int
    has_min: bool
    tiles: torch.Tensor
    order: torch.Tensor | None = None
    wide: torch.Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Bytes that a product streams."""
        return self.tiles.numel()

    @property
    def form(self) -> tuple[int, int, bool]:
        """Bits, group, has_min as the native functions take them."""
        return self.bits, self.group, self.has_min

    @property
    def native_runs(self) -> tuple[tuple[int, int, int], ...]:
        """None: all tiles are alike."""
        return ()

    def dequantize(self) -> torch.Tensor:
        """fp32 (rows, cols), on the weight's device: the tiles read back, scale by scale."""
        units, tiles = (
            padded(self.rows, BAND_ROWS) // UNIT_ROWS,
            padded(self.cols, TILE_COLS) // TILE_COLS,
        )
        flat = self.tiles.view(units, tiles, -1)
        num_code_bytes = UNIT_ROWS * TILE_COLS * self.bits // 8
        codes = unpack_codes(flat[..., :num_code_bytes], self.bits)
        groups = TILE_COLS // self.group
        numbers = flat[..., num_code_bytes:].contiguous().view(torch.float16)
        scales = numbers[..., : groups * UNIT_ROWS]
        zero = 0 if self.has_min else 1 << (self.bits - 1)
        values = (codes.float() - zero) * spread(scales, self.group)
        if self.has_min:
            values += spread(numbers[..., groups * UNIT_ROWS :], self.group)
        return values[: self.rows, : self.cols]


def padded(count: int, multiple: int) -> int:
    """`count` rounded up to a multiple."""
    return -(-count // multiple) * multiple


def spread(numbers: torch.Tensor, group: int) -> torch.Tensor:
    """fp32 (units * 16, tiles * 128) of one number a row and group, from (units, tiles, …)."""
    units, tiles, _ = numbers.shape
    by_row = numbers.view(units, tiles, TILE_COLS // group, UNIT_ROWS).permute(0, 3, 1, 2)
    return by_row.reshape(units * UNIT_ROWS, -1).float().repeat_interleave(group, dim=1)


def pack_codes(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """uint8 (units, tiles, bytes) of padded unsigned codes (units * 16, tiles * 128)."""
    units, tiles = codes.shape[0] // UNIT_ROWS, codes.shape[1] // TILE_COLS
    # axes: 0 unit, 1 high, 2 row, 3 tile, 4 quarter, 5 lane, 6 product, 7 pair, 8 even or odd
    split = codes.view(units, *_SPLIT_ROWS, tiles, *_SPLIT_COLS)
    if bits == 8:
        # bytes of a word: (high, odd); words: (product, pair)
        return split.permute(0, 3, 4, 2, 5, 6, 7, 1, 8).reshape(units, tiles, -1)
    # nibbles of a word from the lowest: (odd, pair, high); a half of 64 columns is two quarters
    halves = split.view(units, 2, 8, tiles, 2, 2, 4, 2, 2, 2)
    nibbles = halves.permute(0, 3, 4, 2, 6, 5, 7, 9, 8, 1).reshape(units, tiles, -1, 2)
    return nibbles[..., 0] | (nibbles[..., 1] << 4)


def unpack_codes(packed: torch.Tensor, bits: int) -> torch.Tensor:
    """The inverse of `pack_codes`."""
    units, tiles, _ = packed.shape
    if bits == 8:
        split = packed.reshape(units, tiles, 4, 8, 4, 2, 2, 2, 2)
        codes = split.permute(0, 7, 3, 1, 2, 4, 5, 6, 8)
    else:
        nibbles = torch.stack((packed & 15, packed >> 4), dim=-1)
        split = nibbles.view(units, tiles, 2, 8, 4, 2, 2, 2, 2, 2)
        codes = split.permute(0, 9, 3, 1, 2, 5, 4, 6, 8, 7)
    return codes.reshape(units * UNIT_ROWS, tiles * TILE_COLS)


def _check(
    codes: torch.Tensor, scales: torch.Tensor, mins: torch.Tensor | None, bits: int, group: int
) -> None:
    if bits not in CUDA_BITS:
        raise ValueError(f"bits: got {bits}, wanted one of {CUDA_BITS}")
    if group not in CUDA_GROUPS:
        raise ValueError(f"group: got {group}, wanted one of {CUDA_GROUPS}")
    rows, cols = codes.shape[0], codes.shape[1] * (8 // bits)
    if not rows or not cols or cols % group:
        raise ValueError(
            f"codes: got {rows} rows of {cols} columns, wanted a multiple of group {group}"
        )
    for name, tensor in (("scales", scales), ("mins", mins)):
        if tensor is not None and tuple(tensor.shape) != (rows, cols // group):
            raise ValueError(
                f"{name}: got shape {tuple(tensor.shape)}, wanted {(rows, cols // group)}"
            )


def _pad_to(tensor: torch.Tensor, rows: int, cols: int) -> torch.Tensor:
    return torch.nn.functional.pad(tensor, (0, cols - tensor.shape[1], 0, rows - tensor.shape[0]))


def pack_cuda(
    codes: torch.Tensor,
    scales: torch.Tensor,
    mins: torch.Tensor | None = None,
    *,
    bits: int,
    group: int,
    device: torch.device | str | None = None,
) -> CudaWeight:
    """Pack codes of the on-disk layout into tiles on `device` (default: where codes are).

    codes: 4 bits: uint8 (rows, cols / 2), low nibble = even column; 8 bits: int8 (rows, cols), or
    uint8 with mins. scales, mins: fp16 (rows, cols / group). Value = scale * (code - zero), zero =
    8 at 4 bits, 0 for int8; scale * code + min where mins are given. Rows are padded to 128 and
    columns to 128 with zeros. The device is synchronized: a later product may read the tiles before
    its stream reaches it.
    """
    _check(codes, scales, mins, bits, group)
    codes, scales = codes.to(device or codes.device), scales.to(device or codes.device).half()
    rows, cols = codes.shape[0], codes.shape[1] * (8 // bits)
    if bits == 4:
        codes = torch.stack((codes & 15, codes >> 4), dim=-1).flatten(-2)
    elif mins is None:
        codes = codes.view(torch.uint8) ^ 128
    full_rows, full_cols = padded(rows, BAND_ROWS), padded(cols, TILE_COLS)
    parts = [pack_codes(_pad_to(codes, full_rows, full_cols), bits)]
    units, tiles = full_rows // UNIT_ROWS, full_cols // TILE_COLS
    for numbers in (scales, mins):
        if numbers is not None:
            full = _pad_to(numbers.to(codes.device).half(), full_rows, full_cols // group)
            by_tile = full.view(units, UNIT_ROWS, tiles, -1).permute(0, 2, 3, 1)
            parts.append(by_tile.reshape(units, tiles, -1).contiguous().view(torch.uint8))
    packed = torch.cat(parts, dim=-1).flatten()
    if packed.is_cuda:
        torch.cuda.synchronize(packed.device)
    return CudaWeight(rows, cols, bits, group, mins is not None, packed)
