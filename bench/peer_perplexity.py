"""Perplexity of a plain model directory by transformers in fp32: the peer of bench/formats.py.

    PYTHON bench/peer_perplexity.py MODEL_DIR TEXT NUM_TOKENS WINDOW [QUANTIZED_DIR]

PYTHON has torch, transformers and tokenizers. Tokens and windows are those of `hone engine
perplexity`: no special tokens, no overlap, the first token of a window unscored. With QUANTIZED_DIR
the inputs of every layer that is quantized there are rounded to int8 in groups of 32, in the order
in which it stores them: what the engine's products with codes are said to do.
"""

import json
import math
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

ROWS = 256  # logits worked on at once
GROUP = 32


def rounded(x: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """x after a trip through int8, its columns taken in `order`."""
    groups = x[..., order].unflatten(-1, (-1, GROUP))
    scales = groups.abs().amax(-1, keepdim=True).clamp_min(1e-30) / 127
    found = torch.empty_like(x)
    found[..., order] = (torch.round(groups / scales) * scales).flatten(-2)
    return found


def orders(path: Path) -> dict[str, torch.Tensor]:
    """Of every layer that is quantized, the order of its inputs."""
    stored: dict[str, torch.Tensor] = {}
    for file in path.glob("*.safetensors"):
        stored |= load_file(file)
    found = {}
    for name, tensor in stored.items():
        layer, _, part = name.rpartition(".")
        if part == "q_invperm":
            found[layer] = torch.argsort(tensor)
        elif part == "qweight":
            index = stored.get(f"{layer}.g_idx", torch.zeros(0))
            found[layer] = torch.argsort(index, stable=True)
        elif part == "codes":  # of NAME.weight
            found[layer.removesuffix(".weight")] = torch.zeros(0, dtype=torch.long)
    return found


def round_inputs(model: torch.nn.Module, path: Path) -> None:
    found = orders(path)
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and (
            name in found or (name == "lm_head" and "model.embed_tokens" in found)
        ):
            order = found.get(name, torch.zeros(0))
            if not len(order):
                order = torch.arange(module.in_features)
            module.register_forward_pre_hook(lambda _, args, order=order: rounded(args[0], order))


def main() -> None:
    path, text, num_tokens, window = Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:5])
    tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
    ids = tokenizer.encode(text.read_text(encoding="utf-8"), add_special_tokens=False).ids
    tokens = torch.tensor(ids[:num_tokens])
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    if len(sys.argv) > 5:
        round_inputs(model, Path(sys.argv[5]))
    total, scored = 0.0, 0
    with torch.inference_mode():
        for start in range(0, len(tokens), window):
            part = tokens[start : start + window]
            if len(part) < 2:
                break
            logits = model(part[None]).logits[0, :-1]
            for at in range(0, len(logits), ROWS):
                rows, targets = logits[at : at + ROWS], part[1:][at : at + ROWS]
                losses = torch.nn.functional.cross_entropy(rows, targets, reduction="none")
                total += float(losses.double().sum())
            scored += len(part) - 1
    print(json.dumps({"perplexity": math.exp(total / scored), "scored": scored}))


if __name__ == "__main__":
    main()
