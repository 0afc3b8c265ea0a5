"""What a directory says of its quantization, whatever file and words it uses for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hone_engine.formats.errors import FormatError
from hone_engine.formats.shards import read_json

METHODS = ("exl2", "gptq", "awq")
FILES = ("quantize_config.json", "quant_config.json")
KEY = "quantization_config"


@dataclass(frozen=True, slots=True)
class Quantization:
    """method: None for a plain model. group: inputs a scale; -1: all of them; None: not said.

    stored_zeros: the zero points lie as they are (GPTQ v2), not one less (v1). settings: the block
    as it was found.
    """

    method: str | None
    group: int | None = None
    stored_zeros: bool = False
    settings: Mapping[str, Any] | None = None


def find_quantization(path: Path, config: Mapping[str, Any], names: Iterable[str]) -> Quantization:
    """Read a model directory's settings; `names` are its tensors. Raises FormatError."""
    file, settings = _settings(path, config)
    suffixes = {name.rsplit(".", 1)[-1] for name in names}
    if "q_weight" in suffixes:  # old files of this format have no settings
        return Quantization("exl2", settings=settings or None)
    if not settings:
        if "qweight" in suffixes:
            raise FormatError(f"{path}: has tensors *.qweight, but no {KEY} says how to read them")
        return Quantization(None)
    method = _method(file, settings)
    if "qweight" not in suffixes:
        raise FormatError(
            f"{file}: is quantized as {method!r}, but no tensor *.q_weight or *.qweight is there"
        )
    stored_zeros = _check_variant(file, method, settings)
    group = _first(settings, "group_size", "q_group_size")
    if group is not None and (not isinstance(group, int) or group == 0 or group < -1):
        raise FormatError(f"{file}: group_size is {group!r}; wanted a number above 0, or -1")
    return Quantization(method, group, stored_zeros, settings)


def _settings(path: Path, config: Mapping[str, Any]) -> tuple[Path, Mapping[str, Any]]:
    for name in FILES:
        if (path / name).exists():
            return path / name, read_json(path / name)
    return path / "config.json", config.get(KEY) or {}


def _first(settings: Mapping[str, Any], *keys: str) -> Any:
    return next((settings[key] for key in keys if settings.get(key) is not None), None)


def _method(file: Path, settings: Mapping[str, Any]) -> str:
    default = "awq" if "gemm" in str(settings.get("version", "")).lower() else "gptq"
    found = str(_first(settings, "quant_method", "method") or default).lower()
    if found not in METHODS:
        raise FormatError(
            f"{file}: is quantized as {found!r}, which Hone does not read; wanted one of "
            f"{', '.join(METHODS)}"
        )
    return found


def _check_variant(file: Path, method: str, settings: Mapping[str, Any]) -> bool:
    """Whether zero points are stored as they are; FormatError for a layout that is not read."""
    if method == "awq":
        version = str(settings.get("version", "gemm")).lower()
        if version != "gemm":
            raise FormatError(f"{file}: version is {version!r}; wanted 'gemm'")
        return True
    layout = str(_first(settings, "checkpoint_format", "format") or "gptq").lower()
    if settings.get("is_marlin_format"):
        layout = "marlin"
    if layout not in ("gptq", "gptq_v2"):
        raise FormatError(f"{file}: checkpoint_format is {layout!r}; wanted 'gptq' or 'gptq_v2'")
    pack_dtype = str(settings.get("pack_dtype", "int32"))
    if pack_dtype != "int32":
        raise FormatError(f"{file}: pack_dtype is {pack_dtype!r}; wanted 'int32'")
    return layout == "gptq_v2"
