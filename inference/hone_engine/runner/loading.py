"""From a model directory to a runner: check, reckon, pack, record."""

import importlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hone_engine import kernels
from hone_engine.config import EngineConfig, tuned
from hone_engine.formats import FormatError, ModelDirectory, Progress, ProgressCallback
from hone_engine.kernels import (
    KVCache,
    Program,
    Recorder,
    physical_cores,
    simd_best,
)
from hone_engine.layers import WeightSource
from hone_engine.models import registry
from hone_engine.models.config import ModelConfig
from hone_engine.models.llama import buffer_cols
from hone_engine.models.model import Model
from hone_engine.runner.memory import MemoryPlan, available_bytes, release_heap
from hone_engine.runner.model_runner import ModelRunner
from hone_engine.runner.weight_plan import weight_plan
from hone_engine.tokenizer import Tokenizer
from hone_engine.types import Runner


class LoadedRunner(Runner, Protocol):
    """A runner that can be let go."""

    def close(self) -> None: ...


@dataclass(slots=True)
class LoadedModel:
    """A model ready to run, with its tokenizer."""

    runner: LoadedRunner
    tokenizer: Tokenizer
    name: str
    eos_token_ids: tuple[int, ...]
    memory_bytes: int  # weights, cache when full, workspace
    device: str

    def close(self) -> None:
        """Free the weights and the cache; the model cannot be used after."""
        self.runner.close()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked model before its weights are read."""

    directory: ModelDirectory
    config: ModelConfig
    plan: MemoryPlan
    context_len: int
    engine: EngineConfig  # with the device decided


def load(
    path: Path, config: EngineConfig, *, on_progress: ProgressCallback | None = None
) -> LoadedModel:
    """Load the model directory at `path`.

    Raises FormatError for a directory that does not hold together, MemoryPlanError (with the
    figures) when it cannot fit; both before any weight is read.
    """
    prepared = prepare(path, config)
    config = prepared.engine
    tokenizer = Tokenizer.load(path)
    model = load_weights(prepared, on_progress)
    pages_per_seq = -(-prepared.context_len // config.page_len)
    program = make_program(
        config, max_rows=config.max_step_tokens, max_seqs=config.max_batch, max_pages=pages_per_seq
    )
    cache = make_cache(prepared.config, config)
    model.record(program, cache)
    release_heap()
    make = ModelRunner if config.device == "cpu" else gpu().runner
    runner = make(
        program,
        num_pages=config.num_pages,
        page_len=config.page_len,
        context_len=prepared.context_len,
        vocab_size=prepared.config.vocab_size,
        keeps=(model, cache),
    )
    return LoadedModel(
        runner,
        tokenizer,
        config.name or path.resolve().name,
        tokenizer.eos_token_ids,
        prepared.plan.total_bytes,
        device(config),
    )


def check(path: Path) -> tuple[ModelDirectory, ModelConfig]:
    """Open a directory and see whether it holds together; reads no weights, reckons no memory.

    Raises FormatError naming the file and what is wrong.
    """
    if path.is_file():
        raise FormatError(f"{path}: is a file; import it first: hone import {path}")
    if not path.is_dir():
        raise FormatError(f"{path}: is not there; wanted a model directory")
    directory = ModelDirectory(path)
    parsed = registry.check(directory)
    if parsed.head_dim % 16 or parsed.head_dim > 256:
        raise FormatError(f"{path}: head_dim is {parsed.head_dim}; wanted a multiple of 16, to 256")
    return directory, parsed


def prepare(path: Path, config: EngineConfig) -> Prepared:
    """Open and check a directory and reckon its memory; reads no weights."""
    config = tuned(config)
    directory, parsed = check(path)
    _check_kv(config)
    if config.page_len < 16 or config.page_len & (config.page_len - 1):
        raise ValueError(f"page_len is {config.page_len}; wanted a power of two, 16 or more")
    if config.device == "cuda":
        plan, config = gpu().plan(directory, parsed, config)
    else:
        plan = memory_plan(directory, parsed, config)
        plan.check(available_bytes())
    capacity = config.num_pages * config.page_len
    context_len = min(parsed.max_len, capacity, config.context_len or parsed.max_len)
    return Prepared(directory, parsed, plan, context_len, config)


def _check_kv(config: EngineConfig) -> None:
    wanted = ("fp16", "q8", "q4") if config.device == "cuda" else ("fp16", "fp32")
    if config.kv_dtype not in wanted:
        raise ValueError(
            f"kv_dtype is {config.kv_dtype}; on device {config.device} wanted {', '.join(wanted)}"
        )


def memory_plan(directory: ModelDirectory, parsed: ModelConfig, config: EngineConfig) -> MemoryPlan:
    """The bytes of weights, full cache and scratch."""
    item_len = 2 if config.kv_dtype == "fp16" else 4
    token_bytes = 2 * parsed.num_layers * parsed.num_kv_heads * parsed.head_dim * item_len
    per_row, per_logit_row = buffer_cols(parsed)
    weight_bytes, passing_bytes = weight_plan(directory, parsed)
    return MemoryPlan(
        weight_bytes=weight_bytes,
        cache_bytes=config.num_pages * config.page_len * token_bytes,
        workspace_bytes=4 * (config.max_step_tokens * per_row + config.max_batch * per_logit_row),
        passing_bytes=passing_bytes,
    )


def load_weights(prepared: Prepared, on_progress: ProgressCallback | None = None) -> Model:
    """Pack the weights, tensor by tensor."""
    specs = prepared.directory.specs
    total = sum(specs[name].num_bytes for name in registry.tensor_names(prepared.config))
    started, done = time.monotonic(), 0

    def on_tensor(num_bytes: int) -> None:
        nonlocal done
        done += num_bytes
        if on_progress is not None:
            on_progress(Progress(done, total, time.monotonic() - started))

    make = WeightSource if prepared.engine.device == "cpu" else gpu().source(prepared.engine)
    return registry.load(make(prepared.directory, on_tensor), prepared.config)


def make_program(
    config: EngineConfig,
    *,
    max_rows: int,
    max_seqs: int,
    max_pages: int,
    max_logit_rows: int | None = None,
) -> Recorder:
    """An empty program of the kind that the settings ask for."""
    if config.device == "cuda":
        program: Recorder = gpu().program(
            config, max_rows, max_seqs, max_pages, max_logit_rows=max_logit_rows
        )
        return program
    make = Program if config.kernels == "native" else kernels.ReferenceProgram
    return make(
        max_rows, max_seqs, max_pages, config.threads or None, max_logit_rows=max_logit_rows
    )


def make_cache(parsed: ModelConfig, config: EngineConfig) -> Any:
    """The pages that the settings ask for, empty."""
    if config.device == "cuda":
        return gpu().cache(parsed, config)
    return KVCache(
        config.num_pages,
        config.page_len,
        parsed.num_layers,
        parsed.num_kv_heads,
        parsed.head_dim,
        config.kv_dtype,
    )


def device(config: EngineConfig) -> str:
    """What computes, for people."""
    if config.device == "cuda":
        return str(gpu().name(config))
    if config.kernels == "reference":
        return "cpu, torch reference"
    return f"cpu, {simd_best()}, {config.threads or physical_cores()} threads"


def gpu() -> Any:
    """The backend of the GPU, whose modules are not loaded where there is none."""
    return importlib.import_module("hone_engine.runner.cuda_loading").backend
