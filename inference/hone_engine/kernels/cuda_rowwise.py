"""Work on activation rows between the products on a GPU: norms, gates, sums, embeddings.

Matrices are contiguous; "wide" ones are fp32, the others fp16 or bf16. `picks` (int32) says which
rows of an input make the rows of the result, `order` (int32) which of its columns.
"""

from dataclasses import replace
from typing import Any

import torch

from hone_engine.kernels.cuda_dense import CudaDense, CudaMatrix, CudaTiles
from hone_engine.kernels.cuda_native import cuda_native

Tensor = torch.Tensor


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


class CudaQueue:
    """Where row kernels are launched: a device's current stream, overlapping with what is ahead."""

    def __init__(self, device: torch.device) -> None:
        self.native = cuda_native()
        self.device = device
        self.facts: Any = self.native.device_of(device.index or 0)

    def end(self, overlap: bool = True) -> tuple[Any, int, bool]:
        """The last arguments of every launch."""
        return self.facts, torch.cuda.current_stream(self.device).cuda_stream, overlap


def cuda_norm(
    queue: CudaQueue,
    x: Tensor,
    weight: Tensor,
    eps: float,
    out: Tensor,
    *,
    delta: Tensor | None = None,
    picks: Tensor | None = None,
    order: Tensor | None = None,
    kept: Tensor | None = None,
) -> None:
    """out = v / sqrt(mean(v^2) + eps) * weight with v = x + delta, which goes to `kept` (wide).

    x: (R, cols), wide or of out's type; delta of out's type; weight fp32; kept may be x.
    """
    rows, cols = out.shape
    wide, bf16 = x.dtype == torch.float32, out.dtype == torch.bfloat16
    queue.native.norm(
        x.data_ptr(), wide, _address(delta), _address(picks), weight.data_ptr(), _address(order),
        _address(kept), out.data_ptr(), rows, cols, eps, bf16, *queue.end(),
    )  # fmt: skip


def cuda_norm_reference(
    x: Tensor,
    weight: Tensor,
    eps: float,
    out: Tensor,
    *,
    delta: Tensor | None = None,
    picks: Tensor | None = None,
    order: Tensor | None = None,
    kept: Tensor | None = None,
) -> None:
    """`cuda_norm` in plain torch, on any device."""
    value = x.float() if delta is None else x.float() + delta.float()
    value = value[: out.shape[0]] if picks is None else value[picks.long()]
    if kept is not None:
        kept.copy_(value)
    normed = value * torch.rsqrt(value.pow(2).mean(-1, keepdim=True) + eps) * weight
    out.copy_(normed if order is None else normed[:, order.long()])


def cuda_gated(
    queue: CudaQueue,
    gate_up: Tensor,
    out: Tensor,
    *,
    gelu: bool = False,
    order: Tensor | None = None,
) -> None:
    """out = silu(gate) * up, or gelu (tanh form); gate_up (R, 2 * cols), gate first."""
    rows, cols = out.shape
    bf16 = out.dtype == torch.bfloat16
    places = (gate_up.data_ptr(), _address(order), out.data_ptr())
    queue.native.gated(*places, rows, cols, gelu, bf16, *queue.end())


def cuda_gated_reference(
    gate_up: Tensor, out: Tensor, *, gelu: bool = False, order: Tensor | None = None
) -> None:
    """`cuda_gated` in plain torch, on any device."""
    gate, up = gate_up.float().chunk(2, dim=-1)
    act = torch.nn.functional.gelu(gate, approximate="tanh") if gelu else gate * gate.sigmoid()
    product = act * up
    out.copy_(product if order is None else product[:, order.long()])


def cuda_sum(
    queue: CudaQueue,
    x: Tensor,
    out: Tensor,
    *,
    y: Tensor | None = None,
    bias: Tensor | None = None,
    picks: Tensor | None = None,
    order: Tensor | None = None,
    dtype: torch.dtype = torch.float16,
) -> None:
    """out = x + y + bias, of picked rows and ordered columns; x and out may be one without those.

    x, out: wide or `dtype`; y: `dtype`; bias: fp32 (cols,).
    """
    rows, cols = out.shape
    queue.native.sum_rows(
        x.data_ptr(), x.dtype == torch.float32, _address(y), _address(bias), _address(picks),
        _address(order), out.data_ptr(), out.dtype == torch.float32, rows, cols,
        dtype == torch.bfloat16, *queue.end(),
    )  # fmt: skip


def cuda_sum_reference(
    x: Tensor,
    out: Tensor,
    *,
    y: Tensor | None = None,
    bias: Tensor | None = None,
    picks: Tensor | None = None,
    order: Tensor | None = None,
) -> None:
    """`cuda_sum` in plain torch, on any device."""
    value = x.float()
    if y is not None:
        value = value + y.float()
    if bias is not None:
        value = value + bias
    value = value[: out.shape[0]] if picks is None else value[picks.long()]
    out.copy_(value if order is None else value[:, order.long()])


def cuda_embed(
    queue: CudaQueue,
    weight: CudaMatrix,
    tokens: Tensor,
    latest: Tensor,
    out: Tensor,
    *,
    scale: float = 1.0,
) -> None:
    """out = weight[tokens] * scale, wide; a token -1 - i stands for latest[i]."""
    if isinstance(weight, CudaDense):
        kind, form = str(weight.values.dtype).removeprefix("torch."), (16, 128, False)
        table = weight.values.data_ptr()
    else:
        kind, form = "tiles", weight.form
        table = weight.tiles.data_ptr()
    rows, cols = out.shape
    places = (tokens.data_ptr(), latest.data_ptr(), out.data_ptr())
    queue.native.embed(table, kind, *form, *places, rows, cols, weight.rows, scale, *queue.end())


def cuda_embed_reference(
    weight: CudaMatrix, tokens: Tensor, latest: Tensor, out: Tensor, *, scale: float = 1.0
) -> None:
    """`cuda_embed` in plain torch, on any device."""
    known = torch.where(tokens < 0, latest[(-1 - tokens.long()).clamp_min(0)], tokens)
    out.copy_(weight.dequantize()[known.long()] * scale)


def cuda_dequantize(queue: CudaQueue, weight: CudaTiles, first: int, out: Tensor) -> None:
    """out (rows, cols), fp16 or bf16: rows of the weight from `first`, a multiple of 16."""
    form = (*weight.form, weight.native_runs, weight.cols)
    bf16 = out.dtype == torch.bfloat16
    queue.native.dequantize(
        weight.tiles.data_ptr(), *form, first, out.shape[0], out.data_ptr(), bf16, *queue.end()
    )


def with_wide_copy(weight: CudaMatrix, dtype: torch.dtype) -> CudaMatrix:
    """The weight with a copy of itself in 16 bits beside its tiles; a dense one as it is."""
    if isinstance(weight, CudaDense):
        return weight
    device = weight.tiles.device
    wide = torch.empty(weight.rows, weight.cols, dtype=dtype, device=device)
    if device.type == "cuda":
        cuda_dequantize(CudaQueue(device), weight, 0, wide)
        torch.cuda.synchronize(device)
    else:
        wide.copy_(weight.dequantize())
    return replace(weight, wide=wide)
