"""From a checkpoint's tensors to weights on a GPU."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from hone_engine.formats import Checkpoint, Dense, Quantized
from hone_engine.formats.spec import Array
from hone_engine.kernels.cuda_dense import CudaDense, CudaMatrix, CudaTiles
from hone_engine.kernels.cuda_mixed import of_one_width, pack_mixed, runs_of
from hone_engine.kernels.cuda_packed import pack_cuda
from hone_engine.kernels.cuda_rowwise import with_wide_copy
from hone_engine.layers.weights import OnTensor, WeightSource
from hone_engine.quant.join import widen
from hone_engine.quant.mixing import Mixed, mix, mixable

EMBEDDING = "embed_tokens"


class CudaWeightSource(WeightSource):
    """Hands out a checkpoint's matrices on `device`, dense ones in `dtype`; vectors as ever."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        on_tensor: OnTensor | None = None,
        *,
        device: torch.device | str,
        dtype: torch.dtype,
        wide_copy: bool = False,
        host_embedding: bool = False,
        keep_widths: bool = False,
    ):
        super().__init__(checkpoint, on_tensor)
        self._device, self._dtype, self._wide_copy = device, dtype, wide_copy
        self._host_embedding, self._keep_widths = host_embedding, keep_widths

    def packed(self, *names: str, rows: Array | None = None, in_order: bool = False) -> Any:
        if self._host_embedding and EMBEDDING in names[0]:
            table = super().packed(*names, rows=rows, in_order=in_order)
            return table.in_host_memory() if isinstance(table, CudaDense) else table
        if not mixable([self._checkpoint.specs[name] for name in names]):
            return super().packed(*names, rows=rows, in_order=in_order)
        mixed = mix(self.segments(*names), keep_widths=self._keep_widths)
        if rows is not None:
            starts = np.arange(len(names))[:, None] * len(rows)
            mixed = mixed.take_rows((starts + rows).reshape(-1))
        weight = pack_mixed_on(mixed, self._device)
        self.done(*names)
        return self._completed(weight, None if in_order else mixed.order)

    def _pack(self, joined: Dense | Quantized, order: Array | None) -> Any:
        return self._completed(pack_on(joined, self._device, self._dtype), order)

    def _completed(self, weight: CudaMatrix, order: Array | None) -> CudaMatrix:
        """With a wide copy where asked for, and the order of its columns."""
        if self._wide_copy:
            weight = with_wide_copy(weight, self._dtype)
        if order is None:
            return weight
        places = torch.from_numpy(order.astype(np.int32)).to(self._device)
        return replace(weight, order=places)


def pack_on(
    tensor: Dense | Quantized, device: torch.device | str, dtype: torch.dtype
) -> CudaMatrix:
    """A matrix (N, K) on a device: 4 and 8 bits in tiles, 5 bits as 8, the rest dense."""
    if isinstance(tensor, Dense):
        return CudaDense(_dense(tensor).to(device).to(dtype).contiguous())
    if tensor.bits == 5:
        tensor = widen(tensor, with_mins=tensor.mins is not None)
    codes = torch.from_numpy(np.ascontiguousarray(tensor.codes))
    scales = torch.from_numpy(np.ascontiguousarray(tensor.scales))
    mins = None if tensor.mins is None else torch.from_numpy(np.ascontiguousarray(tensor.mins))
    return pack_cuda(
        codes, scales, mins, bits=tensor.bits, group=tensor.group, device=torch.device(device)
    )


def pack_mixed_on(mixed: Mixed, device: torch.device | str) -> CudaTiles:
    """A matrix of several widths, or of one of them, in tiles on a device."""
    mins = None if mixed.mins is None else torch.from_numpy(mixed.mins)
    runs = runs_of(mixed.bits, mixed.groups)
    codes, scales = torch.from_numpy(mixed.codes), torch.from_numpy(mixed.scales)
    return of_one_width(pack_mixed(codes, scales, mins, runs, device=device))


def _dense(tensor: Dense) -> torch.Tensor:
    values = np.ascontiguousarray(tensor.values)
    if tensor.dtype == "bf16":
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)
