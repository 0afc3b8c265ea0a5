"""A program in plain torch: every operation by its reference. Slow, and right by inspection."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from hone_engine.kernels.attention import attention_reference
from hone_engine.kernels.embed import embed_reference
from hone_engine.kernels.kv_cache import KVCache
from hone_engine.kernels.linear import linear_reference
from hone_engine.kernels.packed import PackedWeight
from hone_engine.kernels.recorder import Buffer, FloatArray, IntArray, as_int32
from hone_engine.kernels.rms_norm import rms_norm_reference
from hone_engine.kernels.rope import rope_reference, store_reference
from hone_engine.kernels.swiglu import swiglu_reference


@dataclass(slots=True)
class _Batch:
    tokens: torch.Tensor
    positions: torch.Tensor
    seq_of_row: torch.Tensor
    page_table: torch.Tensor
    logit_rows: torch.Tensor


class ReferenceProgram:
    """`Recorder` in plain torch; int8=True rounds activations as the native products do."""

    def __init__(
        self,
        max_rows: int,
        max_seqs: int,
        max_pages_per_seq: int,
        threads: int | None = None,
        *,
        max_logit_rows: int | None = None,
        int8: bool = False,
    ) -> None:
        self.max_rows, self.max_seqs = max_rows, max_seqs
        self.max_pages_per_seq = max_pages_per_seq
        self.max_logit_rows = max_seqs if max_logit_rows is None else max_logit_rows
        self._int8 = int8
        self._values: list[torch.Tensor] = []
        self._ops: list[Callable[[_Batch], None]] = []
        self._output: Buffer | None = None

    def buffer(self, cols: int, *, gathered: bool = False) -> Buffer:
        self._values.append(torch.zeros(0, cols))
        return Buffer(len(self._values) - 1, cols, gathered)

    def _record(self, out: Buffer, op: Callable[[_Batch], torch.Tensor]) -> None:
        self._output = out

        def step(batch: _Batch) -> None:
            self._values[out.index] = op(batch)

        self._ops.append(step)

    def _at(self, buffer: Buffer) -> torch.Tensor:
        return self._values[buffer.index]

    def embed(self, weight: PackedWeight, out: Buffer, *, scale: float = 1.0) -> None:
        self._record(out, lambda b: embed_reference(b.tokens, weight, scale))

    def rms_norm(self, x: Buffer, weight: FloatArray, eps: float, out: Buffer) -> None:
        scale = torch.as_tensor(weight)
        self._record(out, lambda b: rms_norm_reference(self._at(x), scale, eps))

    def linear(
        self,
        x: Buffer,
        weight: PackedWeight,
        out: Buffer,
        *,
        bias: FloatArray | None = None,
        add: bool = False,
    ) -> None:
        if x.cols != weight.cols or out.cols != weight.rows:
            raise ValueError(
                f"weight: got ({weight.rows}, {weight.cols}), wanted ({out.cols}, {x.cols})"
            )

        offset = None if bias is None else torch.as_tensor(bias)

        def product(_: _Batch) -> torch.Tensor:
            y = linear_reference(self._at(x), weight, offset, int8=self._int8)
            return self._at(out) + y if add else y

        self._record(out, product)

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
        kv_heads, head_dim = cache.num_kv_heads, cache.head_dim
        frequencies = torch.as_tensor(inv_freq)

        def rotate(b: _Batch) -> torch.Tensor:
            heads = self._at(qkv).view(-1, num_heads + 2 * kv_heads, head_dim)
            qk, v = heads[:, : num_heads + kv_heads], heads[:, num_heads + kv_heads :]
            qk = rope_reference(qk, b.positions, frequencies, factor)
            store_reference(
                cache, layer, qk[:, num_heads:], v, b.positions, b.seq_of_row, b.page_table
            )
            return torch.cat((qk, v), dim=1).flatten(1)

        self._record(qkv, rotate)

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
        def attend(b: _Batch) -> torch.Tensor:
            width = num_heads * cache.head_dim
            q = self._at(qkv)[:, :width].view(-1, num_heads, cache.head_dim)
            places = (b.positions, b.seq_of_row, b.page_table)
            y = attention_reference(q, cache, layer, *places, scale=scale, window=window)
            return y.flatten(1)

        self._record(out, attend)

    def swiglu(self, gate_up: Buffer, out: Buffer) -> None:
        self._record(out, lambda b: swiglu_reference(self._at(gate_up)))

    def add(self, x: Buffer, y: Buffer, out: Buffer) -> None:
        self._record(out, lambda b: self._at(x) + self._at(y))

    def gather_logits(self, x: Buffer, out: Buffer) -> None:
        self._record(out, lambda b: self._at(x)[b.logit_rows.long()])

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
        names = ("tokens", "positions", "seq_of_row", "page_table", "logit_rows")
        given = (tokens, positions, seq_of_row, page_table, logit_rows)
        arrays = [as_int32(n, v) for n, v in zip(names, given, strict=True)]
        batch = _Batch(*(torch.from_numpy(a) for a in arrays))
        if len(tokens) > self.max_rows:
            raise ValueError(f"tokens: got {len(tokens)} rows, wanted at most {self.max_rows}")
        for op in self._ops:
            op(batch)
        wanted = output or self._output
        found: FloatArray = (torch.zeros(0, 0) if wanted is None else self._at(wanted)).numpy()
        return found

    def read(self, buffer: Buffer, rows: int) -> torch.Tensor:
        return self._at(buffer)[:rows].clone()

    def write(self, buffer: Buffer, value: torch.Tensor) -> None:
        self._values[buffer.index] = value.float().clone()
