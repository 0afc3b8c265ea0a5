"""Steps of sequences over a paged cache with random contents, and how far results may differ."""

from dataclasses import dataclass

import torch

from hone_engine.kernels.cuda_attention import (
    CudaAttentionWorkspace,
    cuda_attention,
    cuda_attention_reference,
)
from hone_engine.kernels.cuda_kv_cache import CACHE_DTYPES, CudaKVCache
from hone_engine.kernels.cuda_rows import CudaRows, cuda_rows

LAYER = 1


@dataclass(frozen=True, slots=True)
class Heads:
    """Query heads, heads of the cache, numbers of a head."""

    query: int
    kv: int
    dim: int

    @property
    def cols(self) -> int:
        """Columns of q, k and v side by side."""
        return (self.query + 2 * self.kv) * self.dim


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what attention reads, and where it works."""

    heads: Heads
    qkv: torch.Tensor
    cache: CudaKVCache
    rows: CudaRows
    workspace: CudaAttentionWorkspace | None


def filled_cache(
    heads: Heads, num_pages: int, page: int, dtype: str, device: torch.device
) -> CudaKVCache:
    """Two layers of random pages, so that a wrong layer or page is seen."""
    cache = CudaKVCache(num_pages, page, 2, heads.kv, heads.dim, dtype, device=device)
    tokens = torch.arange(num_pages * page, device=device)
    for layer in range(2):
        shape = (len(tokens), heads.kv, heads.dim)
        keys, values = torch.randn(shape, device=device), torch.randn(shape, device=device)
        cache.write(layer, tokens // page, tokens % page, keys, values)
    return cache


def make_step(
    heads: Heads,
    lengths: list[int],
    new: list[int],
    *,
    page: int = 256,
    dtype: str = "fp16",
    kind: torch.dtype = torch.float16,
    device: torch.device,
    scratch: bool = True,
) -> Step:
    """Sequences of `lengths` tokens, the latest `new` of which are this step's rows.

    kind: the activations' dtype over a quantized cache.

    Pages of all sequences are mixed, and each sequence's last has tokens after its end.
    """
    needed = [-(-n // page) for n in lengths]
    num_pages = max(1, sum(needed))
    order = torch.randperm(num_pages).tolist()
    table = torch.zeros(len(lengths), max([1, *needed]), dtype=torch.int32)
    for seq, count in enumerate(needed):
        for place in range(count):
            table[seq, place] = order.pop()
    cache = filled_cache(heads, num_pages, page, dtype, device)
    rows = cuda_rows(lengths, new, table, device=device)
    kind = CACHE_DTYPES.get(dtype, kind)
    qkv = torch.randn(sum(new), heads.cols, device=device).to(kind)
    workspace = None
    if scratch:
        seqs = max(1, len(lengths))
        workspace = CudaAttentionWorkspace(device, seqs, heads.query, heads.kv, heads.dim)
        workspace.partials.fill_(float("nan"))
    return Step(heads, qkv, cache, rows, workspace)


def attend(step: Step, **more) -> torch.Tensor:
    """The kernels' result of a step, over an output that was NaN; counters are zeros afterwards."""
    heads, workspace = step.heads, step.workspace
    assert workspace is not None
    out = torch.full((len(step.qkv), heads.query * heads.dim), float("nan"), device=step.qkv.device)
    out = out.to(step.qkv.dtype)
    given = {"num_heads": heads.query, "scale": 1.5 * heads.dim**-0.5} | more
    cuda_attention(step.qkv, step.cache, LAYER, step.rows, workspace, out, **given)
    assert not workspace.counters.any()
    return out


def wanted(step: Step, **more) -> torch.Tensor:
    """The reference's result of a step."""
    heads = step.heads
    given = {"num_heads": heads.query, "scale": 1.5 * heads.dim**-0.5} | more
    return cuda_attention_reference(step.qkv, step.cache, LAYER, step.rows, **given)


def close(got: torch.Tensor, reference: torch.Tensor, slack: float = 1.0) -> None:
    """Within the rounding of weights and outputs (half a unit is 2^-12 of fp16, 2^-9 of bf16).

    slack 2: of keys and values too, which the reference leaves in fp32 when they were codes.
    """
    assert got.shape == reference.shape
    assert torch.isfinite(got).all()
    error = (got.float() - reference).norm().item() / (reference.norm().item() + 1e-9)
    assert error < slack * (1e-3 if got.dtype == torch.float16 else 8e-3), error
    for mine, true in zip(got.float(), reference, strict=True):
        worst = ((mine - true).abs().max() / (true.abs().max() + 1e-9)).item()
        assert worst < slack * (4e-3 if got.dtype == torch.float16 else 3e-2), worst


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two results are equal bit by bit."""
    return torch.equal(a.contiguous().view(torch.int16), b.contiguous().view(torch.int16))
