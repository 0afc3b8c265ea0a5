"""config.json of a llama-shaped model, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hone_engine.formats import FormatError


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The figures of a model; lengths in elements, `max_len` in tokens."""

    architecture: str
    hidden_size: int
    inner_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    max_len: int
    norm_eps: float
    rope_theta: float
    rope_scaling: Mapping[str, Any] | None
    tied: bool
    window: int = 0
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False


class _Reader:
    def __init__(self, path: Path, values: Mapping[str, Any]):
        self.path = path
        self.values = values

    def fail(self, key: str, wanted: str) -> FormatError:
        return FormatError(f"{self.path}: {key} is {self.values.get(key)!r}; wanted {wanted}")

    def count(self, key: str, default: int | None = None) -> int:
        found = self.values.get(key)
        found = default if found is None else found
        if isinstance(found, bool) or not isinstance(found, int) or found <= 0:
            raise self.fail(key, "a whole number above 0")
        return found

    def number(self, key: str, default: float) -> float:
        found = self.values.get(key)
        found = default if found is None else found
        if isinstance(found, bool) or not isinstance(found, int | float) or found <= 0:
            raise self.fail(key, "a number above 0")
        return float(found)


def architecture_of(path: Path, values: Mapping[str, Any]) -> str:
    """The one name in `architectures`; raises FormatError."""
    found = values.get("architectures")
    if not isinstance(found, list) or not found:
        raise FormatError(f"{path}: architectures is {found!r}; wanted a list with one name")
    return str(found[0])


def parse(path: Path, values: Mapping[str, Any]) -> ModelConfig:
    """The figures in a config.json; `path` is for messages. Raises FormatError naming the key."""
    read = _Reader(path, values)
    if values.get("hidden_act", "silu") != "silu":
        raise read.fail("hidden_act", "'silu'")
    hidden_size, num_heads = read.count("hidden_size"), read.count("num_attention_heads")
    num_kv_heads = read.count("num_key_value_heads", num_heads)
    if num_heads % num_kv_heads:
        raise read.fail("num_key_value_heads", f"a divisor of num_attention_heads ({num_heads})")
    theta, scaling = _rope(values)
    bias = bool(values.get("attention_bias", False))
    return ModelConfig(
        architecture=architecture_of(path, values),
        hidden_size=hidden_size,
        inner_size=read.count("intermediate_size"),
        num_layers=read.count("num_hidden_layers"),
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=read.count("head_dim", hidden_size // num_heads),
        vocab_size=read.count("vocab_size"),
        max_len=read.count("max_position_embeddings", 2048),
        norm_eps=read.number("rms_norm_eps", 1e-6),
        rope_theta=theta,
        rope_scaling=scaling,
        tied=bool(values.get("tie_word_embeddings", False)),
        window=_window(read),
        qkv_bias=bias or values.get("model_type") == "qwen2",
        out_bias=bias,
        mlp_bias=bool(values.get("mlp_bias", False)),
    )


def _rope(values: Mapping[str, Any]) -> tuple[float, Mapping[str, Any] | None]:
    """Base and scaling: two keys, or since transformers 5 both in `rope_parameters`."""
    parameters = values.get("rope_parameters")
    if isinstance(parameters, Mapping):
        return float(parameters.get("rope_theta", 10000.0)), parameters
    scaling = values.get("rope_scaling")
    return float(values.get("rope_theta") or 10000.0), scaling


def _window(read: _Reader) -> int:
    kinds = set(read.values.get("layer_types") or [])
    if len(kinds) > 1:
        raise read.fail("layer_types", "the same for every layer")
    if not read.values.get("use_sliding_window", True) or kinds == {"full_attention"}:
        return 0
    return read.count("sliding_window") if read.values.get("sliding_window") is not None else 0
