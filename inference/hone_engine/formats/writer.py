"""Write a model directory so that it is either whole or not there."""

import errno
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from hone_engine.formats.errors import FormatError
from hone_engine.formats.safetensors_file import header_bytes
from hone_engine.formats.spec import TensorSpec
from hone_engine.formats.tensors import Tensor

WEIGHTS = "model.safetensors"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long reading or writing has come."""

    num_bytes: int
    total_bytes: int
    elapsed_s: float

    @property
    def bytes_per_second(self) -> float:
        return self.num_bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float:
        """Seconds left at the rate so far; 0 before there is one."""
        rate = self.bytes_per_second
        return (self.total_bytes - self.num_bytes) / rate if rate else 0.0


ProgressCallback = Callable[[Progress], None]


def write_model(
    path: Path,
    *,
    config: dict[str, Any],
    facts: dict[str, Any],
    sidecars: dict[str, bytes],
    specs: dict[str, TensorSpec],
    tensor: Callable[[str], Tensor],
    on_progress: ProgressCallback | None = None,
    overwrite: bool = False,
) -> None:
    """Write a model directory at `path`; `tensor` is asked once for each of `specs`, in order.

    Everything goes into a directory beside `path`, which is renamed at the end: after an error, an
    interruption or a full disk nothing of it is left. Raises FormatError.
    """
    if path.exists() and not overwrite:
        raise FormatError(f"{path}: is already there")
    with _clear_errors(path), _staging(path) as staging:
        _check_space(path, specs, sidecars)
        with (staging / WEIGHTS).open("wb") as file:
            _write_tensors(file, specs, tensor, on_progress)
            _sync(file)
        texts = {"config.json": _json(config), "hone.json": _json({"format": 1, **facts})}
        for name, content in {**sidecars, **texts}.items():
            with (staging / name).open("wb") as file:
                file.write(content)
                _sync(file)
        _put_in_place(staging, path)


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    staging.chmod(0o755)  # mkdtemp gives 0700
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(path.parent).free
            raise FormatError(
                f"{path}: the disk is full ({free / 1e6:.0f} MB free); nothing was kept"
            ) from error
        raise FormatError(f"{path}: cannot be written ({error.strerror or error})") from error


def _check_space(path: Path, specs: dict[str, TensorSpec], sidecars: dict[str, bytes]) -> None:
    wanted = sum(spec.num_bytes for spec in specs.values()) + sum(map(len, sidecars.values()))
    free = shutil.disk_usage(path.parent).free
    if wanted > free:
        raise FormatError(
            f"{path}: the disk is too full: {wanted / 1e6:.0f} MB wanted, {free / 1e6:.0f} MB free"
        )


def _write_tensors(
    file: BinaryIO,
    specs: dict[str, TensorSpec],
    tensor: Callable[[str], Tensor],
    on_progress: ProgressCallback | None,
) -> None:
    groups = {
        name: {"bits": spec.bits, "group": spec.group}
        for name, spec in specs.items()
        if spec.storage == "quantized"
    }
    arrays = [
        (part_name, part.dtype, part.shape)
        for name, spec in specs.items()
        for part_name, part in zip(spec.part_names(name), spec.parts, strict=True)
    ]
    metadata = {"format": "pt", "hone": json.dumps(groups, separators=(",", ":"))}
    file.write(header_bytes(arrays, metadata))
    total, written, started = sum(s.num_bytes for s in specs.values()), 0, time.monotonic()
    for name, spec in specs.items():
        found = tensor(name)
        assert found.spec == spec, f"{name}: got {found.spec}, planned {spec}"
        for array in found.arrays():
            file.write(array.data if array.flags.c_contiguous else array.tobytes())
        written += spec.num_bytes
        if on_progress is not None:
            on_progress(Progress(written, total, time.monotonic() - started))


def _put_in_place(staging: Path, path: Path) -> None:
    _sync_directory(staging)
    old: Path | None = None
    if path.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
        path.rename(old / path.name)
    staging.rename(path)
    _sync_directory(path.parent)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
