"""Attention over a paged cache on an NVIDIA GPU; the store of keys and values: cuda_rope.py."""

from typing import Any

import torch

from hone_engine.kernels.cuda_kv_cache import CudaKVCache
from hone_engine.kernels.cuda_kv_codes import rotate
from hone_engine.kernels.cuda_native import cuda_native
from hone_engine.kernels.cuda_rows import CudaRows, check_qkv, current_stream


class CudaAttentionWorkspace:
    """Scratch of the attention of one stream: partial results, and counters that stay zero.

    Serves any step of at most max_seqs sequences. Two streams that run at once need one each.
    """

    def __init__(
        self,
        device: torch.device,
        max_seqs: int,
        num_heads: int,
        num_kv_heads: int,
        head_dim: int,
    ) -> None:
        self.native = cuda_native()
        self.device, self.max_seqs = device, max_seqs
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.facts: Any = self.native.device_of(device.index or 0)
        floats = self.native.attention_floats(max_seqs, num_heads, head_dim)
        tiles = num_kv_heads * self.native.head_tiles(num_heads, num_kv_heads)
        self.partials = torch.empty(floats, dtype=torch.float32, device=device)
        self.counters = torch.zeros(max_seqs * tiles, dtype=torch.int32, device=device)
        if self.partials.is_cuda:
            torch.cuda.synchronize(device)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self.partials.nbytes + self.counters.nbytes


def _check_rest(
    qkv: torch.Tensor,
    rows: CudaRows,
    workspace: CudaAttentionWorkspace,
    out: torch.Tensor,
    num_heads: int,
    cache: CudaKVCache,
) -> None:
    cols = num_heads * cache.head_dim
    if tuple(out.shape) != (qkv.shape[0], cols) or out.dtype != qkv.dtype or out.stride(-1) != 1:
        raise ValueError(
            f"out: got {out.dtype} {tuple(out.shape)}, wanted {qkv.dtype} {(qkv.shape[0], cols)}"
        )
    made_for = (workspace.num_heads, workspace.num_kv_heads, workspace.head_dim)
    wanted = (num_heads, cache.num_kv_heads, cache.head_dim)
    seqs = rows.page_table.shape[0]
    if made_for != wanted or seqs > workspace.max_seqs:
        raise ValueError(
            f"workspace: got one of {workspace.max_seqs} sequences and heads {made_for}, wanted"
            f" {seqs} or more and {wanted}"
        )
    devices = {qkv.device, out.device, workspace.device}
    if len(devices) > 1:
        raise ValueError(f"qkv, out, workspace: got devices {devices}, wanted one")


def cuda_attention(
    qkv: torch.Tensor,
    cache: CudaKVCache,
    layer: int,
    rows: CudaRows,
    workspace: CudaAttentionWorkspace,
    out: torch.Tensor | None = None,
    *,
    num_heads: int,
    scale: float,
    window: int = 0,
    softcap: float = 0.0,
    max_context: int | None = None,
    decode: bool = True,
    prefill_rows: int | None = None,
    split: int = 256,
    overlap: bool = True,
) -> torch.Tensor:
    """Causal attention of q, the first num_heads * head_dim columns of qkv; always the same bits.

    qkv: (R, …) fp16 or bf16 on the GPU, as `cuda_rope_store` left it. Returns (R, num_heads *
    head_dim) in its dtype; rows of no sequence are not written. window > 0: a row sees its latest
    `window` positions only. softcap > 0: scores become softcap * tanh(score / softcap). Nothing
    waits for the GPU.

    Bounds for the sizes of launches, which a captured graph keeps: max_context, of context_lens
    (default: what the page table holds); decode: whether a sequence may have one row; prefill_rows,
    of rows in sequences of several (default: all). split: tokens, a multiple of 64, of a partial
    result of a sequence of one row; its bits depend on its position, window and split alone. Those
    of other rows depend on position and window alone. overlap: see `cuda_linear`.
    """
    width = num_heads * cache.head_dim
    if out is None:
        out = torch.empty(qkv.shape[0], width, dtype=qkv.dtype, device=qkv.device)
    check_qkv(qkv, cache, rows, width)
    _check_rest(qkv, rows, workspace, out, num_heads, cache)
    table = rows.page_table
    capacity = table.shape[1] * cache.page_size
    all_rows = qkv.shape[0] if prefill_rows is None else prefill_rows
    workspace.native.attention(
        (qkv.data_ptr(), max(qkv.stride(0), width)),
        (out.data_ptr(), max(out.stride(0), width)),
        cache.address(layer),
        (table.data_ptr(), table.shape[1]),
        (rows.context_lens.data_ptr(), rows.first_rows.data_ptr(), table.shape[0]),
        (num_heads, window, scale, softcap, split),
        (workspace.partials.data_ptr(), workspace.counters.data_ptr()),
        (
            qkv.dtype == torch.bfloat16,
            capacity if max_context is None else min(max_context, capacity),
            decode and qkv.shape[0] > 0,
            all_rows,
            overlap,
        ),
        workspace.facts,
        current_stream(qkv.device),
    )
    return out


def cuda_attention_reference(
    qkv: torch.Tensor,
    cache: CudaKVCache,
    layer: int,
    rows: CudaRows,
    *,
    num_heads: int,
    scale: float,
    window: int = 0,
    softcap: float = 0.0,
) -> torch.Tensor:
    """fp32 (R, num_heads * head_dim): what `cuda_attention` computes, on any device."""
    q = qkv[:, : num_heads * cache.head_dim].float().view(-1, num_heads, cache.head_dim)
    if cache.bits < 16:  # as `cuda_rope_store` leaves it
        q = rotate(q)
    out = torch.zeros_like(q)
    firsts, lengths = rows.first_rows.tolist(), rows.context_lens.tolist()
    for seq, length in enumerate(lengths):
        own = slice(firsts[seq], firsts[seq + 1])
        count = own.stop - own.start
        if not count:
            continue
        pages = rows.page_table[seq, : -(-length // cache.page_size)].long()
        keys, values = cache.read(layer, pages, length)
        repeat = num_heads // cache.num_kv_heads
        keys, values = (t.repeat_interleave(repeat, dim=1) for t in (keys, values))
        scores = torch.einsum("qhd,khd->hqk", q[own], keys) * scale
        if softcap > 0:
            scores = softcap * torch.tanh(scores / softcap)
        places = torch.arange(length, device=q.device)
        ages = places[-count:, None] - places[None, :]
        hidden = (ages < 0) | (ages >= window) if window > 0 else ages < 0
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        out[own] = torch.einsum("hqk,khd->qhd", weights, values)
    return out.flatten(1)
