"""Build the CUDA extension into inference/hone_engine, for HONE_CUDA_ARCHS (default: 90a).

Needs nvcc; compiles nothing of the CPU extension. HONE_CUDA_ARCHS is a list such as "80;90a;120".
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pybind11

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / f"cuda-{sys.implementation.cache_tag}"


def main() -> None:
    """Configure, compile what changed, and put the module beside its package."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        sys.exit("CUDA extension: not built, no nvcc on the PATH")
    cmake = shutil.which("cmake", path=str(Path(sys.executable).parent)) or "cmake"
    ninja = shutil.which("ninja", path=str(Path(sys.executable).parent)) or shutil.which("ninja")
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    subprocess.run(
        [cmake, "-S", ROOT, "-B", BUILD, *generator, "-DCMAKE_BUILD_TYPE=Release",
         "-DHONE_CUDA=ON", f"-DHONE_CUDA_ARCHS={os.environ.get('HONE_CUDA_ARCHS', '90a')}",
         f"-DCMAKE_CUDA_COMPILER={nvcc}", f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
         f"-DPython_EXECUTABLE={sys.executable}"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    jobs = str(os.cpu_count() or 2)
    subprocess.run([cmake, "--build", BUILD, "--target", "_cuda", "-j", jobs], check=True)
    for module in BUILD.glob("_cuda*.so"):
        staged = ROOT / "inference" / "hone_engine" / (module.name + ".new")
        shutil.copy2(module, staged)
        staged.replace(staged.with_suffix(""))


if __name__ == "__main__":
    main()
