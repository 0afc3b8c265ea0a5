"""Rotary positions: the angle a position turns each pair of a head's dimensions.

Base t, rotary dimensions d, pair i: f_i = t^(-2i/d) (Su et al., 2021). Scalings stretch it to
texts longer than the model was trained on.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone_engine.kernels import FloatArray


@dataclass(frozen=True, slots=True)
class RotaryTable:
    """inv_freq: (head_dim / 2,) fp32, radians a position; `factor` multiplies sine and cosine."""

    inv_freq: FloatArray
    factor: float = 1.0


Settings = Mapping[str, Any]


def rotary_table(theta: float, dim: int, max_len: int, scaling: Settings | None) -> RotaryTable:
    """The frequencies for a base, the dimensions of a head and `rope_scaling` of config.json.

    Raises ValueError for a scaling that is not known or lacks a figure.
    """
    scaling = scaling or {}
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind not in SCALINGS:
        raise ValueError(f"rope_scaling is {kind!r}; wanted one of {', '.join(SCALINGS)}")
    return SCALINGS[kind](theta, dim, max_len, scaling)


def _frequencies(theta: float, dim: int) -> FloatArray:
    exponents = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    return (1 / np.float32(theta) ** exponents).astype(np.float32, copy=False)


def _number(scaling: Settings, key: str, default: float | None = None) -> float:
    found = scaling.get(key)
    found = default if found is None else found
    if isinstance(found, bool) or not isinstance(found, int | float) or found <= 0:
        raise ValueError(f"rope_scaling.{key} is {found!r}; wanted a number above 0")
    return float(found)


def _default(theta: float, dim: int, max_len: int, scaling: Settings) -> RotaryTable:
    return RotaryTable(_frequencies(theta, dim))


def _linear(theta: float, dim: int, max_len: int, scaling: Settings) -> RotaryTable:
    """Positions divided by the factor (Chen et al., 2023)."""
    return RotaryTable(_frequencies(theta, dim) / np.float32(_number(scaling, "factor")))


def _ntk(theta: float, dim: int, max_len: int, scaling: Settings) -> RotaryTable:
    """A base of t * alpha^(d / (d-2)): the fastest pair keeps its speed."""
    alpha = _number(scaling, "alpha")
    return RotaryTable(_frequencies(theta * alpha ** (dim / (dim - 2)), dim))


def _llama3(theta: float, dim: int, max_len: int, scaling: Settings) -> RotaryTable:
    """Slow pairs divided by the factor, fast ones kept, a smooth passage between (Llama 3.1)."""
    factor = _number(scaling, "factor")
    low, high = _number(scaling, "low_freq_factor", 1), _number(scaling, "high_freq_factor", 4)
    original = _number(scaling, "original_max_position_embeddings", 8192)
    freq = _frequencies(theta, dim)
    turns = original * freq / (2 * math.pi)  # over the original context
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return RotaryTable(freq * ((1 - smooth) / factor + smooth))


def _yarn(theta: float, dim: int, max_len: int, scaling: Settings) -> RotaryTable:
    """Pairs that turn often keep their speed, slow ones are divided by the factor, a ramp between;
    attention is sharpened (Peng et al., 2023). The original context as Hugging Face reads it."""
    factor = _number(scaling, "factor")
    original = _number(scaling, "original_max_position_embeddings", max_len)
    fast, slow = _number(scaling, "beta_fast", 32), _number(scaling, "beta_slow", 1)

    def pair_of(turns: float) -> float:
        return dim * math.log(original / (2 * math.pi * turns)) / (2 * math.log(theta))

    low, high = pair_of(fast), pair_of(slow)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    span = max(high - low, 0.001)
    ramp = np.clip((np.arange(dim // 2, dtype=np.float32) - low) / span, 0, 1)
    freq = _frequencies(theta, dim)
    return RotaryTable(freq * ((1 - ramp) + ramp / factor), _yarn_factor(factor, scaling))


def _yarn_factor(factor: float, scaling: Settings) -> float:
    if scaling.get("attention_factor") is not None:
        return _number(scaling, "attention_factor")

    def scale(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0

    if scaling.get("mscale") and scaling.get("mscale_all_dim"):
        return scale(_number(scaling, "mscale")) / scale(_number(scaling, "mscale_all_dim"))
    return scale(1.0)


def _factors(theta: float, dim: int, max_len: int, scaling: Settings) -> RotaryTable:
    """Each pair divided by a figure of its own, as GGUF files carry it (rope_freqs)."""
    factors = np.array(scaling.get("factors", []), np.float32)
    if factors.shape != (dim // 2,) or not bool((factors > 0).all()):
        raise ValueError(
            f"rope_scaling.factors has {factors.size} figures, wanted {dim // 2} above 0"
        )
    return RotaryTable(_frequencies(theta, dim) / factors)


SCALINGS: dict[str, Callable[[float, int, int, Settings], RotaryTable]] = {
    "default": _default,
    "linear": _linear,
    "ntk": _ntk,
    "llama3": _llama3,
    "yarn": _yarn,
    "factors": _factors,
}
