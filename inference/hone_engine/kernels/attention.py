"""Causal grouped-query attention over a paged cache."""

import torch

from hone_engine.kernels.kv_cache import KVCache


def attention_reference(
    q: torch.Tensor,
    cache: KVCache,
    layer: int,
    positions: torch.Tensor,
    seq_of_row: torch.Tensor,
    page_table: torch.Tensor,
    *,
    scale: float,
    window: int = 0,
) -> torch.Tensor:
    """fp32 (R, heads, head_dim): softmax(q k^T * scale) v over positions <= the row's own.

    q: (R, heads, head_dim); heads is a multiple of the cache's kv_heads. window > 0 keeps only the
    latest `window` positions.
    """
    out = torch.empty_like(q)
    repeat = q.shape[1] // cache.num_kv_heads
    for row, (position, seq) in enumerate(
        zip(positions.tolist(), seq_of_row.tolist(), strict=True)
    ):
        num_pages = position // cache.page_size + 1
        keys, values = cache.read(layer, page_table[seq, :num_pages].long(), position + 1)
        start = max(0, position + 1 - window) if window else 0
        k = keys[start:].repeat_interleave(repeat, dim=1)  # (length, heads, head_dim)
        v = values[start:].repeat_interleave(repeat, dim=1)
        weights = torch.softmax(torch.einsum("hd,lhd->hl", q[row], k) * scale, dim=-1)
        out[row] = torch.einsum("hl,lhd->hd", weights, v)
    return out
