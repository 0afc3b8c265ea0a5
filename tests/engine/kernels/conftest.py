"""Each kernel test runs at every SIMD level of this CPU, with one thread and with two."""

import sys
import zlib
from pathlib import Path

import pytest
import torch

from hone_engine.kernels import Program, ReferenceProgram, simd_levels

sys.path.insert(0, str(Path(__file__).parent))  # for kernel_cases


@pytest.fixture(autouse=True)
def same_draws(request: pytest.FixtureRequest) -> None:
    """Each test draws the same numbers every time, in whatever order the tests run."""
    torch.manual_seed(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(params=["scalar", "avx2", "avx512"])
def simd(request: pytest.FixtureRequest) -> str:
    if request.param not in simd_levels():
        pytest.skip(f"this CPU has no {request.param}")
    return str(request.param)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def both(simd: str, threads: int):
    """Maker of a native and a reference program of the same limits."""

    def make(rows: int = 64, seqs: int = 8, pages: int = 64, *, int8: bool = True, **more: int):
        native = Program(rows, seqs, pages, threads, simd=simd, **more)
        return native, ReferenceProgram(rows, seqs, pages, int8=int8, **more)

    return make
