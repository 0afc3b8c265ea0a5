"""Keys and values of all sequences in pages, shared by the native and the reference programs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hone_engine.kernels.lazy_torch import torch
from hone_engine.kernels.native import native

BLOCK = 16  # positions whose keys lie side by side, so that a SIMD lane is a position


def _zeros(shape: tuple[int, ...], dtype: str) -> NDArray[np.floating]:
    kind = np.dtype(np.float16 if dtype == "fp16" else np.float32)
    memory: NDArray[np.uint8] = native().huge_zeros(int(np.prod(shape)) * kind.itemsize)
    return memory.view(kind).reshape(shape)


class KVCache:
    """Paged keys and values, zeroed; memory is touched (and counted) only as pages are used.

    keys:   (pages, layers, kv_heads, page_size / 16, head_dim, 16), lane = position
    values: (pages, layers, kv_heads, page_size, head_dim)
    All layers of a page lie together, in 2 MiB pages of the system: few sequences touch little.
    """

    def __init__(
        self,
        num_pages: int,
        page_size: int,
        num_layers: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: str = "fp16",
    ) -> None:
        if page_size < BLOCK or page_size & (page_size - 1):
            raise ValueError(f"page_size: got {page_size}, wanted a power of two, 16 or more")
        if dtype not in ("fp16", "fp32"):
            raise ValueError(f"dtype: got {dtype!r}, wanted 'fp16' or 'fp32'")
        if head_dim % 16 or not 0 < head_dim <= 256:
            raise ValueError(f"head_dim: got {head_dim}, wanted a multiple of 16 up to 256")
        self.num_pages, self.page_size, self.num_layers = num_pages, page_size, num_layers
        self.num_kv_heads, self.head_dim, self.dtype = num_kv_heads, head_dim, dtype
        head = (num_pages, num_layers, num_kv_heads)
        self._keys = _zeros((*head, page_size // BLOCK, head_dim, BLOCK), dtype)
        self._values = _zeros((*head, page_size, head_dim), dtype)

    @property
    def keys(self) -> torch.Tensor:
        """The memory of the keys, not a copy."""
        return torch.from_numpy(self._keys)

    @property
    def values(self) -> torch.Tensor:
        """The memory of the values, not a copy."""
        return torch.from_numpy(self._values)

    @property
    def nbytes(self) -> int:
        """Bytes when every page is in use."""
        return self._keys.nbytes + self._values.nbytes

    def address(self) -> tuple[int, int, int, int, int, int, int, bool]:
        """What the native kernels need to find every page."""
        shape = (self.num_pages, self.page_size, self.num_layers, self.num_kv_heads, self.head_dim)
        return (self._keys.ctypes.data, self._values.ctypes.data, *shape, self.dtype == "fp16")

    def write(
        self, layer: int, page: int, offset: int, key: torch.Tensor, value: torch.Tensor
    ) -> None:
        """Store one token at a place of a page; key, value: (kv_heads, head_dim)."""
        self._keys[page, layer, :, offset // BLOCK, :, offset % BLOCK] = key.numpy()
        self._values[page, layer, :, offset, :] = value.numpy()

    def read(
        self, layer: int, pages: torch.Tensor, length: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """fp32 keys and values of one sequence, each (length, kv_heads, head_dim)."""
        shape = (len(pages) * self.page_size, self.num_kv_heads, self.head_dim)
        keys = self.keys[pages, layer].permute(0, 2, 4, 1, 3).reshape(shape)
        values = self.values[pages, layer].permute(0, 2, 1, 3).reshape(shape)
        return keys[:length].float(), values[:length].float()
