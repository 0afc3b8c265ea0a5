"""The parts of a loaded model that lie on a GPU: memory plan, weights, program, cache, runner."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from hone_engine.config import EngineConfig
from hone_engine.formats import ModelDirectory, TensorSpec
from hone_engine.kernels.cuda_kernels import DENSE_BYTES, Kernels
from hone_engine.kernels.cuda_kv_cache import CudaKVCache, cuda_cache_bytes
from hone_engine.kernels.cuda_native import why_no_cuda
from hone_engine.kernels.cuda_packed import BAND_ROWS, TILE_COLS, padded
from hone_engine.kernels.cuda_program import CudaProgram
from hone_engine.layers.cuda_weights import CudaWeightSource
from hone_engine.models import registry
from hone_engine.models.config import ModelConfig
from hone_engine.models.llama import EMBEDDING, buffer_cols
from hone_engine.quant.lowering import lowered_spec
from hone_engine.quant.mixing import MOST_WIDENED, mixable
from hone_engine.runner.cuda_runner import CudaRunner
from hone_engine.runner.memory import MemoryPlan

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
CODED = ("q8", "q4")
DEFAULTS = EngineConfig()
MIN_CAPABILITY = (8, 0)
CONTEXT_BYTES = 700 << 20  # CUDA's context, cuBLAS, graphs, and what the allocator rounds up
WARM_CONTEXT = 1024  # tokens; graphs for longer contexts are captured when they are reached
CACHE_SHARE = 0.9  # of what is free, where the size of the cache is left open
WIDENED_SHARE = 1 / 8  # of what is free beside the weights, for wider codes, likewise


@dataclass(frozen=True, slots=True)
class Backend:
    """What makes the parts. kernels: None for the native ones; tests give references."""

    device: torch.device
    kernels: Kernels | None = None

    def plan(
        self, directory: ModelDirectory, parsed: ModelConfig, config: EngineConfig
    ) -> tuple[MemoryPlan, EngineConfig]:
        """The bytes that the model takes, and the settings with dtype and cache decided.

        Raises RuntimeError when there is no GPU to use, MemoryPlanError when it is too small.
        """
        self.check()
        config = replace(
            config,
            dtype=_dtype(directory, config),
            host_embedding=config.host_embedding and not parsed.tied,
        )
        free = self.free_bytes()
        workspace = workspace_bytes(parsed, config)
        page = cache_bytes(parsed, config, 1)
        taken = workspace + CONTEXT_BYTES + page * config.num_pages
        config = replace(config, keep_widths=_keeps_widths(directory, parsed, config, free - taken))
        weights = weight_bytes(directory.specs, parsed, config)
        if weights + taken > free and not parsed.tied:
            config = replace(config, host_embedding=True)
            weights = weight_bytes(directory.specs, parsed, config)
        if config.cache_tokens == DEFAULTS.cache_tokens:
            left = int((free - weights - workspace - CONTEXT_BYTES) * CACHE_SHARE)
            length = min(parsed.max_len, config.context_len or parsed.max_len)
            wanted = min(left // page, config.max_batch * -(-length // config.page_len))
            tokens = max(wanted * config.page_len, config.cache_tokens)
            config = replace(config, cache_tokens=tokens)
        plan = MemoryPlan(weights, page * config.num_pages, workspace + CONTEXT_BYTES)
        plan.check(free)
        return plan, config

    def source(self, config: EngineConfig) -> Callable[..., CudaWeightSource]:
        """The maker of the checkpoint's weights on the device."""
        return partial(
            CudaWeightSource,
            device=self.device,
            dtype=DTYPES[config.dtype],
            wide_copy=config.wide_copy,
            host_embedding=config.host_embedding,
            keep_widths=config.keep_widths,
        )

    def program(
        self,
        config: EngineConfig,
        max_rows: int,
        max_seqs: int,
        max_pages: int,
        *,
        max_logit_rows: int | None = None,
    ) -> CudaProgram:
        return CudaProgram(
            max_rows,
            max_seqs,
            max_pages,
            max_logit_rows=max_logit_rows,
            dtype=DTYPES[config.dtype],
            device=self.device,
            kernels=self.kernels,
            batch_invariant=config.batch_invariant,
        )

    def cache(self, parsed: ModelConfig, config: EngineConfig) -> CudaKVCache:
        shape = (parsed.num_layers, parsed.num_kv_heads, parsed.head_dim)
        return CudaKVCache(
            config.num_pages, config.page_len, *shape, kv_kind(config), device=self.device
        )

    def runner(self, program: CudaProgram, **more: Any) -> CudaRunner:
        """A runner whose first graphs are captured, so that no request waits for them."""
        runner = CudaRunner(program, **more)
        runner.graphs.warm(min(WARM_CONTEXT, more["context_len"]))
        return runner

    def free_bytes(self) -> int:
        """Memory of the device that nobody has taken."""
        if self.device.type != "cuda":
            return 1 << 40
        torch.cuda.empty_cache()
        return int(torch.cuda.mem_get_info(self.device)[0])

    def name(self, config: EngineConfig) -> str:
        """The device and what it computes in, for people."""
        if self.device.type != "cuda":
            return f"{self.device}, as a GPU, {config.dtype}"
        return f"{torch.cuda.get_device_name(self.device)}, {config.dtype}"

    def check(self) -> None:
        """Raise RuntimeError when there is no GPU that can be used."""
        if self.device.type != "cuda":
            return
        reason = why_no_cuda()
        if reason is not None:
            raise RuntimeError(f"device is 'cuda', but {reason}")
        found = torch.cuda.get_device_capability(self.device)
        if found < MIN_CAPABILITY:
            name = torch.cuda.get_device_name(self.device)
            raise RuntimeError(
                f"{name} has compute capability {found[0]}.{found[1]}; Hone needs 8.0 or later"
            )


