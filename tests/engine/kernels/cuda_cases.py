"""What tests of kernels on a GPU share: fresh data, weights in tiles, closeness."""

import pytest
import torch

from hone_engine.kernels.cuda_native import why_no_cuda
from hone_engine.kernels.cuda_packed import CudaWeight, pack_cuda

REASON = why_no_cuda()
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
DTYPES = [torch.float16, torch.bfloat16]


def tiles(
    rows: int, cols: int, bits: int, group: int, has_min: bool, device: str = "cuda"
) -> CudaWeight:
    """A random weight in tiles."""
    shape = (rows, cols * bits // 8)
    codes = torch.randint(0, 256, shape, dtype=torch.uint8, device=device)
    if bits == 8 and not has_min:
        codes = codes.view(torch.int8)
    scales = torch.rand(rows, cols // group, device=device).add(0.1).mul(0.02 / 2 ** (bits - 4))
    mins = torch.randn(rows, cols // group, device=device).mul(0.05)
    return pack_cuda(codes, scales.half(), mins.half() if has_min else None, bits=bits, group=group)


def close(got: torch.Tensor, wanted: torch.Tensor) -> None:
    """Within two roundings of the result's type, beside the largest number of a row."""
    assert got.shape == wanted.shape
    assert torch.isfinite(got).all()
    if not got.numel():
        return
    unit = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5}[got.dtype]
    error = (got.double() - wanted.double()).abs().amax(-1)
    size = wanted.double().abs().amax(-1) + 1e-6
    assert (error <= unit * size).all(), (error / size).max()
