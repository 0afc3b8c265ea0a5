"""Readers and writers of model files; `open_checkpoint` takes whatever is at a path."""

from pathlib import Path

from hone_engine.formats.checkpoint import Checkpoint, check_tensors
from hone_engine.formats.directory import ModelDirectory
from hone_engine.formats.errors import FormatError
from hone_engine.formats.gguf.checkpoint import GGUFCheckpoint
from hone_engine.formats.segments import Segment, Segments
from hone_engine.formats.shards import read_json
from hone_engine.formats.spec import TensorSpec
from hone_engine.formats.tensors import Dense, Foreign, Quantized, Tensor
from hone_engine.formats.writer import Progress, ProgressCallback, write_model

__all__ = [
    "Checkpoint",
    "Dense",
    "Foreign",
    "FormatError",
    "ModelDirectory",
    "Progress",
    "ProgressCallback",
    "Quantized",
    "Segment",
    "Segments",
    "Tensor",
    "TensorSpec",
    "check_tensors",
    "open_checkpoint",
    "read_json",
    "write_model",
]

FILES = {".gguf": GGUFCheckpoint}


def open_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint at `path`: a GGUF file or a model directory. Raises FormatError."""
    if path.is_dir():
        return ModelDirectory(path)
    if not path.exists():
        raise FormatError(f"{path}: is not there")
    if path.suffix.lower() not in FILES:
        raise FormatError(f"{path}: wanted a directory or one of {', '.join(FILES)}")
    return FILES[path.suffix.lower()](path)
