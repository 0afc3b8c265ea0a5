"""A runner to be measured: over a model directory, or over random weights made on the GPU."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from hone_engine.config import EngineConfig, tuned
from hone_engine.layers.mixtures import Mixture, parse_bits
from hone_engine.layers.synthetic_weights import SyntheticSource
from hone_engine.models.config import ModelConfig
from hone_engine.models.llama import Llama
from hone_engine.models.shapes import SHAPES
from hone_engine.runner import cuda_loading
from hone_engine.runner.cuda_runner import CudaRunner
from hone_engine.runner.loading import load
from hone_engine.runner.memory import MemoryPlan


@dataclass(frozen=True, slots=True)
class Measured:
    """A runner, the model's figures, and the bytes that a step of few rows streams."""

    runner: CudaRunner
    config: ModelConfig
    streamed_bytes: int
    name: str
    device: str


def loaded(model: Path | str, config: EngineConfig, *, streams: int, context: int) -> Measured:
    """A model directory, or a synthetic model, with a cache for so many texts of 4096 tokens and
    for one of `context`."""
    tokens = max(streams * 4352, context)
    if isinstance(model, str):
        return load_synthetic(model, config, cache_tokens=tokens, context_len=context)
    found: Any = load(model, replace(config, cache_tokens=tokens, context_len=context))
    weights = found.runner.keeps[0]
    size = streamed_bytes(weights)
    return Measured(found.runner, weights.config, size, found.name, found.device)


def streamed_bytes(model: Llama) -> int:
    """Bytes of weights that a step reads: all but the embedding, unless it is the head too."""
    return model.num_bytes - (0 if model.config.tied else model.embedding.nbytes)


def parse_spec(spec: str) -> tuple[ModelConfig, int | Mixture]:
    """Shape and bits; ValueError where one is not known."""
    shape, _, bits = spec.partition(":")
    if shape not in SHAPES:
        raise ValueError(f"synthetic: got shape {shape!r}, wanted one of {', '.join(SHAPES)}")
    return SHAPES[shape], parse_bits(bits or "4")


def synthetic_plan(parsed: ModelConfig, bits: int | Mixture, config: EngineConfig) -> MemoryPlan:
    """The bytes that such a model takes on a GPU, reckoned without one."""
    config = replace(config, dtype="fp16" if config.dtype == "auto" else config.dtype)
    source = _source(parsed, bits, config, torch.device("cpu"))
    weights = sum(source.planned_bytes(*names) for names in Llama.packed_names(parsed))
    vectors = (2 * parsed.num_layers + 1) * parsed.hidden_size * 4
    cache = cuda_loading.cache_bytes(parsed, config, config.num_pages)
    workspace = cuda_loading.workspace_bytes(parsed, config)
    return MemoryPlan(weights + vectors, cache, workspace, cuda_loading.CONTEXT_BYTES)


def _source(
    parsed: ModelConfig, bits: int | Mixture, config: EngineConfig, device: torch.device
) -> SyntheticSource:
    return SyntheticSource(
        Llama.tensor_shapes(parsed),
        bits,
        device=device,
        dtype=cuda_loading.DTYPES[config.dtype],
        wide_copy=config.wide_copy,
        host_embedding=config.host_embedding,
        keep_widths=config.keep_widths,
    )


def load_synthetic(
    spec: str, config: EngineConfig, *, cache_tokens: int, context_len: int
) -> Measured:
    """A model such as "llama-8b:4.0" or "llama-70b:2.5": a shape of `models.shapes`, and bits a
    weight as `parse_bits` takes them.

    Raises MemoryPlanError, with the figures, when it cannot fit; widths are kept, and the embedding
    stays in the host's memory, where only that makes it fit.
    """
    parsed, bits, gpu = *parse_spec(spec), cuda_loading.backend
    gpu.check()
    config = tuned(replace(config, device="cuda", cache_tokens=cache_tokens))
    config = replace(config, dtype="fp16" if config.dtype == "auto" else config.dtype)
    free = gpu.free_bytes()
    if synthetic_plan(parsed, bits, config).total_bytes > free:
        config = replace(config, keep_widths=True)
    if synthetic_plan(parsed, bits, config).total_bytes > free:
        config = replace(config, host_embedding=True)
    synthetic_plan(parsed, bits, config).check(free)
    source: Any = _source(parsed, bits, config, gpu.device)
    model = Llama.load(source, parsed)
    program: Any = gpu.program(
        config, config.max_step_tokens, config.max_batch, -(-context_len // config.page_len)
    )
    cache: Any = gpu.cache(parsed, config)
    model.record(program, cache)
    runner = gpu.runner(
        program,
        num_pages=config.num_pages,
        page_len=config.page_len,
        context_len=context_len,
        vocab_size=parsed.vocab_size,
        keeps=(model, cache),
    )
    return Measured(runner, parsed, streamed_bytes(model), spec, gpu.name(config))
