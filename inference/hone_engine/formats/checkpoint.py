"""The one shape in which every reader shows its weights."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from hone_engine.formats.errors import FormatError
from hone_engine.formats.spec import TensorSpec
from hone_engine.formats.tensors import Tensor


class Checkpoint(Protocol):
    """Weights and what belongs to them, opened but not read.

    Names and `config` are those of Hugging Face's llama family, whatever the source calls them.
    """

    path: Path
    config: dict[str, Any]
    specs: dict[str, TensorSpec]

    def tensor(self, name: str) -> Tensor:
        """The tensor, as views into the file where it can be; KeyError for an unknown name."""
        ...

    def release(self, name: str) -> None:
        """The tensor is not needed again soon: its pages may go."""
        ...

    def file(self, name: str) -> Path:
        """Where the tensor lies, for messages."""
        ...

    def sidecars(self) -> dict[str, bytes]:
        """The files beside the weights: tokenizer.json, generation_config.json, ..."""
        ...

    def facts(self) -> dict[str, Any]:
        """What is known of the source: format, name, license, ..."""
        ...


def check_tensors(checkpoint: Checkpoint, wanted: dict[str, tuple[int, ...]]) -> None:
    """Raise FormatError for the first tensor that is missing, or has another shape than wanted.

    Outputs beyond the wanted ones that are padding are left out of the spec from here on.
    """
    for name, shape in wanted.items():
        spec = checkpoint.specs.get(name)
        if spec is None:
            raise FormatError(f"{checkpoint.path}: tensor {name} {list(shape)} is missing")
        padded = (-(-shape[0] // spec.padding) * spec.padding, *shape[1:])
        if spec.shape != padded:
            raise FormatError(
                f"{checkpoint.file(name)}: tensor {name} has shape {list(spec.shape)}, "
                f"wanted {list(shape)}"
            )
        if spec.shape != shape:
            checkpoint.specs[name] = replace(spec, shape=shape)
        _refuse_bias(checkpoint, f"{name.removesuffix('.weight')}.bias", wanted)


def _refuse_bias(checkpoint: Checkpoint, name: str, wanted: Mapping[str, object]) -> None:
    """Some programs write biases of zeros for layers that have none; others would be lost."""
    if name in checkpoint.specs and name not in wanted and checkpoint.tensor(name).float32().any():
        raise FormatError(
            f"{checkpoint.file(name)}: tensor {name} {list(checkpoint.specs[name].shape)} is not "
            "zero, and nothing adds it"
        )
