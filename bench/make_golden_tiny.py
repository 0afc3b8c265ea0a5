"""Tiny random models and rotary tables, computed by transformers, for tests/engine/models.

    python bench/make_golden_tiny.py tests/engine/models/golden/tiny tests/engine/layers/golden

Writes one Hugging Face directory a variant (weights fp16) with `golden.npz`: tokens of a few texts
and the logits after every token, computed in fp32 from the fp16 weights; and `rope.npz` with the
frequencies and the attention factor of each scaling. Environment: see make_golden_smollm2.py.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig, Qwen2Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 64,
}
VARIANTS = {
    "llama3": LlamaConfig(**SIZES, rope_parameters=LLAMA3, tie_word_embeddings=False),
    "yarn": LlamaConfig(**SIZES, rope_parameters=YARN, attention_bias=True, mlp_bias=True),
    "mistral": MistralConfig(**SIZES, sliding_window=8),
    "qwen2": Qwen2Config(**SIZES, tie_word_embeddings=True),
}
ROPES = {
    "llama3": LLAMA3 | {"original_max_position_embeddings": 8192, "rope_theta": 500000.0},
    "yarn": YARN | {"original_max_position_embeddings": 4096},
    "yarn_mscale": YARN | {"mscale": 0.707, "mscale_all_dim": 0.5, "truncate": False},
    "yarn_factor": YARN | {"attention_factor": 1.5, "beta_fast": 16, "beta_slow": 2},
    "linear": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
}


@torch.inference_mode()
def write_variant(where: Path, config) -> None:
    torch.manual_seed(len(where.name))
    model = AutoModelForCausalLM.from_config(config).eval()
    for parameter in model.parameters():
        scale = 0.3 if parameter.dim() > 1 else 0.1
        center = 1.0 if parameter.dim() == 1 else 0.0
        parameter.data = (center + scale * torch.randn_like(parameter)).half().float()
    tokens = torch.randint(0, config.vocab_size, (3, 24))
    logits = model(input_ids=tokens).logits
    np.savez_compressed(
        where / "golden.npz",
        tokens=tokens.numpy().astype(np.int32),
        logits=logits.numpy().astype(np.float32),
    )
    model.half().save_pretrained(where)
    (where / "generation_config.json").unlink(missing_ok=True)


def write_ropes(path: Path) -> None:
    arrays = {}
    for name, parameters in ROPES.items():
        config = LlamaConfig(
            hidden_size=512,
            num_attention_heads=8,
            head_dim=64,
            max_position_embeddings=16384,
            rope_parameters=parameters,
        )
        freq, factor = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, "cpu")
        arrays[f"{name}_freq"], arrays[f"{name}_factor"] = freq.numpy(), np.float32(factor)
        arrays[f"{name}_settings"] = np.array(json.dumps(parameters))
    np.savez_compressed(path, **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    parser.add_argument("ropes", type=Path)
    args = parser.parse_args()
    for name, config in VARIANTS.items():
        (args.models / name).mkdir(parents=True, exist_ok=True)
        write_variant(args.models / name, config)
    args.ropes.mkdir(parents=True, exist_ok=True)
    write_ropes(args.ropes / "rope.npz")


if __name__ == "__main__":
    main()
