"""The interface that layers record a forward pass on, whether native or reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hone_engine.kernels.kv_cache import KVCache
from hone_engine.kernels.packed import PackedWeight

if TYPE_CHECKING:
    import torch

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A fp32 scratch matrix of a program: one row a token, or one row a wanted logit row."""

    index: int
    cols: int
    gathered: bool  # rows are those of `logit_rows`, not those of `tokens`


class Recorder(Protocol):
    """Records operations once, then replays them with `run`.

    Rows are tokens of this step. `R` = rows, `S` = sequences, `n` = wanted logit rows.
    Every operation raises ValueError, naming the argument, when shapes do not fit.
    """

    max_rows: int
    max_seqs: int
    max_pages_per_seq: int
    max_logit_rows: int

    def buffer(self, cols: int, *, gathered: bool = False) -> Buffer:
        """Reserve a fp32 scratch of (max_rows, cols), or (max_logit_rows, cols) if gathered."""

    def embed(self, weight: PackedWeight, out: Buffer, *, scale: float = 1.0) -> None:
        """out[r] = weight[tokens[r]] * scale."""

    def rms_norm(self, x: Buffer, weight: FloatArray, eps: float, out: Buffer) -> None:
        """out = x / sqrt(mean(x^2) + eps) * weight; weight (cols,); x and out may be one buffer."""

    def linear(
        self,
        x: Buffer,
        weight: PackedWeight,
        out: Buffer,
        *,
        bias: FloatArray | None = None,
        add: bool = False,
    ) -> None:
        """out = x @ weight.T (+ bias), or out += that if add; x (R, weight.cols).

        Where the weight has an order of columns, x[:, order] takes the place of x.
        """

    def rope_store(
        self,
        qkv: Buffer,
        cache: KVCache,
        layer: int,
        *,
        num_heads: int,
        inv_freq: FloatArray,
        factor: float = 1.0,
    ) -> None:
        """Rotate q (in place) and k (NeoX halves), then store k and v into the pages of the cache.

        qkv: (R, (num_heads + 2 * kv_heads) * head_dim), q then k then v.
        inv_freq: (rotary_dim / 2,), the angle of pair i at position p is p * inv_freq[i];
        cos and sin are multiplied by `factor` (YaRN's attention factor). rotary_dim <= head_dim.
        """

    def attention(
        self,
        qkv: Buffer,
        cache: KVCache,
        layer: int,
        out: Buffer,
        *,
        num_heads: int,
        scale: float,
        window: int = 0,
    ) -> None:
        """Causal attention of q (first columns of qkv) over the pages of each row's sequence.

        out: (R, num_heads * head_dim). window > 0: a row sees only its latest `window` positions.
        """

    def swiglu(self, gate_up: Buffer, out: Buffer) -> None:
        """out = silu(gate_up[:, :cols]) * gate_up[:, cols:]."""

    def add(self, x: Buffer, y: Buffer, out: Buffer) -> None:
        """out = x + y."""

    def gather_logits(self, x: Buffer, out: Buffer) -> None:
        """out[i] = x[logit_rows[i]]; out must be a gathered buffer of the same columns."""

    def run(
        self,
        tokens: IntArray,
        positions: IntArray,
        seq_of_row: IntArray,
        page_table: IntArray,
        context_lens: IntArray,
        logit_rows: IntArray,
        *,
        output: Buffer | None = None,
    ) -> FloatArray:
        """Run the recorded operations on one batch; return `output` (default: last op's out).

        tokens, positions, seq_of_row: int32 (R,), R <= max_rows. Rows of one sequence are adjacent
        and their positions consecutive, ending at context_lens[s] - 1.
        page_table: int32 (S, <= max_pages_per_seq), pages of each sequence in order;
        context_lens: int32 (S,), tokens of each sequence, this step's included.
        logit_rows: int32 (n,), rows whose gathered results are wanted, n <= max_logit_rows.
        Returns fp32 (n, cols) or (R, cols): a view that the next `run` overwrites.
        """

    def read(self, buffer: Buffer, rows: int) -> torch.Tensor:
        """Copy of the first rows of a buffer, fp32 (rows, cols), for tests and debugging.

        A native program raises ValueError for a buffer that fusion left without memory.
        """

    def write(self, buffer: Buffer, value: torch.Tensor) -> None:
        """Fill the first rows of a buffer, for tests; value (rows, cols)."""


def as_int32(name: str, value: Sequence[int] | IntArray) -> IntArray:
    """Contiguous int32 array of an argument, or ValueError that names it."""
    if isinstance(value, np.ndarray) and value.dtype == np.int32 and value.flags.c_contiguous:
        return value
    array = np.ascontiguousarray(value, dtype=np.int32)
    if not np.can_cast(np.asarray(value).dtype, np.int64) and array.size:
        raise ValueError(f"{name}: got {np.asarray(value).dtype}, wanted int32")
    return array
