"""Keys and values of all sequences in pages on one GPU."""

import math

import torch

from hone_engine.kernels.cuda_kv_codes import GROUP, decode, encode

CACHE_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
CACHE_BITS = {"fp16": 16, "bf16": 16, "q8": 8, "q4": 4}
MAX_HEAD_DIM = 256


def _check(page_size: int, head_dim: int, dtype: str) -> None:
    if page_size < 16 or page_size & (page_size - 1):
        raise ValueError(f"page_size: got {page_size}, wanted a power of two, 16 or more")
    if dtype not in CACHE_BITS:
        raise ValueError(f"dtype: got {dtype!r}, wanted one of {', '.join(CACHE_BITS)}")
    step = 16 if dtype in CACHE_DTYPES else GROUP
    if head_dim % step or not 0 < head_dim <= MAX_HEAD_DIM:
        raise ValueError(
            f"head_dim: got {head_dim}, wanted a multiple of {step} up to {MAX_HEAD_DIM}"
        )


def cuda_cache_bytes(
    num_pages: int,
    page_size: int,
    num_layers: int,
    num_kv_heads: int,
    head_dim: int,
    dtype: str = "fp16",
) -> int:
    """Bytes of a `CudaKVCache` of these arguments, before it is made."""
    _check(page_size, head_dim, dtype)
    numbers = math.prod((num_pages, page_size, num_layers, num_kv_heads, head_dim))
    scales = 0 if dtype in CACHE_DTYPES else numbers // GROUP * 2
    return 2 * (numbers * CACHE_BITS[dtype] // 8 + scales)


class CudaKVCache:
    """Paged keys and values, zeroed, each (layers, pages, kv_heads, page_size, head_dim).

    The tokens of a page and head lie side by side: 64 kB of keys to stream at 256 tokens of 128
    numbers. dtype: "fp16" or "bf16", that of the activations; or "q8", "q4" (cuda_kv_codes.py):
    uint8 (…, head_dim * bits / 8) with scales, fp16 (…, head_dim / 32).
    """

    def __init__(
        self,
        num_pages: int,
        page_size: int,
        num_layers: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: str = "fp16",
        *,
        device: torch.device | str = "cuda",
    ) -> None:
        _check(page_size, head_dim, dtype)
        self.num_pages, self.page_size, self.num_layers = num_pages, page_size, num_layers
        self.num_kv_heads, self.head_dim, self.dtype = num_kv_heads, head_dim, dtype
        self.bits = CACHE_BITS[dtype]
        place = (num_layers, num_pages, num_kv_heads, page_size)
        kind, width = CACHE_DTYPES.get(dtype, torch.uint8), head_dim
        groups = 0
        if self.bits < 16:
            width, groups = head_dim * self.bits // 8, head_dim // GROUP
        self.keys = torch.zeros(*place, width, dtype=kind, device=device)
        self.values = torch.zeros(*place, width, dtype=kind, device=device)
        self.key_scales = torch.zeros(*place, groups, dtype=torch.float16, device=device)
        self.value_scales = torch.zeros(*place, groups, dtype=torch.float16, device=device)

    @property
    def nbytes(self) -> int:
        """Bytes of all pages."""
        parts = (self.keys, self.values, self.key_scales, self.value_scales)
        return sum(part.nbytes for part in parts)

    @property
    def device(self) -> torch.device:
        """Where the pages are."""
        return self.keys.device

    def address(self, layer: int) -> tuple[int, ...]:
        """What a kernel needs to find the pages of a layer."""
        if not 0 <= layer < self.num_layers:
            raise ValueError(f"layer: got {layer}, wanted 0 to {self.num_layers - 1}")
        keys, values = self.keys[layer].data_ptr(), self.values[layer].data_ptr()
        scales = (self.key_scales[layer].data_ptr(), self.value_scales[layer].data_ptr())
        shape = (self.num_kv_heads, self.head_dim, self.page_size.bit_length() - 1, self.bits)
        return (keys, values, *shape, *scales)

    def write(
        self,
        layer: int,
        pages: torch.Tensor,
        offsets: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> None:
        """Store tokens, each at a place of a page; pages, offsets (n,), keys (n, kv_heads, dim)."""
        kept = (
            (self.keys, self.key_scales, keys),
            (self.values, self.value_scales, values),
        )
        for numbers, scales, given in kept:
            if self.bits < 16:
                codes, by = encode(given, self.bits)
                numbers[layer][pages, :, offsets] = codes
                scales[layer][pages, :, offsets] = by
            else:
                numbers[layer][pages, :, offsets] = given.to(numbers.dtype)

    def read(
        self, layer: int, pages: torch.Tensor, length: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """fp32 keys and values of one sequence, each (length, kv_heads, head_dim)."""

        def tokens(part: torch.Tensor) -> torch.Tensor:
            return part[layer, pages].permute(0, 2, 1, 3).flatten(0, 1)[:length]

        if self.bits == 16:
            return tokens(self.keys).float(), tokens(self.values).float()
        keys = decode(tokens(self.keys), tokens(self.key_scales), self.bits)
        return keys, decode(tokens(self.values), tokens(self.value_scales), self.bits)
