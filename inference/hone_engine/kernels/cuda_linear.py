"""Products with quantized weights on an NVIDIA GPU."""

import os
from typing import Any

import torch

from hone_engine.kernels.cuda_dense import CudaTiles
from hone_engine.kernels.cuda_native import cuda_native
from hone_engine.kernels.cuda_packed import padded

MAX_ROWS = 64
_CHOSEN = (0, 0, 0)
WGMMA_ROWS = 9
"""Rows from which products go by warpgroups where they serve (Hopper; 4 bits from 9 rows on,
mixtures without minimums from 33 on); 0: never.

On an H200, 4096x14336: 15.4 us by warpgroups and 19.6 without at 16 rows, 18.0 and 25.2 at 32,
27.0 and 41.2 at 64; 16 streams of an 8B model 5,848 tokens/s and 4,897.
"""


def cuda_linear_reference(x: torch.Tensor, weight: CudaTiles) -> torch.Tensor:
    """fp64 (R, rows): x @ weight.T with the weights as stored; on any device."""
    return x.double() @ weight.dequantize().double().T


class CudaWorkspace:
    """Scratch of the products of one stream: partial sums and counters, reused call after call.

    Two streams that run at once need one each. HONE_LINEAR_WGMMA replaces WGMMA_ROWS.
    """

    def __init__(self, device: torch.device) -> None:
        self.wgmma_rows = int(os.environ.get("HONE_LINEAR_WGMMA", WGMMA_ROWS))
        self.native = cuda_native()
        self.device = device
        self.facts: Any = self.native.device_of(device.index or 0)
        floats = self.native.workspace_floats(self.facts)
        self.partials = torch.empty(floats, dtype=torch.float32, device=device)
        self.counters = torch.zeros(self.native.MAX_BANDS, dtype=torch.int32, device=device)
        torch.cuda.synchronize(device)


def _check(x: torch.Tensor, weight: CudaTiles, out: torch.Tensor, workspace: CudaWorkspace) -> None:
    if x.dtype not in (torch.float16, torch.bfloat16):
        raise ValueError(f"x: got {x.dtype}, wanted float16 or bfloat16")
    if x.dim() != 2 or x.shape[1] != weight.cols or x.stride(1) != 1:
        raise ValueError(f"x: got shape {tuple(x.shape)}, wanted (rows, {weight.cols}) in rows")
    fits = out.dtype in (x.dtype, torch.float32) and out.is_contiguous()
    if out.shape != (x.shape[0], weight.rows) or not fits:
        raise ValueError(
            f"out: got {out.dtype} {tuple(out.shape)}, wanted contiguous {x.dtype} or float32"
            f" {(x.shape[0], weight.rows)}"
        )
    devices = {x.device, weight.tiles.device, out.device, workspace.device}
    if len(devices) > 1:
        raise ValueError(f"x, weight, out, workspace: got devices {devices}, wanted one")


def cuda_linear(
    x: torch.Tensor,
    weight: CudaTiles,
    workspace: CudaWorkspace,
    out: torch.Tensor | None = None,
    *,
    overlap: bool = True,
    tuning: tuple[int, int, int] = _CHOSEN,
    wgmma_rows: int | None = None,
    batch_invariant: bool = False,
) -> torch.Tensor:
    """x @ weight.T, in x's dtype or that of `out`, summed in fp32; the same bits at every call.

    x: (R, cols) fp16 or bf16 on the GPU. R above 64 goes in pieces of 64 rows. Returns (R, rows).
    overlap: stream weights before the work that is queued ahead has ended (its results are waited
    for), which the weights must not be part of. tuning: warps, bytes of the ring, slices; 0: chosen
    by shape. wgmma_rows: see WGMMA_ROWS; None: as the workspace has it. batch_invariant: one kernel
    for any number of rows, so that the bits of a row do not depend on the others.
    """
    if out is None:
        out = torch.empty(x.shape[0], weight.rows, dtype=x.dtype, device=x.device)
    _check(x, weight, out, workspace)
    stream = torch.cuda.current_stream(x.device).cuda_stream
    wide = out.dtype == torch.float32
    least = workspace.wgmma_rows if wgmma_rows is None else wgmma_rows
    bf16 = x.dtype == torch.bfloat16
    form = (*weight.form, bf16, wide, weight.native_runs)
    for first in range(0, x.shape[0], MAX_ROWS):
        part, target = x[first : first + MAX_ROWS], out[first : first + MAX_ROWS]
        shape = (part.shape[0], weight.cols, weight.rows, max(x.stride(0), weight.cols))
        workspace.native.linear(
            weight.tiles.data_ptr(),
            part.data_ptr(),
            target.data_ptr(),
            workspace.partials.data_ptr(),
            workspace.counters.data_ptr(),
            shape,
            form,
            workspace.facts,
            stream,
            overlap,
            (*tuning, least, batch_invariant),
        )
    return out


def streamed_bytes(weight: CudaTiles, rows: int) -> int:
    """Bytes that a product of `rows` activation rows must move: weights, x and out, once each."""
    tiles = padded(weight.rows, 16) * weight.nbytes // padded(weight.rows, 128)
    return tiles + 2 * rows * (weight.cols + weight.rows)
