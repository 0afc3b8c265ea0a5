"""What an architecture offers; `llama.Llama` is the first."""

from typing import Protocol, Self

from hone_engine.kernels import KVCache, Recorder
from hone_engine.layers import WeightSource
from hone_engine.models.config import ModelConfig


class Model(Protocol):
    """Packed weights that can write their forward pass into a program."""

    @staticmethod
    def tensor_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
        """Every tensor that a checkpoint must have, with its shape."""
        ...

    @staticmethod
    def packed_names(config: ModelConfig) -> list[tuple[str, ...]]:
        """The matrices, each by the names of the tensors that are packed as one."""
        ...

    @classmethod
    def load(cls, source: WeightSource, config: ModelConfig) -> Self:
        """Pack the weights of a checkpoint that has been checked."""
        ...

    @property
    def num_bytes(self) -> int:
        """Bytes of the packed matrices."""
        ...

    def record(self, program: Recorder, cache: KVCache) -> None:
        """Record a step; the program's result are the logits of the wanted rows."""
        ...
