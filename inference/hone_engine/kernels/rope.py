"""Rotary position embedding (NeoX halves) and the store of keys and values into pages."""

import torch

from hone_engine.kernels.kv_cache import KVCache


def rope_reference(
    x: torch.Tensor, positions: torch.Tensor, inv_freq: torch.Tensor, factor: float = 1.0
) -> torch.Tensor:
    """Rotate (R, heads, head_dim): pair (i, i + rotary/2) by positions * inv_freq[i] (Su, 2021)."""
    half = inv_freq.shape[0]
    angle = positions.float()[:, None] * inv_freq.float()[None, :]
    cos, sin = (angle.cos() * factor)[:, None], (angle.sin() * factor)[:, None]
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat((first * cos - second * sin, second * cos + first * sin, rest), dim=-1)


def store_reference(
    cache: KVCache,
    layer: int,
    keys: torch.Tensor,
    values: torch.Tensor,
    positions: torch.Tensor,
    seq_of_row: torch.Tensor,
    page_table: torch.Tensor,
) -> None:
    """Store keys and values (R, kv_heads, head_dim) at the place of each row's position."""
    for row, (position, seq) in enumerate(
        zip(positions.tolist(), seq_of_row.tolist(), strict=True)
    ):
        page = int(page_table[seq, position // cache.page_size])
        cache.write(layer, page, position % cache.page_size, keys[row], values[row])
