"""The gated activation of a llama feed-forward block."""

import torch


def swiglu_reference(gate_up: torch.Tensor) -> torch.Tensor:
    """silu(gate) * up, gate and up being the halves of the columns (Shazeer, 2020)."""
    gate, up = gate_up.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * up
