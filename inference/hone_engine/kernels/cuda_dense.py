"""Dense weights on a GPU, beside the quantized ones of `cuda_packed`."""

from dataclasses import dataclass, replace

import torch

from hone_engine.kernels.cuda_mixed import CudaMixed
from hone_engine.kernels.cuda_packed import CudaWeight


@dataclass(frozen=True, slots=True)
class CudaDense:
    """A fp16 or bf16 matrix (rows, cols), row by row, ready for a dense product or an embedding."""

    values: torch.Tensor
    order: torch.Tensor | None = None  # as in CudaWeight

    @property
    def rows(self) -> int:
        return int(self.values.shape[0])

    @property
    def cols(self) -> int:
        return int(self.values.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes that a product streams."""
        return int(self.values.nbytes)

    def in_host_memory(self) -> "CudaDense":
        """The same in pinned memory of the host: for an embedding, of which a step reads rows."""
        values = self.values.cpu()
        return replace(self, values=values.pin_memory() if self.values.is_cuda else values)

    def dequantize(self) -> torch.Tensor:
        """fp32 (rows, cols)."""
        return self.values.float()


CudaTiles = CudaWeight | CudaMixed
CudaMatrix = CudaTiles | CudaDense
