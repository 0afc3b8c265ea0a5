"""A batch onto the device: load a model, compute chunks, draw tokens."""

from hone_engine.runner.loading import LoadedModel, check, load
from hone_engine.runner.memory import MemoryPlan, MemoryPlanError
from hone_engine.runner.model_runner import ModelRunner
from hone_engine.runner.perplexity import Perplexity, perplexity

__all__ = [
    "LoadedModel",
    "MemoryPlan",
    "MemoryPlanError",
    "ModelRunner",
    "Perplexity",
    "check",
    "load",
    "perplexity",
]
