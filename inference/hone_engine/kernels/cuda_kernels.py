"""The operations a program on a GPU is made of: native, or by reference on any device."""

from typing import Any, Protocol

import torch

from hone_engine.kernels import cuda_rowwise, cuda_sample
from hone_engine.kernels.cuda_attention import (
    CudaAttentionWorkspace,
    cuda_attention,
    cuda_attention_reference,
)
from hone_engine.kernels.cuda_dense import CudaDense, CudaMatrix, CudaTiles
from hone_engine.kernels.cuda_inputs import DeviceStep
from hone_engine.kernels.cuda_kv_cache import CudaKVCache
from hone_engine.kernels.cuda_linear import MAX_ROWS, CudaWorkspace, cuda_linear
from hone_engine.kernels.cuda_rope import cuda_rope_store, cuda_rope_store_reference

Tensor = torch.Tensor

# From here on the 16-bit copy of a weight, if there is one, is faster. At 33 to 64 rows products by
# warpgroups gave 13,007 tok/s, the copy 11,078 (H200, 64 streams of an 8B model in 4 bits).
WIDE_ROWS = MAX_ROWS + 1
DENSE_BYTES = 128 << 20  # of weights written out for a product of many rows
# From so many sequences on, and contexts longer than this, parts of 512 tokens cost 3 % less than
# the 256 that fill a GPU with one sequence (H200, 64 of 4,096: 282 us, not 291).
MANY_SEQS, LONG_CONTEXT = 16, 1024


class Kernels(Protocol):
    """Arguments as in `cuda_rowwise`, `cuda_attention`, `cuda_sample`; results go to `out`."""

    def embed(
        self, weight: CudaMatrix, tokens: Tensor, latest: Tensor, out: Tensor, scale: float
    ) -> None: ...
    def norm(self, x: Tensor, weight: Tensor, eps: float, out: Tensor, **more: Any) -> None: ...
    def gated(self, gate_up: Tensor, out: Tensor) -> None: ...
    def sum(self, x: Tensor, out: Tensor, **more: Any) -> None: ...
    def linear(self, x: Tensor, weight: CudaMatrix, out: Tensor) -> None: ...
    def rope_store(
        self, qkv: Tensor, cache: CudaKVCache, layer: int, step: DeviceStep, **more: Any
    ) -> None: ...
    def attention(
        self, qkv: Tensor, cache: CudaKVCache, layer: int, step: DeviceStep, out: Tensor,
        **more: Any,
    ) -> None: ...  # fmt: skip
    def sample(
        self, logits: Tensor, settings: Tensor, counts: Tensor, tokens: Tensor, biases: Tensor
    ) -> None: ...
    def logprobs(
        self, logits: Tensor, settings: Tensor, tokens: Tensor, width: int
    ) -> tuple[Tensor, Tensor, Tensor]: ...


