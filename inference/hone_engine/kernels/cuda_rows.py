"""Where the rows of a step stand, on the GPU."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from hone_engine.kernels.cuda_kv_cache import CACHE_DTYPES, CudaKVCache
from hone_engine.kernels.cuda_native import cuda_native


@dataclass(frozen=True, slots=True)
class CudaRows:
    """Rows of a step and the pages of their sequences: contiguous int32 on one device.

    R rows, S sequences; what a captured graph replays refills these tensors in place.
    positions: (R,). seq_of_row: (R,), negative for a row that only fills a batch up.
    page_table: (S, pages), of each sequence in order. context_lens: (S,), this step's tokens
    included. first_rows: (S + 1,), rows first_rows[s] to first_rows[s + 1] - 1 are the latest
    tokens of sequence s; none for a sequence that only fills up.
    """

    positions: torch.Tensor
    seq_of_row: torch.Tensor
    page_table: torch.Tensor
    context_lens: torch.Tensor
    first_rows: torch.Tensor

    def __post_init__(self) -> None:
        seqs = self.page_table.shape[0]
        wanted = {
            "positions": (self.positions.shape[0],),
            "seq_of_row": (self.positions.shape[0],),
            "page_table": (seqs, self.page_table.shape[-1]),
            "context_lens": (seqs,),
            "first_rows": (seqs + 1,),
        }
        for name, shape in wanted.items():
            tensor = getattr(self, name)
            if tuple(tensor.shape) != shape or tensor.dtype != torch.int32:
                raise ValueError(
                    f"{name}: got {tensor.dtype} {tuple(tensor.shape)}, wanted int32 {shape}"
                )
            if not tensor.is_contiguous() or tensor.device != self.positions.device:
                raise ValueError(
                    f"{name}: got strides {tensor.stride()} on {tensor.device}, wanted contiguous"
                    f" on {self.positions.device}"
                )


def cuda_rows(
    lengths: Sequence[int],
    new: Sequence[int],
    page_table: torch.Tensor,
    *,
    device: torch.device | str = "cuda",
) -> CudaRows:
    """Rows of the latest `new` tokens of sequences that hold `lengths` tokens, these included."""
    positions = [p for n, k in zip(lengths, new, strict=True) for p in range(n - k, n)]
    seq_of_row = [s for s, k in enumerate(new) for _ in range(k)]
    first_rows = [sum(new[:s]) for s in range(len(new) + 1)]
    arrays = (positions, seq_of_row, list(lengths), first_rows)
    made = [torch.tensor(a, dtype=torch.int32, device=device) for a in arrays]
    table = page_table.to(device=device, dtype=torch.int32).contiguous()
    return CudaRows(made[0], made[1], table, made[2], made[3])


def check_qkv(qkv: torch.Tensor, cache: CudaKVCache, rows: CudaRows, least_cols: int) -> None:
    """Raise ValueError, naming the argument, unless qkv, the cache and the rows fit together."""
    if qkv.dtype not in CACHE_DTYPES.values():
        raise ValueError(f"qkv: got {qkv.dtype}, wanted float16 or bfloat16")
    if qkv.dim() != 2 or qkv.shape[1] < least_cols or qkv.stride(1) != 1:
        raise ValueError(
            f"qkv: got shape {tuple(qkv.shape)}, wanted (rows, {least_cols} or more) in rows"
        )
    if cache.bits < 16 and cache.bits not in cuda_native().CACHE_BITS:
        raise ValueError(f"cache: got {cache.dtype}, wanted fp16 or bf16 with this _cuda extension")
    if cache.bits == 16 and cache.keys.dtype != qkv.dtype:
        raise ValueError(f"cache: got {cache.dtype}, wanted that of qkv, {qkv.dtype}")
    if rows.positions.shape[0] != qkv.shape[0]:
        raise ValueError(f"rows: got {rows.positions.shape[0]} positions, wanted {qkv.shape[0]}")
    devices = {qkv.device, cache.device, rows.positions.device}
    if len(devices) > 1:
        raise ValueError(f"qkv, cache, rows: got devices {devices}, wanted one")


def current_stream(device: torch.device) -> int:
    """Address of the stream that torch uses on a device; 0 where it is no GPU."""
    return int(torch.cuda.current_stream(device).cuda_stream) if device.type == "cuda" else 0
