"""The native program: operations recorded once, fused, replayed by one call without the GIL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hone_engine.kernels.kv_cache import KVCache
from hone_engine.kernels.lazy_torch import torch
from hone_engine.kernels.native import native, physical_cores
from hone_engine.kernels.packed import PackedWeight
from hone_engine.kernels.recorder import Buffer, FloatArray, IntArray, as_int32


def _floats(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float32)


class Program:
    """`Recorder` on the CPU kernels.

    threads: default the physical cores; simd: "scalar", "avx2" or "avx512", default the best (or
    HONE_SIMD). A row's result depends neither on the other rows of its batch, nor on the threads,
    nor on how a prompt was cut into steps; scalar results may differ from the others in rounding.
    """

    def __init__(
        self,
        max_rows: int,
        max_seqs: int,
        max_pages_per_seq: int,
        threads: int | None = None,
        *,
        max_logit_rows: int | None = None,
        simd: str | None = None,
    ) -> None:
        self.max_rows, self.max_seqs = max_rows, max_seqs
        self.max_pages_per_seq = max_pages_per_seq
        self.max_logit_rows = max_seqs if max_logit_rows is None else max_logit_rows
        self.threads = threads or physical_cores()
        limits = (max_rows, max_seqs, max_pages_per_seq, self.max_logit_rows)
        self._program: Any = native().Program(*limits, self.threads, simd or "")
        self._caches: list[KVCache] = []  # their memory is in use for as long as this lives
        self._output: Buffer | None = None

    def buffer(self, cols: int, *, gathered: bool = False) -> Buffer:
        return Buffer(self._program.buffer(cols, gathered), cols, gathered)

    def embed(self, weight: PackedWeight, out: Buffer, *, scale: float = 1.0) -> None:
        if weight.order is not None:
            raise ValueError("weight: got columns in another order, wanted them as they are")
        self._program.embed(weight.handle, out.index, scale)
        self._output = out

    def rms_norm(self, x: Buffer, weight: FloatArray, eps: float, out: Buffer) -> None:
        self._program.rms_norm(x.index, _floats(weight), eps, out.index)
        self._output = out

    def linear(
        self,
        x: Buffer,
        weight: PackedWeight,
        out: Buffer,
        *,
        bias: FloatArray | None = None,
        add: bool = False,
    ) -> None:
        offset = None if bias is None else _floats(bias)
        self._program.linear(x.index, weight.handle, out.index, offset, add, weight.order)
        self._output = out

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
        args = (qkv.index, self._hold(cache), layer, num_heads, _floats(inv_freq), factor)
        self._program.rope_store(*args)
        self._output = qkv

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
        args = (qkv.index, self._hold(cache), layer, out.index, num_heads, scale, window)
        self._program.attention(*args)
        self._output = out

    def swiglu(self, gate_up: Buffer, out: Buffer) -> None:
        self._program.swiglu(gate_up.index, out.index)
        self._output = out

    def add(self, x: Buffer, y: Buffer, out: Buffer) -> None:
        self._program.add(x.index, y.index, out.index)
        self._output = out

    def gather_logits(self, x: Buffer, out: Buffer) -> None:
        self._program.gather(x.index, out.index)
        self._output = out

    def _hold(self, cache: KVCache) -> tuple[Any, ...]:
        if cache not in self._caches:
            self._caches.append(cache)
        return cache.address()

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
        self._program.run(
            as_int32("tokens", tokens),
            as_int32("positions", positions),
            as_int32("seq_of_row", seq_of_row),
            as_int32("page_table", page_table),
            as_int32("context_lens", context_lens),
            as_int32("logit_rows", logit_rows),
        )
        wanted = output or self._output
        if wanted is None:
            return np.zeros((0, 0), np.float32)
        return self._view(wanted, len(logit_rows) if wanted.gathered else len(tokens))

    def _view(self, buffer: Buffer, rows: int) -> FloatArray:
        view: FloatArray = self._program.view(buffer.index, rows)
        return view

    def read(self, buffer: Buffer, rows: int) -> torch.Tensor:
        if not self._program.materialized(buffer.index):
            raise ValueError(f"buffer: got {buffer}, which fusion left without memory")
        return torch.from_numpy(self._view(buffer, rows).copy())

    def write(self, buffer: Buffer, value: torch.Tensor) -> None:
        self._view(buffer, len(value))[:] = value.numpy()

    @property
    def scratch_bytes(self) -> int:
        """Bytes of buffers and of the threads' own memory; 0 before the first run."""
        return int(self._program.scratch_bytes)

    def measure(self, on: bool = True) -> None:
        """Start (anew) or stop timing the stages of every run; costs two clock reads a stage."""
        self._program.measure(on)

    def times(self) -> Sequence[tuple[str, float, float, int]]:
        """(stage, seconds, best seconds, calls) since `measure`, in the order of the program.

        Best: each stage of the name at its shortest, added up; tells more on a busy machine.
        """
        return list(self._program.times())
