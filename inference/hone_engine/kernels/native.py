"""The compiled extension, and what the machine offers it."""

from functools import cache
from types import ModuleType
from typing import cast

try:
    from hone_engine import _C  # type: ignore[attr-defined, unused-ignore]
except ImportError as error:  # told at first use: the references work without it
    _C = None
    _missing: ImportError | None = error
else:
    _missing = None


def native() -> ModuleType:
    """The extension module, or RuntimeError with what to do if it is not built."""
    if _C is None:
        raise RuntimeError(f"hone_engine._C is not built; run `make ext` ({_missing})")
    return cast(ModuleType, _C)


def is_built() -> bool:
    """Whether the extension can be used."""
    return _C is not None


def simd_levels() -> list[str]:
    """Instruction sets this CPU has kernels for: of "scalar", "avx2", "avx512"."""
    return list(native().simd_levels())


def simd_best() -> str:
    """The instruction set in use: the best one, or the one that HONE_SIMD names."""
    return str(native().simd_best())


@cache
def physical_cores() -> int:
    """Cores this process may run on, hyper-threads counted once: the default of `threads`."""
    return int(native().physical_cores())


def read_bandwidth(threads: int | None = None, num_bytes: int = 1 << 28, repeats: int = 8) -> float:
    """Bytes a second that the threads together read from memory in 2 MiB pages: the roof.

    The best of `repeats` passes over `num_bytes`.
    """
    return float(native().read_bandwidth(num_bytes, threads or physical_cores(), repeats))