def _dtype(directory: ModelDirectory, config: EngineConfig) -> Any:
    """bf16 where every matrix is stored so, for numbers that fp16 may not hold; else fp16."""
    if config.dtype != "auto":
        return config.dtype
    kinds = {spec.storage for spec in directory.specs.values() if len(spec.shape) == 2}
    return "bf16" if kinds == {"bf16"} else "fp16"


def _keeps_widths(
    directory: ModelDirectory, parsed: ModelConfig, config: EngineConfig, room: int
) -> bool:
    """Whether codes stay as narrow as they are: wider ones would not fit into `room`, or would take
    too much of what a cache of open size gets."""
    narrow, wide = (
        weight_bytes(directory.specs, parsed, replace(config, keep_widths=keep))
        for keep in (True, False)
    )
    share = WIDENED_SHARE if config.cache_tokens == DEFAULTS.cache_tokens else 1
    return config.keep_widths or wide - narrow > share * (room - narrow)


def weight_bytes(specs: Mapping[str, TensorSpec], parsed: ModelConfig, config: EngineConfig) -> int:
    """Bytes of all weights on the device."""
    vectors = sum(4 * spec.shape[0] for spec in specs.values() if len(spec.shape) == 1)
    groups = [[specs[name] for name in names] for names in registry.packed_names(parsed)]
    if config.host_embedding:
        groups = [group for group in groups if group[0] is not specs[EMBEDDING]]
    matrices = sum(_matrix_bytes(group, config.keep_widths) for group in groups)
    return vectors + matrices + (sum(map(_wide_bytes, groups)) if config.wide_copy else 0)


def _matrix_bytes(specs: Sequence[TensorSpec], keep_widths: bool) -> int:
    """Matrices held one below the other: in tiles if they have 2 to 8 bits, else 16 bits a number.

    In tiles of several widths: as the widest is stored, a tile more at each border of two, and half
    a bit where the matrices differ, since a tile has the greatest width in it; as much more as
    `widened` may take.
    """
    held = lowered_spec(specs)
    rows, cols = padded(held.shape[0], BAND_ROWS), padded(held.shape[1], TILE_COLS)
    if mixable(specs):
        bits = [32 * spec.foreign[0].shape[0] / spec.shape[1] for spec in specs]
        widths = {width for spec in specs for width in spec.widths}
        spare = 0.5 * (len({spec.widths for spec in specs}) > 1)
        average, widest = max(bits) + spare, max(widths)
        if not keep_widths:
            widest = 4 if widest <= 4 else 8
            average = max(average, min(MOST_WIDENED * average, widest))
        borders = len(widths) * TILE_COLS * widest // 8 * rows
        group = math.gcd(128, *(spec.group for spec in specs))
        minimum = any(spec.minimum for spec in specs)
        scales = rows * cols // group * (4 if minimum else 2)
        return int(rows * cols * average / 8) + borders + scales
    if held.storage != "quantized":
        return 2 * held.shape[0] * held.shape[1]
    bits_held = 4 if held.bits == 4 else 8
    return rows * cols * bits_held // 8 + rows * cols // held.group * (4 if held.minimum else 2)


def _wide_bytes(specs: Sequence[TensorSpec]) -> int:
    """Bytes of the 16-bit copy of quantized matrices."""
    held = lowered_spec(specs)
    quantized = mixable(specs) or held.storage == "quantized"
    return 2 * held.shape[0] * held.shape[1] if quantized else 0


def workspace_bytes(parsed: ModelConfig, config: EngineConfig) -> int:
    """Bytes of activations, logits, what draws need, and the scratch of products and attention."""
    per_row, per_logit_row = buffer_cols(parsed)
    attention = config.max_batch * parsed.num_heads * 32 * (parsed.head_dim + 2) * 4
    rows = config.max_step_tokens * (2 * per_row + 6 * parsed.hidden_size)
    logits = config.max_batch * (6 * per_logit_row + 8 * parsed.vocab_size)
    return rows + logits + attention + DENSE_BYTES + (64 << 20)


def kv_kind(config: EngineConfig) -> str:
    """The dtype of the cache: 16 bits are those of the activations."""
    return config.kv_dtype if config.kv_dtype in CODED else config.dtype


def cache_bytes(parsed: ModelConfig, config: EngineConfig, num_pages: int) -> int:
    """Bytes of so many pages of keys and values."""
    heads = (parsed.num_layers, parsed.num_kv_heads, parsed.head_dim)
    return cuda_cache_bytes(num_pages, config.page_len, *heads, kv_kind(config))


backend = Backend(torch.device("cuda", 0))
