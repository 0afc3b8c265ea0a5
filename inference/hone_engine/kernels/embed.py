"""Embedding lookup: rows of a packed table, which is often the tied output head as well."""

import torch

from hone_engine.kernels.packed import PackedWeight


def embed_reference(tokens: torch.Tensor, weight: PackedWeight, scale: float = 1.0) -> torch.Tensor:
    """fp32 (R, cols): weight[tokens] * scale."""
    return weight.dequantize(tokens.tolist()) * scale
