"""Build the C++ extensions beside their packages, incrementally."""

import shutil
import subprocess
import sys
from pathlib import Path

import pybind11

ROOT = Path(__file__).parents[1]
# Module -> the package that imports it.
PLACES = {"_C": "inference/hone_engine", "_wire": "platform/hone/traces/core/wire"}
BUILD = ROOT / "build" / f"ext-{sys.implementation.cache_tag}"


def main() -> None:
    """Configure once, compile what changed, and copy each module beside its package."""
    cmake = shutil.which("cmake", path=str(Path(sys.executable).parent)) or "cmake"
    ninja = shutil.which("ninja", path=str(Path(sys.executable).parent))
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    subprocess.run(
        [cmake, "-S", ROOT, "-B", BUILD, *generator, "-DCMAKE_BUILD_TYPE=Release",
         f"-Dpybind11_DIR={pybind11.get_cmake_dir()}", f"-DPython_EXECUTABLE={sys.executable}"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    subprocess.run([cmake, "--build", BUILD, "-j", "2"], check=True)
    for name, place in PLACES.items():
        for module in BUILD.glob(f"{name}.*.so"):
            # A rename, not a write in place: a process that maps the old file goes on with it.
            staged = ROOT / place / (module.name + ".new")
            shutil.copy2(module, staged)
            staged.replace(staged.with_suffix(""))


if __name__ == "__main__":
    main()
