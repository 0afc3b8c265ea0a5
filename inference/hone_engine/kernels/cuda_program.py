"""A program on a GPU: recorded as on the CPU, fused, run on batches whose numbers stay there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from hone_engine.kernels.cuda_dense import CudaMatrix
from hone_engine.kernels.cuda_inputs import DeviceStep, HostStep, StepInputs, StepShape
from hone_engine.kernels.cuda_kernels import CudaKernels, Kernels
from hone_engine.kernels.cuda_kv_cache import CudaKVCache
from hone_engine.kernels.cuda_stages import Stage, Stages
from hone_engine.kernels.recorder import Buffer, FloatArray, IntArray, as_int32


class CudaProgram:
    """`Recorder` on the CUDA kernels; activations in `dtype`, the residual stream in fp32.

    kernels: what computes, by default the native ones. `run` is the interface of all programs and
    copies its result to the host; a runner calls `open`, `send` and `launch`, which do not wait.
    """

    def __init__(
        self,
        max_rows: int,
        max_seqs: int,
        max_pages_per_seq: int,
        *,
        max_logit_rows: int | None = None,
        dtype: torch.dtype = torch.float16,
        device: torch.device | str = "cuda",
        kernels: Kernels | None = None,
        batch_invariant: bool = False,
    ) -> None:
        self.max_rows, self.max_seqs = max_rows, max_seqs
        self.max_pages_per_seq = max_pages_per_seq
        self.max_logit_rows = max_seqs if max_logit_rows is None else max_logit_rows
        self.device, self.dtype = _indexed(torch.device(device)), dtype
        self.kernels = kernels or CudaKernels(
            self.device, dtype, max_seqs, batch_invariant=batch_invariant
        )
        limits = StepShape(max_rows, max_seqs, self.max_logit_rows, max_pages_per_seq)
        self.inputs = StepInputs(limits, self.device)
        self.latest = torch.zeros(self.max_logit_rows, dtype=torch.int32, device=self.device)
        self._stages = Stages(
            self.kernels, self.device, dtype, max_rows, self.max_logit_rows, self.latest
        )
        self._buffers: list[Buffer] = []
        self._output: Buffer | None = None

    def buffer(self, cols: int, *, gathered: bool = False) -> Buffer:
        self._buffers.append(Buffer(len(self._buffers), cols, gathered))
        return self._buffers[-1]

    def embed(self, weight: CudaMatrix, out: Buffer, *, scale: float = 1.0) -> None:
        _same("out", out.cols, weight.cols)
        self._stages.embed(weight, out, scale)
        self._output = out

    def rms_norm(self, x: Buffer, weight: FloatArray, eps: float, out: Buffer) -> None:
        _same("weight", len(weight), x.cols)
        self._stages.norm(x, weight, eps, out)
        self._output = out

    def linear(
        self,
        x: Buffer,
        weight: CudaMatrix,
        out: Buffer,
        *,
        bias: FloatArray | None = None,
        add: bool = False,
    ) -> None:
        if x.cols != weight.cols or out.cols != weight.rows:
            raise ValueError(
                f"weight: got ({weight.rows}, {weight.cols}), wanted ({out.cols}, {x.cols})"
            )
        self._stages.linear(x, weight, out, bias, add)
        self._output = out

    def rope_store(
        self,
        qkv: Buffer,
        cache: CudaKVCache,
        layer: int,
        *,
        num_heads: int,
        inv_freq: FloatArray,
        factor: float = 1.0,
    ) -> None:
        more = {"num_heads": num_heads, "inv_freq": inv_freq, "factor": factor}
        self._stages.rope_store(qkv, cache, layer, **more)
        self._output = qkv

    def attention(
        self,
        qkv: Buffer,
        cache: CudaKVCache,
        layer: int,
        out: Buffer,
        *,
        num_heads: int,
        scale: float,
        window: int = 0,
    ) -> None:
        more = {"num_heads": num_heads, "scale": scale, "window": window}
        self._stages.attention(qkv, cache, layer, out, **more)
        self._output = out

    def swiglu(self, gate_up: Buffer, out: Buffer) -> None:
        _same("gate_up", gate_up.cols, 2 * out.cols)
        self._stages.swiglu(gate_up, out)
        self._output = out

    def add(self, x: Buffer, y: Buffer, out: Buffer) -> None:
        self._stages.add(x, y, out)
        self._output = out

    def gather_logits(self, x: Buffer, out: Buffer) -> None:
        _same("out", out.cols, x.cols)
        self._stages.gather(x, out)
        self._output = out

    def open(self, shape: StepShape) -> HostStep:
        """Host arrays of a step, to be filled and sent."""
        for name in ("rows", "seqs", "picks", "pages"):
            got, most = getattr(shape, name), getattr(self.inputs.limits, name)
            if got > most:
                raise ValueError(f"{name}: got {got}, wanted at most {most}")
        return self.inputs.open(shape)

    def launch(self, step: DeviceStep) -> None:
        """Start all stages on a step whose arrays have been sent; waits for nothing."""
        if step.shape.rows:
            for _, stage in self._stages.stages:
                stage(step)

    def result(self, step: DeviceStep, output: Buffer | None = None) -> torch.Tensor:
        """The last operation's result on the device: overwritten by the next launch."""
        wanted = output or self._output
        if wanted is None:
            return torch.zeros(0, 0)
        return self._stages.value(wanted).of(step)

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
        self.finish()
        table = as_int32("page_table", page_table)
        shape = StepShape(len(tokens), len(table), len(logit_rows), table.shape[1])
        host = self.open(shape)
        host.tokens[:], host.positions[:] = tokens, positions
        host.seq_of_row[:], host.page_table[:] = seq_of_row, table
        host.context_lens[:], host.picks[:] = context_lens, logit_rows
        lengths = np.bincount(host.seq_of_row, minlength=len(table))
        host.first_rows[0], host.first_rows[1:] = 0, np.cumsum(lengths)
        self.inputs.send(host)
        longest, most = max(context_lens, default=0), int(lengths[lengths > 1].sum())
        step = self.inputs.on_device(
            shape, decode=bool((lengths == 1).any()), prefill_rows=most, max_context=int(longest)
        )
        self.launch(step)
        values: FloatArray = self.result(step, output).float().cpu().numpy()
        return values

    def finish(self) -> None:
        """Complete what the last operations left to be added; nothing is recorded after."""
        if self._output is not None:
            self._stages.value(self._output)

    def read(self, buffer: Buffer, rows: int) -> FloatArray:
        values: FloatArray = self._stages.hold(buffer).memory[:rows].float().cpu().numpy()
        return values

    def write(self, buffer: Buffer, value: Any) -> None:
        self._stages.hold(buffer).memory[: len(value)].copy_(torch.as_tensor(value))

    @property
    def scratch_bytes(self) -> int:
        """Bytes of all buffers."""
        return self._stages.nbytes

    @property
    def stages(self) -> Sequence[tuple[str, Stage]]:
        """What a step consists of, in order: a kind and what starts it."""
        return self._stages.stages


def _indexed(device: torch.device) -> torch.device:
    return torch.device("cuda", 0) if device.type == "cuda" and device.index is None else device


def _same(name: str, got: int, wanted: int) -> None:
    if got != wanted:
        raise ValueError(f"{name}: got {got} columns, wanted {wanted}")
