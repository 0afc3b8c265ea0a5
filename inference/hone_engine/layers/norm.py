"""RMSNorm."""

from dataclasses import dataclass

from hone_engine.kernels import Buffer, FloatArray, Recorder
from hone_engine.layers.weights import WeightSource


@dataclass(frozen=True, slots=True)
class RMSNorm:
    """x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich, 2019)."""

    weight: FloatArray  # (hidden,) fp32
    eps: float

    @classmethod
    def load(cls, source: WeightSource, name: str, eps: float) -> "RMSNorm":
        return cls(source.vector(f"{name}.weight"), eps)

    def record(self, program: Recorder, x: Buffer, out: Buffer) -> None:
        program.rms_norm(x, self.weight, self.eps, out)
