"""Compile the CUDA sources for each supported architecture, warnings as errors; run nothing.

Most sources exist twice, for fp16 and for bf16 numbers, as one template each: the second of a pair
is compiled for sm_90a alone, unless HONE_CUDA_CHECK_ALL is set.
Where nvcc is missing it says so and succeeds: a machine without the toolkit checks all the rest.
HONE_CUDA_CHECK_ARCHS names other architectures than "80 90a 120".
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
ARCHS = os.environ.get("HONE_CUDA_CHECK_ARCHS", "80 90a 120").split()
ALL = bool(os.environ.get("HONE_CUDA_CHECK_ALL"))
FLAGS = ["-c", "-std=c++20", "-O1", "-Icsrc/include", "-Icsrc", "-Werror", "all-warnings",
         "-Xptxas", "-warn-spills", "-Xcompiler", "-Wall,-Wextra,-fPIC"]  # fmt: skip


def archs_of(source: Path) -> list[str]:
    """Host code is the same for all."""
    if source.suffix != ".cu":
        return ARCHS[:1]
    if "bf16" in source.stem and "90a" in ARCHS and not ALL:
        return ["90a"]
    return ARCHS


def compile_one(nvcc: str, source: Path, archs: list[str], folder: str) -> tuple[str, str]:
    """What was compiled, and what the compiler said if it failed; the archs share a front end."""
    code = [f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in archs]
    done = subprocess.run(
        [nvcc, *FLAGS, *code, str(source), "-o", str(Path(folder) / f"{source.stem}.o")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    named = ", sm_".join(archs)
    return f"{source.relative_to(ROOT)} for sm_{named}", "" if done.returncode == 0 else done.stderr


def main() -> int:
    """0 if all compiled or there is no compiler, else 1."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        print("CUDA sources: not compiled, since nvcc is not on the PATH")
        return 0
    began = time.monotonic()
    sources = sorted((ROOT / "csrc" / "ops" / "cuda").glob("*.c*"))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(compile_one, nvcc, source, archs_of(source), folder) for source in sources
        ]
        failed = [(what, said) for what, said in (job.result() for job in jobs) if said]
    for what, said in failed:
        print(f"{what}:\n{said}")
    seconds, targets = time.monotonic() - began, ", sm_".join(ARCHS)
    targets += "" if ALL else " (those of bf16 for sm_90a)"
    said = f"{len(jobs)} compiled for sm_{targets}, {len(failed)} failed, {seconds:.0f} s"
    print(f"CUDA sources: {said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
