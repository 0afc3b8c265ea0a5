"""The gated feed-forward block."""

from dataclasses import dataclass

from hone_engine.kernels import Buffer, FloatArray, PackedWeight, Recorder
from hone_engine.layers.weights import WeightSource


@dataclass(frozen=True, slots=True)
class GatedMLP:
    """down(silu(gate(x)) * up(x)) (Shazeer, 2020). gate_up: (2 * inner, hidden), gate over up."""

    gate_up: PackedWeight
    gate_up_bias: FloatArray | None
    down: PackedWeight
    down_bias: FloatArray | None

    @classmethod
    def load(cls, source: WeightSource, name: str, *, bias: bool = False) -> "GatedMLP":
        parts, down = [f"{name}.gate_proj", f"{name}.up_proj"], f"{name}.down_proj"
        # gate and up leave their outputs in the order in which down's columns are stored
        rows = source.input_order(f"{down}.weight")
        return cls(
            source.packed(*(f"{part}.weight" for part in parts), rows=rows),
            source.vector(*(f"{part}.bias" for part in parts), rows=rows) if bias else None,
            source.packed(f"{down}.weight", in_order=True),
            source.vector(f"{down}.bias") if bias else None,
        )

    def record(
        self, program: Recorder, *, normed: Buffer, gate_up: Buffer, inner: Buffer, x: Buffer
    ) -> None:
        """x += mlp(normed); `gate_up` and `inner` are scratch."""
        program.linear(normed, self.gate_up, gate_up, bias=self.gate_up_bias)
        program.swiglu(gate_up, inner)
        program.linear(inner, self.down, x, bias=self.down_bias, add=True)
