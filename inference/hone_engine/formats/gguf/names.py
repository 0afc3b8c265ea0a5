"""Hugging Face's names and settings for what a GGUF file of the llama family holds."""

import re
from pathlib import Path
from typing import Any

from hone_engine.formats.errors import FormatError

ARCHITECTURES = {  # GGUF's name: (HF class, model_type)
    "llama": ("LlamaForCausalLM", "llama"),
    "qwen2": ("Qwen2ForCausalLM", "qwen2"),
}
TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
ROPE_FACTORS = "rope_freqs.weight"
_BLOCK_NAME = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")


def hf_name(name: str) -> str | None:
    """The HF name of a GGUF tensor; None for one that this family does not have."""
    if name in TOP:
        return TOP[name]
    match = _BLOCK_NAME.fullmatch(name)
    if match is None or match[2] not in BLOCK:
        return None
    return f"model.layers.{match[1]}.{BLOCK[match[2]]}.{match[3]}"


class Settings:
    """The keys of one architecture, with an error that names the key and the file."""

    def __init__(self, path: Path, values: dict[str, Any]):
        self.path = path
        self.values = values
        self.architecture = str(values.get("general.architecture"))
        if self.architecture not in ARCHITECTURES:
            raise FormatError(
                f"{path}: the architecture is {self.architecture!r}; "
                f"Hone reads {', '.join(ARCHITECTURES)}"
            )

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(f"{self.architecture}.{key}", default)

    def number(self, key: str, default: float | None = None) -> Any:
        found = self.get(key, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or found <= 0:
            raise FormatError(
                f"{self.path}: key {self.architecture}.{key} is {found!r}, wanted a number above 0"
            )
        return found


def hf_config(
    path: Path, values: dict[str, Any], *, vocab_len: int, tied: bool, factors: list[float] | None
) -> dict[str, Any]:
    """config.json for a GGUF file's keys. `factors`: divisors of the rotary frequencies."""
    settings = Settings(path, values)
    architecture, model_type = ARCHITECTURES[settings.architecture]
    num_heads = settings.number("attention.head_count")
    hidden_size = settings.number("embedding_length")
    head_len = settings.number("attention.key_length", hidden_size // num_heads)
    config = {
        "architectures": [architecture],
        "model_type": model_type,
        "hidden_size": hidden_size,
        "intermediate_size": settings.number("feed_forward_length"),
        "num_hidden_layers": settings.number("block_count"),
        "num_attention_heads": num_heads,
        "num_key_value_heads": settings.number("attention.head_count_kv", num_heads),
        "head_dim": head_len,
        "hidden_act": "silu",
        "rms_norm_eps": _shortest(settings.number("attention.layer_norm_rms_epsilon", 1e-5)),
        "rope_theta": float(settings.number("rope.freq_base", 10000.0)),
        "rope_scaling": _rope_scaling(settings, factors),
        "vocab_size": vocab_len,
        "max_position_embeddings": settings.number("context_length", 2048),
        "tie_word_embeddings": tied,
        "attention_bias": False,
        "mlp_bias": False,
    }
    for key, name in (("bos", "bos"), ("eos", "eos"), ("padding", "pad")):
        config[f"{name}_token_id"] = values.get(f"tokenizer.ggml.{key}_token_id")
    rotary_len = settings.get("rope.dimension_count", head_len)
    if rotary_len != head_len:
        raise FormatError(f"{path}: rotates {rotary_len} of {head_len} dimensions of a head")
    return config


def _shortest(value: float) -> float:
    """1e-05 for the float32 9.999999747378752e-06: the figure that its maker wrote."""
    return float(f"{value:.7g}")


def _rope_scaling(settings: Settings, factors: list[float] | None) -> dict[str, Any] | None:
    if factors is not None:
        return {"rope_type": "factors", "factors": factors}
    kind = settings.get("rope.scaling.type", "none")
    if kind in ("none", None):
        return None
    if kind not in ("linear", "yarn"):
        raise FormatError(f"{settings.path}: rope scaling {kind!r}; wanted none, linear or yarn")
    scaling = {"rope_type": kind, "factor": float(settings.number("rope.scaling.factor"))}
    original = settings.get("rope.scaling.original_context_length")
    return scaling | ({"original_max_position_embeddings": original} if original else {})
