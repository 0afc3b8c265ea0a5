"""Keys and values in 8 or 4 bits: rotated, with a scale for each 32 numbers of a head.

The layout: csrc/kernels/attention/chunk.cuh. The Hadamard matrix spreads an outlier over its 32
numbers, so that one scale serves them all; products of two rotated vectors are those of the two.
"""

import torch

GROUP = 32
CODE_BITS = (8, 4)
# Which nibble of a word, from the lowest, holds number i of 8.
_NIBBLES = tuple(i // 2 + 4 * (i % 2) for i in range(8))


def rotate(x: torch.Tensor) -> torch.Tensor:
    """fp32 of x's shape: each 32 numbers times the Hadamard matrix of 32, rows of length 1."""
    values = x.float().reshape(*x.shape[:-1], -1, GROUP)
    length: float = GROUP**-0.5
    half = 1
    while half < GROUP:
        pairs = values.reshape(*values.shape[:-1], GROUP // (2 * half), 2, half)
        low, high = pairs[..., 0, :], pairs[..., 1, :]
        values = torch.stack((low + high, low - high), dim=-2).reshape(values.shape)
        half *= 2
    return (values * length).reshape(x.shape)


def encode(x: torch.Tensor, bits: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes uint8 (…, dim * bits / 8) and scales fp16 (…, dim / 32) of x (…, dim), rotated here."""
    values = rotate(x).reshape(*x.shape[:-1], -1, GROUP)
    steps = 127 if bits == 8 else 15
    scales = (values.abs().amax(dim=-1) / steps).clamp(max=65504).half()
    by = scales.float()[..., None]
    ratio = torch.where(by > 0, values / by, torch.zeros_like(values))
    if bits == 8:
        codes = (ratio.round() + 128).clamp(1, 255)
    else:
        codes = ((ratio + 15) * 0.5).round().clamp(0, 15)
    packed = codes.to(torch.uint8).reshape(x.shape)
    if bits == 4:
        eights = packed.reshape(*x.shape[:-1], -1, 8)
        order = [_NIBBLES.index(i) for i in range(8)]  # the number of each nibble
        nibbles = eights[..., order]
        packed = (nibbles[..., 0::2] | (nibbles[..., 1::2] << 4)).flatten(-2)
    return packed, scales


def decode(codes: torch.Tensor, scales: torch.Tensor, bits: int) -> torch.Tensor:
    """fp32 (…, dim): what `encode` was given, but for its rounding; rotated back."""
    if bits == 4:
        nibbles = torch.stack((codes & 15, codes >> 4), dim=-1).flatten(-2)
        eights = nibbles.reshape(*codes.shape[:-1], -1, 8)[..., list(_NIBBLES)]
        values = eights.flatten(-2).float() * 2 - 15
    else:
        values = codes.float() - 128
    return rotate(values * scales.float().repeat_interleave(GROUP, dim=-1))
