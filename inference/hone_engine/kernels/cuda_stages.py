"""From recorded operations to stages on a GPU: what fuses, and which number lies where.

The residual stream is wide (fp32), what products read and write has 16 bits; so a buffer can have
two homes, and the latest operation that wrote it says which one holds. What a product adds to the
stream stays in a place of its own until a norm adds it on the way (`cuda_norm`), and rows that are
gathered are picked by the norm that follows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from hone_engine.kernels.cuda_dense import CudaMatrix
from hone_engine.kernels.cuda_inputs import DeviceStep
from hone_engine.kernels.cuda_kernels import Kernels
from hone_engine.kernels.recorder import Buffer, FloatArray

Tensor = torch.Tensor
Stage = Callable[[DeviceStep], None]


@dataclass(frozen=True, slots=True)
class Home:
    """Memory of a buffer: (rows, cols), wide or not."""

    key: str
    gathered: bool
    memory: Tensor

    def of(self, step: DeviceStep) -> Tensor:
        """Its rows in a step."""
        return self.memory[: step.shape.picks if self.gathered else step.shape.rows]


@dataclass(slots=True)
class Stages:
    """Takes operations in the order of the program; `stages` then do the same."""

    kernels: Kernels
    device: torch.device
    dtype: torch.dtype
    max_rows: int
    max_picks: int
    latest: Tensor  # tokens drawn by the step before
    stages: list[tuple[str, Stage]] = field(default_factory=list)
    _homes: dict[str, Home] = field(default_factory=dict)
    _held: dict[int, Home] = field(default_factory=dict)  # buffer: where its value is
    _owed: dict[int, Home] = field(default_factory=dict)  # buffer: what is still to be added
    _lazy: dict[int, tuple[Home, Home | None]] = field(default_factory=dict)  # gathered from

    def embed(self, weight: CudaMatrix, out: Buffer, scale: float) -> None:
        home = self._write(out, wide=True)
        self._add(
            "embed",
            lambda s: self.kernels.embed(weight, s.tokens, self.latest, home.of(s), scale),
        )

    def norm(self, x: Buffer, weight: FloatArray, eps: float, out: Buffer) -> None:
        scale = self._floats(weight)
        if x.index in self._lazy:
            source, delta = self._lazy.pop(x.index)
            home = self._write(out)
            self._add("norm", lambda s: self._norm(s, source, delta, home, scale, eps, picks=True))
            return
        if self.hold(x).memory.dtype != torch.float32:
            self.value(x)  # the sum is kept where the stream is wide only
        source, delta = self._held[x.index], self._owed.pop(x.index, None)
        home = self._write(out)
        self._add("norm", lambda s: self._norm(s, source, delta, home, scale, eps, picks=False))

    def _norm(
        self,
        step: DeviceStep,
        source: Home,
        delta: Home | None,
        home: Home,
        scale: Tensor,
        eps: float,
        *,
        picks: bool,
    ) -> None:
        x = source.of(step)
        kept = x if delta is not None and not picks else None
        self.kernels.norm(
            x, scale, eps, home.of(step), picks=step.picks if picks else None, kept=kept,
            delta=None if delta is None else delta.of(step),
        )  # fmt: skip

    def linear(
        self, x: Buffer, weight: CudaMatrix, out: Buffer, bias: FloatArray | None, add: bool
    ) -> None:
        source = self._ordered(x, weight)
        if add:
            self.value(out)  # what was owed before is added now
            home = self._home(f"owed {out.index}", out, wide=False)
            self._owed[out.index] = home
        else:
            home = self._write(out, wide=out.gathered)
        self._add("linear", lambda s: self.kernels.linear(source.of(s), weight, home.of(s)))
        if bias is not None:
            more = self._floats(bias)
            self._add("bias", lambda s: self.kernels.sum(home.of(s), home.of(s), bias=more))

    def _ordered(self, x: Buffer, weight: CudaMatrix) -> Home:
        """x as the weight's columns want it."""
        source, order = self.value(x), weight.order
        if order is None:
            return source
        home = self._home(f"{x.index} ordered", x, wide=False)
        self._add("order", lambda s: self.kernels.sum(source.of(s), home.of(s), order=order))
        return home

    def rope_store(self, qkv: Buffer, cache: Any, layer: int, **more: Any) -> None:
        home = self.value(qkv)
        more["inv_freq"] = self._floats(more["inv_freq"])
        self._add("rope", lambda s: self.kernels.rope_store(home.of(s), cache, layer, s, **more))

    def attention(self, qkv: Buffer, cache: Any, layer: int, out: Buffer, **more: Any) -> None:
        source, home = self.value(qkv), self._write(out)

        def attend(step: DeviceStep) -> None:
            self.kernels.attention(source.of(step), cache, layer, step, home.of(step), **more)

        self._add("attention", attend)

    def swiglu(self, gate_up: Buffer, out: Buffer) -> None:
        source, home = self.value(gate_up), self._write(out)
        self._add("gate", lambda s: self.kernels.gated(source.of(s), home.of(s)))

    def add(self, x: Buffer, y: Buffer, out: Buffer) -> None:
        first, second = self.value(x), self.value(y)
        if second.memory.dtype == torch.float32:
            first, second = second, first
        home = self._write(out, wide=True)
        if second.memory.dtype == torch.float32:
            self._add("add", lambda s: torch.add(first.of(s), second.of(s), out=home.of(s)))
        else:
            self._add("add", lambda s: self.kernels.sum(first.of(s), home.of(s), y=second.of(s)))

    def gather(self, x: Buffer, out: Buffer) -> None:
        self._lazy[out.index] = (self.hold(x), self._owed.get(x.index))

    def value(self, buffer: Buffer) -> Home:
        """Where the buffer's value is, after stages that complete it."""
        if buffer.index in self._lazy:
            source, delta = self._lazy.pop(buffer.index)
            home = self._write(buffer, wide=source.memory.dtype == torch.float32)
            self._add("gather", lambda s: self._sum(s, source, home, delta, picks=True))
        elif buffer.index in self._owed:
            home, delta = self._held[buffer.index], self._owed.pop(buffer.index)
            self._add("add", lambda s: self._sum(s, home, home, delta, picks=False))
        return self.hold(buffer)

    def _sum(
        self, step: DeviceStep, source: Home, home: Home, delta: Home | None, *, picks: bool
    ) -> None:
        self.kernels.sum(
            source.of(step), home.of(step), y=None if delta is None else delta.of(step),
            picks=step.picks if picks else None,
        )  # fmt: skip

    def hold(self, buffer: Buffer) -> Home:
        """The buffer's present home; a wide one is made if nothing has written it."""
        if buffer.index not in self._held:
            self._write(buffer, wide=True)
        return self._held[buffer.index]

    def _add(self, name: str, stage: Callable[[DeviceStep], object]) -> None:
        def run(step: DeviceStep) -> None:
            stage(step)

        self.stages.append((name, run))

    def _write(self, buffer: Buffer, *, wide: bool = False) -> Home:
        """The home that an operation writes all of; what was owed to the old value is dropped."""
        self._owed.pop(buffer.index, None)
        self._lazy.pop(buffer.index, None)
        home = self._home(f"{buffer.index} {'wide' if wide else 'narrow'}", buffer, wide=wide)
        self._held[buffer.index] = home
        return home

    def _home(self, key: str, buffer: Buffer, *, wide: bool) -> Home:
        if key not in self._homes:
            rows = self.max_picks if buffer.gathered else self.max_rows
            dtype = torch.float32 if wide else self.dtype
            memory = torch.zeros(rows, buffer.cols, dtype=dtype, device=self.device)
            self._homes[key] = Home(key, buffer.gathered, memory)
        return self._homes[key]

    def _floats(self, values: FloatArray) -> Tensor:
        tensor = torch.as_tensor(values, dtype=torch.float32)
        return tensor.to(self.device).contiguous()

    @property
    def nbytes(self) -> int:
        """Bytes of all homes."""
        return sum(home.memory.nbytes for home in self._homes.values())
