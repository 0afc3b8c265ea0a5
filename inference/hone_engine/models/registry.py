"""Which code runs which architecture: one line each."""

from pathlib import Path

from hone_engine.formats import Checkpoint, FormatError, check_tensors
from hone_engine.layers import WeightSource
from hone_engine.models import config
from hone_engine.models.llama import Llama
from hone_engine.models.model import Model

ARCHITECTURES: dict[str, type[Model]] = {  # by the name in config.json's `architectures`
    "LlamaForCausalLM": Llama,
    "MistralForCausalLM": Llama,
    "Qwen2ForCausalLM": Llama,
}


def check(checkpoint: Checkpoint) -> config.ModelConfig:
    """The model's figures, when its architecture is known and every tensor is there, in shape.

    Reads no weights. Raises FormatError naming the file and what is wrong.
    """
    path = _config_path(checkpoint.path)
    name = config.architecture_of(path, checkpoint.config)
    if name not in ARCHITECTURES:
        raise FormatError(
            f"{path}: the architecture is {name!r}; Hone runs {', '.join(ARCHITECTURES)}"
        )
    parsed = config.parse(path, checkpoint.config)
    check_tensors(checkpoint, ARCHITECTURES[name].tensor_shapes(parsed))
    return parsed


def load(source: WeightSource, parsed: config.ModelConfig) -> Model:
    """Pack the weights of a model that `check` has found sound."""
    model = ARCHITECTURES[parsed.architecture].load(source, parsed)
    source.report()
    return model


def tensor_names(parsed: config.ModelConfig) -> list[str]:
    """The tensors that a model is made of."""
    return list(ARCHITECTURES[parsed.architecture].tensor_shapes(parsed))


def packed_names(parsed: config.ModelConfig) -> list[tuple[str, ...]]:
    """The matrices of a model, each by the names of the tensors that are packed as one."""
    return ARCHITECTURES[parsed.architecture].packed_names(parsed)


def _config_path(path: Path) -> Path:
    return path / "config.json" if path.is_dir() else path
