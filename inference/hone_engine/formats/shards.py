"""The safetensors files of a model directory as one set of tensors."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from hone_engine.formats.errors import FormatError
from hone_engine.formats.safetensors_file import Entry, SafetensorsFile
from hone_engine.formats.spec import Array, Part

INDEX = "model.safetensors.index.json"


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; FormatError names the file when it is missing or no object."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise FormatError(f"{path}: is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise FormatError(f"{path}: holds {type(found).__name__}, wanted a JSON object")
    return found


def _shard_paths(path: Path) -> list[Path]:
    if (path / INDEX).exists():
        weight_map = read_json(path / INDEX).get("weight_map")
        if not isinstance(weight_map, dict) or not weight_map:
            raise FormatError(f"{path / INDEX}: has no weight_map")
        names = sorted({str(name) for name in weight_map.values()})
        if unsafe := [name for name in names if Path(name).name != name]:
            raise FormatError(f"{path / INDEX}: {unsafe[0]!r} is not a file beside it")
        if missing := [name for name in names if not (path / name).exists()]:
            raise FormatError(f"{path / missing[0]}: is missing ({INDEX} names it)")
        return [path / name for name in names]
    found = sorted(path.glob("*.safetensors"))
    if not found and (pickles := sorted([*path.glob("*.bin"), *path.glob("*.pth")])):
        raise FormatError(
            f"{pickles[0]}: is a pickle, which can run code when opened; wanted *.safetensors"
        )
    if not found:
        raise FormatError(f"{path}: has no *.safetensors file")
    return found


class Shards:
    """Every tensor of a directory by its name; raises FormatError naming file and tensor."""

    def __init__(self, path: Path):
        self.path = path
        self.files = [SafetensorsFile(shard) for shard in _shard_paths(path)]
        self._file_of: dict[str, SafetensorsFile] = {}
        for file in self.files:
            for name in file.entries:
                if name in self._file_of:
                    raise FormatError(
                        f"{file.path}: tensor {name} is also in {self._file_of[name].path}; "
                        "wanted it once"
                    )
                self._file_of[name] = file

    def __contains__(self, name: str) -> bool:
        return name in self._file_of

    @property
    def names(self) -> list[str]:
        """In the order of the files."""
        return [name for file in self.files for name in file.entries]

    def file(self, name: str) -> Path:
        """The file that holds a tensor, for messages; the directory where none does."""
        return self._file_of[name].path if name in self._file_of else self.path

    def entry(self, name: str) -> Entry:
        """Dtype and shape of a tensor; FormatError when no file has it."""
        if name not in self._file_of:
            raise FormatError(f"{self.path}: tensor {name} is missing")
        return self._file_of[name].entries[name]

    def matrix(self, name: str, dtype: str) -> tuple[int, int]:
        """The shape of a tensor that must be a matrix of that dtype."""
        entry = self.entry(name)
        if entry.dtype != dtype or len(entry.shape) != 2 or 0 in entry.shape:
            raise FormatError(
                f"{self.file(name)}: tensor {name} is {entry.dtype} {list(entry.shape)}, "
                f"wanted a matrix of {dtype}"
            )
        return entry.shape[0], entry.shape[1]

    def check(self, name: str, part: Part, dtypes: tuple[str, ...] = ()) -> Part:
        """The part as it lies there; FormatError unless shape and dtype (or one of those) fit."""
        if name not in self._file_of:
            raise FormatError(f"{self.path}: tensor {name} {list(part.shape)} is missing")
        entry = self.entry(name)
        if entry.shape != part.shape or entry.dtype not in (dtypes or (part.dtype,)):
            raise FormatError(
                f"{self.file(name)}: tensor {name} is {entry.dtype} {list(entry.shape)}, "
                f"wanted {' or '.join(dtypes or (part.dtype,))} {list(part.shape)}"
            )
        return Part(part.suffix, entry.dtype, part.shape)

    def check_finite(self, name: str, values: Array) -> None:
        """FormatError naming the tensor if one of its values is infinite or not a number."""
        if not np.isfinite(values).all():
            at = np.unravel_index(int(np.argmin(np.isfinite(values))), values.shape)
            raise FormatError(
                f"{self.file(name)}: tensor {name} has {values[at]} at {[int(n) for n in at]}, "
                "wanted finite numbers in the range of float16"
            )

    def array(self, name: str) -> Array:
        return self._file_of[name].array(name)

    def release(self, name: str) -> None:
        self._file_of[name].release(name)
