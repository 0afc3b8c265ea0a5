"""The CUDA extension, and why it cannot be used where it cannot."""

from types import ModuleType
from typing import cast

import torch

try:
    from hone_engine import _cuda  # type: ignore[attr-defined, unused-ignore]
except ImportError as error:  # told at first use: the references work without it
    _cuda = None
    _missing: ImportError | None = error
else:
    _missing = None


def why_no_cuda() -> str | None:
    """What keeps the CUDA kernels from being used here, or None."""
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} sees no GPU"
    if _cuda is None:
        return f"hone_engine._cuda is not built: python scripts/build_cuda.py ({_missing})"
    return None


def cuda_native() -> ModuleType:
    """The extension module, or RuntimeError with the reason why not."""
    reason = why_no_cuda()
    if reason is not None:
        raise RuntimeError(reason)
    return cast(ModuleType, _cuda)
