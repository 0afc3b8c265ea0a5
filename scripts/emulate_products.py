"""Compare the CUDA products with their reference without a GPU: threads become fibers of the CPU.

    python scripts/emulate_products.py [--seed N] [--all]

Needs g++ and the CUDA toolkit's headers. The kernels' sources are used as they are, but for inline
assembly and the launch. Slow: some 30 s for a tenth of the cases. Clusters are not emulated, and
products by warpgroups are done at once, so that no waiting for them is checked.
"""

import argparse
import ctypes
import itertools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "inference"), str(ROOT / "tests" / "engine" / "kernels")]

import torch  # noqa: E402
from test_cuda_mixed import MIXTURES, made  # noqa: E402

from hone_engine.kernels.cuda_dense import CudaTiles  # noqa: E402
from hone_engine.kernels.cuda_packed import pack_cuda  # noqa: E402

SOURCES = [f"linear/{name}" for name in
           ("linear.hpp", "tile.cuh", "few_rows.cuh", "few_mixed.cuh", "many_rows.cuh",
            "launch.cuh", "wgmma.hpp", "lane_ring.cuh", "wgmma_rows.cuh")]  # fmt: skip
LAUNCH = """template <class P>
void start(void (*kernel)(P), P p, int blocks, int threads, int64_t shared_bytes, const Linear&, const Device& device, cudaStream_t) {
  if (shared_bytes > device.shared_bytes) throw std::runtime_error("too much shared memory");
  emulator::run(blocks, threads, size_t(shared_bytes), [=] { kernel(p); }, reverse_blocks);
}

"""  # noqa: E501
LOP3 = (
    r'asm\("lop3\.b32 %0, %1, %2, %3, 0xea;" : "=r"\((.*?)\) : '
    r'"r"\((.*)\), "r"\((\w+)\), "r"\((\w+)\)\);'
)
ASSEMBLY = [
    (r"extern __shared__ .*?uint8_t shared\[\];", "uint8_t* shared = emulator::shared;"),
    (LOP3, r"\1 = ((\2) & \3) | \4;"),
    (r'asm volatile\("atom\.acq_rel\.gpu.*?\);', "before = (*counter)++;"),
]


def build(folder: Path, *, bulk: bool) -> ctypes.CDLL:
    """The kernels for the CPU; `bulk`: with Hopper's copies, else with those before."""
    for name in SOURCES:
        text = (ROOT / "csrc" / "kernels" / name).read_text()
        for found, instead in ASSEMBLY:
            text = re.sub(found, instead, text)
        if name.endswith("launch.cuh"):
            head, rest = text.split("template <class P>\nvoid start(", 1)
            rest = rest[rest.index("template <class T, int BITS>\nbool launch_few") :]
            head = head.replace(
                "namespace hone::cuda {",
                "inline bool reverse_blocks = false;\nnamespace hone::cuda {",
                1,
            )
            text = head + LAUNCH + rest
        target = folder / "kernels" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    (folder / "hone").mkdir(exist_ok=True)
    for name in ("device.cuh", "warpgroup.cuh"):
        (folder / "hone" / name).write_text((ROOT / "scripts/emulator" / name).read_text())
    module = folder / f"products{int(bulk)}.so"
    subprocess.run(
        ["g++", "-std=c++20", "-O1", "-w", "-shared", "-fPIC", f"-DEMULATE_BULK={int(bulk)}",
         f"-I{folder}", f"-I{ROOT}/scripts/emulator", "-I/usr/local/cuda/include",
         ROOT / "scripts" / "emulator" / "products.cpp", "-o", module],
        check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(module))


def ints(*values: int) -> ctypes.Array[ctypes.c_int]:
    return (ctypes.c_int * len(values))(*values)


def product(
    module: ctypes.CDLL, weight: CudaTiles, x: torch.Tensor, device: tuple[int, int],
    *, invariant: bool = False, reverse: bool = False, warpgroups: bool = False,
) -> torch.Tensor:  # fmt: skip
    """fp32 (rows, outputs); numbers that nobody wrote are NaN."""
    out = torch.full((x.shape[0], weight.rows), float("nan"))
    partials, counters = torch.full((1 << 22,), float("nan")), torch.zeros(4096, dtype=torch.int32)
    bits, group, has_min = weight.form
    runs = [number for run in weight.native_runs for number in run]
    places = [ctypes.c_void_p(t.data_ptr()) for t in (weight.tiles, x, out, partials, counters)]
    ran = module.emulate_product(
        *places, ints(x.shape[0], weight.cols, weight.rows),
        ints(bits, group, int(has_min), int(x.dtype == torch.bfloat16)), ints(*runs),
        len(weight.native_runs), ints(*device), ints(int(invariant), int(reverse), int(warpgroups)),
    )  # fmt: skip
    assert ran
    assert not counters.any(), "counters are left as zeros"
    return out


def emulate_warpgroups(module: ctypes.CDLL, seed: int) -> int:
    """4 bits everywhere and a pair of widths, by few and by many blocks; how many products."""
    cases = list(itertools.product((32, 64, 128, 0), (False, True), (12, 27, 64)))[seed % 2 :: 2]
    for number, (group, has_min, count) in enumerate(cases, seed):
        if group:
            codes = torch.randint(0, 256, (200, 1280 // 2), dtype=torch.uint8)
            scales = torch.rand(200, 1280 // group).add(0.1).mul(0.02).half()
            mins = torch.randn(200, 1280 // group).mul(0.05).half() if has_min else None
            weight: CudaTiles = pack_cuda(codes, scales, mins, bits=4, group=group)
            values = weight.dequantize()
        else:
            weight, values = made("pair", 200, tail=32 * has_min)
        x = torch.randn(count, weight.cols).to((torch.float16, torch.bfloat16)[count % 2])
        device = ((1, 2, 3, 5, 40)[number % 5], 90)
        found = product(module, weight, x, device, reverse=number % 2 == 1, warpgroups=True)
        wanted = x.double() @ values.double().T
        error = float((found.double() - wanted).norm() / wanted.norm())
        assert error < 1e-5, (group, has_min, count, error)
    return len(cases)


def main() -> int:
    """0 if all products are the references."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    rows, dtypes = (1, 7, 13, 20, 40, 64), (torch.float16, torch.bfloat16)
    cases = list(itertools.product(MIXTURES, (False, True), rows, dtypes, (False, True)))
    chosen = cases if options.all else cases[options.seed % 10 :: 10]
    with tempfile.TemporaryDirectory() as folder:
        modules = {bulk: build(Path(folder), bulk=bulk) for bulk in (False, True)}
        for number, (mixture, has_min, count, dtype, bulk) in enumerate(chosen):
            weight, values = made(mixture, 200, has_min=has_min, tail=32)
            x = torch.randn(count, weight.cols).to(dtype)
            device = ((3, 6, 40)[number % 3], 90 if bulk else 80)
            how = {"reverse": number % 2 == 1, "invariant": number % 4 == 3,
                   "warpgroups": number % 3 != 2}  # fmt: skip
            found = product(modules[bulk], weight, x, device, **how)
            wanted = x.double() @ values.double().T
            error = float((found.double() - wanted).norm() / wanted.norm())
            # Offsets of codes are taken off sums, both in fp32.
            assert error < 2e-4, (mixture, has_min, count, dtype, bulk, error)
        num_warpgroups = emulate_warpgroups(modules[True], options.seed)
    print(f"{len(chosen) + num_warpgroups} products are the references")
    return 0


if __name__ == "__main__":
    sys.exit(main())
