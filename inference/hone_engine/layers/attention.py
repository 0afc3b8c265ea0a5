"""Grouped-query attention over the paged cache."""

from dataclasses import dataclass

from hone_engine.kernels import Buffer, FloatArray, KVCache, PackedWeight, Recorder
from hone_engine.layers.rope import RotaryTable
from hone_engine.layers.weights import WeightSource


@dataclass(frozen=True, slots=True)
class Attention:
    """Queries, keys and values of one layer, and the product that leads back.

    qkv: ((heads + 2 * kv_heads) * head_dim, hidden), q over k over v; out: (hidden, heads * ...).
    window: a token sees only so many latest positions; 0: all.
    """

    qkv: PackedWeight
    qkv_bias: FloatArray | None
    out: PackedWeight
    out_bias: FloatArray | None
    num_heads: int
    head_dim: int
    rotary: RotaryTable
    window: int = 0

    @classmethod
    def load(
        cls,
        source: WeightSource,
        name: str,
        *,
        num_heads: int,
        head_dim: int,
        rotary: RotaryTable,
        window: int = 0,
        qkv_bias: bool = False,
        out_bias: bool = False,
    ) -> "Attention":
        parts = [f"{name}.{part}_proj" for part in "qkv"]
        return cls(
            source.packed(*(f"{part}.weight" for part in parts)),
            source.vector(*(f"{part}.bias" for part in parts)) if qkv_bias else None,
            source.packed(f"{name}.o_proj.weight"),
            source.vector(f"{name}.o_proj.bias") if out_bias else None,
            num_heads,
            head_dim,
            rotary,
            window,
        )

    def record(
        self,
        program: Recorder,
        cache: KVCache,
        layer: int,
        *,
        normed: Buffer,
        qkv: Buffer,
        heads: Buffer,
        x: Buffer,
    ) -> None:
        """x += attention(normed); `qkv` and `heads` are scratch."""
        program.linear(normed, self.qkv, qkv, bias=self.qkv_bias)
        program.rope_store(
            qkv,
            cache,
            layer,
            num_heads=self.num_heads,
            inv_freq=self.rotary.inv_freq,
            factor=self.rotary.factor,
        )
        program.attention(
            qkv,
            cache,
            layer,
            heads,
            num_heads=self.num_heads,
            scale=self.head_dim**-0.5,
            window=self.window,
        )
        program.linear(heads, self.out, x, bias=self.out_bias, add=True)