class CudaKernels:
    """The native ones, with the scratch that they share: one stream at a time.

    batch_invariant: a row's bits do not depend on how many rows there are. Products then take one
    path whatever their number, attention parts of one size.
    """

    def __init__(
        self,
        device: torch.device,
        dtype: torch.dtype,
        max_seqs: int,
        *,
        batch_invariant: bool = False,
    ) -> None:
        self.device, self.dtype, self._max_seqs = device, dtype, max_seqs
        self._invariant = batch_invariant
        self._queue = cuda_rowwise.CudaQueue(device)
        self._workspace = CudaWorkspace(device)
        self._dense: Tensor | None = None
        self._attention: CudaAttentionWorkspace | None = None
        self._wide_mm = _has_wide_mm(device, dtype)

    def embed(
        self, weight: CudaMatrix, tokens: Tensor, latest: Tensor, out: Tensor, scale: float
    ) -> None:
        cuda_rowwise.cuda_embed(self._queue, weight, tokens, latest, out, scale=scale)

    def norm(self, x: Tensor, weight: Tensor, eps: float, out: Tensor, **more: Any) -> None:
        cuda_rowwise.cuda_norm(self._queue, x, weight, eps, out, **more)

    def gated(self, gate_up: Tensor, out: Tensor) -> None:
        cuda_rowwise.cuda_gated(self._queue, gate_up, out)

    def sum(self, x: Tensor, out: Tensor, **more: Any) -> None:
        cuda_rowwise.cuda_sum(self._queue, x, out, dtype=self.dtype, **more)

    def linear(self, x: Tensor, weight: CudaMatrix, out: Tensor) -> None:
        """Few rows stream the quantized weight; many take it in pieces written out in 16 bits."""
        if self._invariant:
            self._fixed(x, weight, out)
        elif isinstance(weight, CudaDense):
            self._product(x, weight.values, out)
        elif weight.wide is not None and x.shape[0] >= WIDE_ROWS:
            self._product(x, weight.wide, out)
        elif x.shape[0] <= MAX_ROWS:
            cuda_linear(x, weight, self._workspace, out)
        else:
            self._by_pieces(x, weight, out)

    def _fixed(self, x: Tensor, weight: CudaMatrix, out: Tensor) -> None:
        """By one kernel for any number of rows; 16-bit weights in products of 64 rows, padded."""
        if not isinstance(weight, CudaDense):
            cuda_linear(x, weight, self._workspace, out, batch_invariant=True)
            return
        for first in range(0, x.shape[0], MAX_ROWS):
            part, target = x[first : first + MAX_ROWS], out[first : first + MAX_ROWS]
            if part.shape[0] == MAX_ROWS:
                self._product(part, weight.values, target)
                continue
            padded = x.new_zeros(MAX_ROWS, x.shape[1])
            padded[: part.shape[0]] = part
            whole = out.new_empty(MAX_ROWS, out.shape[1])
            self._product(padded, weight.values, whole)
            target.copy_(whole[: part.shape[0]])

    def _by_pieces(self, x: Tensor, weight: CudaTiles, out: Tensor) -> None:
        if self._dense is None:
            self._dense = torch.empty(DENSE_BYTES // 2, dtype=self.dtype, device=self.device)
        most = max(16, self._dense.numel() // weight.cols // 128 * 128)
        for first in range(0, weight.rows, most):
            rows = min(most, weight.rows - first)
            piece = self._dense[: rows * weight.cols].view(rows, weight.cols)
            cuda_rowwise.cuda_dequantize(self._queue, weight, first, piece)
            self._product(x, piece, out[:, first : first + rows])

    def _product(self, x: Tensor, weight: Tensor, out: Tensor) -> None:
        if out.dtype == x.dtype:
            torch.mm(x, weight.t(), out=out)
        elif self._wide_mm:
            torch.ops.aten.mm.dtype_out(x, weight.t(), out.dtype, out=out)
        else:
            out.copy_(torch.mm(x, weight.t()))

    def rope_store(
        self, qkv: Tensor, cache: CudaKVCache, layer: int, step: DeviceStep, **more: Any
    ) -> None:
        cuda_rope_store(qkv, cache, layer, step.rows, **more)

    def attention(
        self, qkv: Tensor, cache: CudaKVCache, layer: int, step: DeviceStep, out: Tensor,
        **more: Any,
    ) -> None:  # fmt: skip
        if self._attention is None:
            heads = (more["num_heads"], cache.num_kv_heads, cache.head_dim)
            self._attention = CudaAttentionWorkspace(self.device, self._max_seqs, *heads)
        many = step.rows.page_table.shape[0] >= MANY_SEQS and step.max_context > LONG_CONTEXT
        many = many and not self._invariant
        cuda_attention(
            qkv, cache, layer, step.rows, self._attention, out, max_context=step.max_context,
            decode=step.decode, prefill_rows=step.prefill_rows, split=512 if many else 256, **more,
        )  # fmt: skip

    def sample(
        self, logits: Tensor, settings: Tensor, counts: Tensor, tokens: Tensor, biases: Tensor
    ) -> None:
        cuda_sample.cuda_sample(self._queue, logits, settings, counts, tokens, biases)

    def logprobs(
        self, logits: Tensor, settings: Tensor, tokens: Tensor, width: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        return cuda_sample.cuda_logprobs(self._queue, logits, settings, tokens, width)


def _has_wide_mm(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether this torch multiplies 16-bit matrices into fp32."""
    x, out = torch.zeros(16, 16, dtype=dtype, device=device), torch.zeros(16, 16, device=device)
    try:
        torch.ops.aten.mm.dtype_out(x, x.t(), torch.float32, out=out)
    except (RuntimeError, AttributeError, TypeError):
        return False
    return True


class ReferenceKernels:
    """The references: they run where there is no GPU, and say what is right where there is."""

    def embed(
        self, weight: CudaMatrix, tokens: Tensor, latest: Tensor, out: Tensor, scale: float
    ) -> None:
        cuda_rowwise.cuda_embed_reference(weight, tokens, latest, out, scale=scale)

    def norm(self, x: Tensor, weight: Tensor, eps: float, out: Tensor, **more: Any) -> None:
        cuda_rowwise.cuda_norm_reference(x, weight, eps, out, **more)

    def gated(self, gate_up: Tensor, out: Tensor) -> None:
        cuda_rowwise.cuda_gated_reference(gate_up, out)

    def sum(self, x: Tensor, out: Tensor, **more: Any) -> None:
        cuda_rowwise.cuda_sum_reference(x, out, **more)

    def linear(self, x: Tensor, weight: CudaMatrix, out: Tensor) -> None:
        # In 64 bits: once rounded, a row does not depend on how many others there are.
        out.copy_(x.double() @ weight.dequantize().double().T)

    def rope_store(
        self, qkv: Tensor, cache: CudaKVCache, layer: int, step: DeviceStep, **more: Any
    ) -> None:
        cuda_rope_store_reference(qkv, cache, layer, step.rows, **more)

    def attention(
        self, qkv: Tensor, cache: CudaKVCache, layer: int, step: DeviceStep, out: Tensor,
        **more: Any,
    ) -> None:  # fmt: skip
        real = (step.rows.seq_of_row >= 0).nonzero()[:, 0]
        result = cuda_attention_reference(qkv, cache, layer, step.rows, **more)
        out[real] = result[real].to(out.dtype)

    def sample(
        self, logits: Tensor, settings: Tensor, counts: Tensor, tokens: Tensor, biases: Tensor
    ) -> None:
        cuda_sample.cuda_sample_reference(logits, settings, counts, tokens, biases)

    def logprobs(
        self, logits: Tensor, settings: Tensor, tokens: Tensor, width: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        return cuda_sample.cuda_logprobs_reference(logits, settings, tokens, width)
