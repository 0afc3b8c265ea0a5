"""Products with packed weights, and the activation quantization that goes with integer codes."""

import torch

from hone_engine.kernels.packed import PackedWeight

ACTIVATION_GROUP = 32


def quantize_activations_reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """int8 codes (R, cols) and fp32 scales (R, cols / 32): scale = max|x| / 127, round to nearest.

    Columns short of a multiple of 32 are padded with zeros in the last group.
    """
    rows, cols = x.shape
    padded = torch.nn.functional.pad(x, (0, -cols % ACTIVATION_GROUP))
    groups = padded.view(rows, padded.shape[1] // ACTIVATION_GROUP, ACTIVATION_GROUP)
    top = groups.abs().amax(-1, keepdim=True).clamp_min(1e-30)
    codes = torch.round(groups * (127.0 / top)).to(torch.int8)
    return codes.view(padded.shape)[:, :cols], (top / 127.0).squeeze(-1)


def round_activations_reference(x: torch.Tensor) -> torch.Tensor:
    """x after a trip through int8: what a product with 4 or 8-bit weights really multiplies."""
    codes, scales = quantize_activations_reference(x)
    spread = scales.repeat_interleave(ACTIVATION_GROUP, dim=-1)[:, : x.shape[1]]
    return codes.float() * spread


def linear_reference(
    x: torch.Tensor,
    weight: PackedWeight,
    bias: torch.Tensor | None = None,
    *,
    int8: bool = False,
) -> torch.Tensor:
    """fp32 (R, rows): x @ weight.T + bias; int8 rounds x first if the weight has codes.

    x comes in its own order; the weight's order of columns is applied here.
    """
    if weight.order is not None:
        x = x[:, torch.from_numpy(weight.order).long()]
    if int8 and weight.bits < 16:
        x = round_activations_reference(x)
    y = x @ weight.dequantize().T
    return y if bias is None else y + bias.float()
