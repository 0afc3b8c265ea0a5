"""Settings of an engine, checked when made."""

import importlib.util
import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

KvDtype = Literal["fp16", "fp32", "q8", "q4"]
Device = Literal["auto", "cpu", "cuda"]
Dtype = Literal["auto", "fp16", "bf16"]


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How one engine uses its machine; 0 means "as the model or the machine says".

    Raises ValueError naming the setting when a value cannot work.
    """

    threads: int = 0  # of the kernels; 0: one a core
    max_batch: int = 64  # sequences computed in one step, at most
    # Rows of one forward pass, prefill and decode together. SmolLM2's prompts go through at 1564
    # tokens/s with 128 and 1577 with 512 (two cores, by processor time), and who is answering
    # waits a quarter as long for the next token.
    max_step_tokens: int = 128
    page_len: int = 32  # tokens a page of the KV cache
    cache_tokens: int = 8192  # capacity of the KV cache, rounded up to pages
    context_len: int = 0  # 0: the model's; never above the model's nor cache_tokens
    max_waiting: int = 256  # requests waiting beyond the running ones before 429
    max_skips: int = 4  # how often a large waiting request may be passed by smaller ones
    prefix_cache: bool = True
    kv_dtype: KvDtype = "fp16"  # q8, q4: 8.5 and 4.5 bits a number, on a GPU; fp32: on a CPU
    kernels: Literal["native", "reference"] = "native"  # reference: plain torch, slow, for checks
    device: Device = "auto"  # auto: the GPU if there is one and its extension is built
    dtype: Dtype = "auto"  # of activations on a GPU; auto: bf16 where the weights are that
    # On a GPU, keep quantized weights in 16 bits too, which prompts of more than 64 rows a step
    # then need not write out: three to five times the memory of the weights.
    wide_copy: bool = False
    # On a GPU, keep the embedding in the host's memory, where the GPU reads the rows it needs; done
    # by itself where the model fits only so.
    host_embedding: bool = False
    # On a GPU, hold codes of 2, 3, 5 and 6 bits as the file has them, and not as 4 and 8, which are
    # faster and take up to a third more; done by itself where memory is short.
    keep_widths: bool = False
    # On a GPU, a request's tokens do not depend on the others of its steps, at a cost in speed. On
    # a CPU they never do.
    batch_invariant: bool = False
    name: str = ""  # the model's name on the wire; "": that of its directory

    def __post_init__(self) -> None:
        for field, least in _LEAST.items():
            value = getattr(self, field)
            if value < least:
                raise ValueError(f"{field} is {value}; it must be at least {least}")
        if self.max_step_tokens < self.max_batch:
            raise ValueError(
                f"max_step_tokens is {self.max_step_tokens}; it must be at least max_batch "
                f"({self.max_batch}), so that every running sequence can take a step"
            )
        if self.batch_invariant:
            self._check_invariant()
        if self.cache_tokens < self.page_len:
            raise ValueError(
                f"cache_tokens is {self.cache_tokens}; it must hold a page ({self.page_len})"
            )

    def _check_invariant(self) -> None:
        if self.wide_copy:
            raise ValueError("wide_copy and batch_invariant: both are set; wanted one of them")
        if self.max_step_tokens < self.max_batch + 3:
            raise ValueError(
                f"max_step_tokens is {self.max_step_tokens}; with batch_invariant it must be at "
                f"least max_batch ({self.max_batch}) and 3"
            )

    @property
    def num_pages(self) -> int:
        return -(-self.cache_tokens // self.page_len)

    @property
    def num_threads(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))


_LEAST = {
    "threads": 0,
    "max_batch": 1,
    "max_step_tokens": 1,
    "page_len": 1,
    "cache_tokens": 1,
    "context_len": 0,
    "max_waiting": 0,
    "max_skips": 0,
}

_ON_GPU = {"max_step_tokens": 2048, "page_len": 256}  # where nothing else was asked for


def tuned(config: EngineConfig) -> EngineConfig:
    """The settings with the device decided, and what was left at its default chosen for it."""
    automatic = config.kernels == "native" and gpu_is_there()
    if config.device == "cpu" or (config.device == "auto" and not automatic):
        return replace(config, device="cpu")
    defaults = {field.name: field.default for field in fields(EngineConfig)}
    changes: dict[str, Any] = {
        name: max(value, config.max_batch) if name == "max_step_tokens" else value
        for name, value in _ON_GPU.items()
        if getattr(config, name) == defaults[name]
    }
    if config.cache_tokens < changes.get("page_len", config.page_len):
        changes["cache_tokens"] = changes.get("page_len", config.page_len)
    return replace(config, device="cuda", **changes)


def gpu_is_there() -> bool:
    """Whether this machine has an NVIDIA GPU and the extension for it, by looking only."""
    return Path("/dev/nvidia0").exists() and _has_extension()


def _has_extension() -> bool:
    return importlib.util.find_spec("hone_engine._cuda") is not None
