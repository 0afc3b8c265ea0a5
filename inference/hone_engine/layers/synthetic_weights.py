"""Random weights made on the device: a model to measure, not to talk to."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from hone_engine.kernels import FloatArray
from hone_engine.kernels.cuda_dense import CudaDense, CudaMatrix
from hone_engine.kernels.cuda_mixed import CudaMixed, Run, of_one_width, runs_of, tile_bytes
from hone_engine.kernels.cuda_packed import BAND_ROWS, TILE_COLS, UNIT_ROWS, CudaWeight, padded
from hone_engine.kernels.cuda_rowwise import with_wide_copy
from hone_engine.layers.mixtures import Mixture
from hone_engine.quant.mixing import widened

GROUP = 128
EMBEDDING = "embed_tokens"
HEAD = "lm_head"


class SyntheticSource:
    """Hands out random matrices as `CudaWeightSource` does those of a checkpoint.

    bits: 4, 8 or 16, of the matrices, or a mixture; the head has 8 where that is 4, the embedding
    16. Scales are such that products keep the size of what they multiply. host_embedding: the
    embedding stays in the host's memory, where the GPU reads the rows it needs. keep_widths: tiles
    of a mixture have its widths, not those that are faster to multiply.
    """

    def __init__(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        bits: int | Mixture,
        *,
        device: torch.device | str,
        dtype: torch.dtype,
        wide_copy: bool = False,
        host_embedding: bool = False,
        keep_widths: bool = False,
    ):
        if not isinstance(bits, Mixture) and bits not in (4, 8, 16):
            raise ValueError(f"bits: got {bits}, wanted 4, 8 or 16")
        self._shapes, self._bits = shapes, bits
        self._device, self._dtype = torch.device(device), dtype
        self._wide_copy, self._host_embedding = wide_copy, host_embedding
        self._keep_widths = keep_widths
        self._generator = torch.Generator(self._device).manual_seed(1)

    def packed(self, *names: str, **_: Any) -> CudaMatrix:
        """One random matrix in place of those named."""
        rows = sum(self._shapes[name][0] for name in names)
        cols = self._shapes[names[0]][1]
        bits = self._bits
        if EMBEDDING in names[0]:
            weight = self._dense(rows, cols)
            return weight.in_host_memory() if self._host_embedding else weight
        if isinstance(bits, Mixture):
            return self._copied(self._mixed(rows, cols, self._widths(bits, cols, names)))
        if HEAD in names[0]:
            bits = max(bits, 8)
        if bits == 16:
            return self._dense(rows, cols)
        return self._copied(self._tiles(rows, cols, bits))

    def planned_bytes(self, *names: str) -> int:
        """Bytes on the device of the matrix that `packed` makes of these."""
        rows, cols = sum(self._shapes[name][0] for name in names), self._shapes[names[0]][1]
        bits, head = self._bits, HEAD in names[0]
        if EMBEDDING in names[0]:
            return 0 if self._host_embedding else 2 * rows * cols
        if bits == 16:
            return 2 * rows * cols
        wide = 2 * rows * cols if self._wide_copy else 0
        units, tiles = padded(rows, BAND_ROWS) // UNIT_ROWS, padded(cols, TILE_COLS) // TILE_COLS
        if isinstance(bits, Mixture):
            widths = self._widths(bits, cols, names)
        else:
            widths = [max(bits, 8) if head else bits] * tiles
        return wide + units * sum(tile_bytes(Run(0, bits, GROUP), False) for bits in widths)

    def _widths(self, mixture: Mixture, cols: int, names: Sequence[str]) -> list[int]:
        """Of the tiles of one matrix."""
        widths = mixture.tiles(padded(cols, TILE_COLS) // TILE_COLS, head=HEAD in names[0])
        return widths if self._keep_widths else widened(widths)

    def _copied(self, weight: CudaMatrix) -> CudaMatrix:
        return with_wide_copy(weight, self._dtype) if self._wide_copy else weight

    def _dense(self, rows: int, cols: int) -> CudaDense:
        values = torch.empty(rows, cols, dtype=self._dtype, device=self._device)
        return CudaDense(values.normal_(std=cols**-0.5, generator=self._generator))

    def _tiles(self, rows: int, cols: int, bits: int) -> CudaWeight:
        units = padded(rows, BAND_ROWS) // UNIT_ROWS
        tiles = padded(cols, TILE_COLS) // TILE_COLS
        code_bytes, scale_bytes = UNIT_ROWS * TILE_COLS * bits // 8, UNIT_ROWS * 2
        shape = (units, tiles, code_bytes + scale_bytes)
        packed = torch.randint(
            0, 256, shape, dtype=torch.uint8, device=self._device, generator=self._generator
        )
        scale = math.sqrt(12 / cols) / 2**bits  # uniform codes: deviation 2^bits / sqrt(12)
        scales = torch.full((units, tiles, UNIT_ROWS), scale, dtype=torch.float16)
        packed[..., code_bytes:] = scales.view(torch.uint8).to(self._device)
        if packed.is_cuda:
            torch.cuda.synchronize(self._device)
        return CudaWeight(rows, cols, bits, GROUP, False, packed.flatten())

    def _mixed(self, rows: int, cols: int, widths: list[int]) -> CudaMatrix:
        units, tiles = padded(rows, BAND_ROWS) // UNIT_ROWS, len(widths)
        made = CudaMixed(
            rows, cols, runs_of(widths, [GROUP] * tiles), False, torch.empty(0, dtype=torch.uint8)
        )
        size = sum((end - run.first) * tile_bytes(run, False) for run, end in made.spans(tiles))
        packed = torch.randint(
            0, 256, (units, size), dtype=torch.uint8, device=self._device, generator=self._generator
        )
        at = 0
        for run, end in made.spans(tiles):
            whole = (end - run.first) * tile_bytes(run, False)
            self._set_scales(packed[:, at : at + whole], run, end - run.first, cols)
            at += whole
        if packed.is_cuda:
            torch.cuda.synchronize(self._device)
        return of_one_width(replace(made, tiles=packed.flatten()))

    def _set_scales(self, block: torch.Tensor, run: Run, count: int, cols: int) -> None:
        scale = math.sqrt(12 / cols) / 2**run.bits
        numbers = torch.full((UNIT_ROWS,), scale, dtype=torch.float16).view(torch.uint8)
        by_tile = block.view(len(block), count, -1)
        by_tile[..., UNIT_ROWS * TILE_COLS * run.bits // 8 :] = numbers.to(self._device)

    def vector(self, *names: str, **_: Any) -> FloatArray:
        """Ones for norms, zeros for biases."""
        size = sum(self._shapes[name][0] for name in names)
        return np.full(size, "bias" not in names[0], np.float32)

    def input_order(self, name: str) -> None:
        """Columns are in the order of the input."""

    def report(self) -> None:
        """There is nothing to say."""
