"""Rotary position embedding and the store of keys and values into pages, on an NVIDIA GPU."""

import torch

from hone_engine.kernels.cuda_kv_cache import CudaKVCache
from hone_engine.kernels.cuda_kv_codes import rotate
from hone_engine.kernels.cuda_native import cuda_native
from hone_engine.kernels.cuda_rows import CudaRows, check_qkv, current_stream
from hone_engine.kernels.rope import rope_reference


def cuda_rope_store(
    qkv: torch.Tensor,
    cache: CudaKVCache,
    layer: int,
    rows: CudaRows,
    *,
    num_heads: int,
    inv_freq: torch.Tensor,
    factor: float = 1.0,
    overlap: bool = True,
) -> None:
    """Rotate q in place (NeoX halves) and store the rotated k, and v, into the pages of a layer.

    qkv: (R, (num_heads + 2 * kv_heads) * head_dim) fp16 or bf16 on the GPU: q, k, v; k and v are
    left as they are. A quantized cache takes k and v rotated once more (cuda_kv_codes.py), and q is
    rotated likewise, for `cuda_attention`. inv_freq: fp32 (rotary_dim / 2,), an even number of
    them, see `Recorder.rope_store`; none: no rotation. overlap: see `cuda_linear`.
    """
    native = cuda_native()
    width = (num_heads + 2 * cache.num_kv_heads) * cache.head_dim
    check_qkv(qkv, cache, rows, width)
    if inv_freq.dim() != 1 or inv_freq.dtype != torch.float32 or not inv_freq.is_contiguous():
        raise ValueError(
            f"inv_freq: got {inv_freq.dtype} {tuple(inv_freq.shape)}, wanted fp32 (rotary / 2,)"
        )
    if inv_freq.device != qkv.device:
        raise ValueError(f"inv_freq: got device {inv_freq.device}, wanted {qkv.device}")
    table = rows.page_table
    native.rope_store(
        (qkv.data_ptr(), max(qkv.stride(0), width)),
        cache.address(layer),
        (table.data_ptr(), table.shape[1]),
        (rows.positions.data_ptr(), rows.seq_of_row.data_ptr(), qkv.shape[0]),
        (num_heads, inv_freq.data_ptr(), inv_freq.shape[0], factor),
        (qkv.dtype == torch.bfloat16, overlap),
        native.device_of(qkv.device.index or 0),
        current_stream(qkv.device),
    )


def cuda_rope_store_reference(
    qkv: torch.Tensor,
    cache: CudaKVCache,
    layer: int,
    rows: CudaRows,
    *,
    num_heads: int,
    inv_freq: torch.Tensor,
    factor: float = 1.0,
) -> None:
    """What `cuda_rope_store` does, on any device: rounded once, from fp32."""
    width = (num_heads + 2 * cache.num_kv_heads) * cache.head_dim
    heads = qkv[:, :width].view(-1, num_heads + 2 * cache.num_kv_heads, cache.head_dim)
    used = rows.seq_of_row >= 0
    positions = rows.positions[used].long()
    pages = rows.page_table[rows.seq_of_row[used].long(), positions // cache.page_size].long()
    qk = heads[used, : num_heads + cache.num_kv_heads].float()
    qk = rope_reference(qk, positions, inv_freq, factor)
    values = heads[used, num_heads + cache.num_kv_heads :]
    cache.write(layer, pages, positions % cache.page_size, qk[:, num_heads:], values)
    q = qk[:, :num_heads]
    heads[used, :num_heads] = (rotate(q) if cache.bits < 16 else q).to(qkv.dtype)
