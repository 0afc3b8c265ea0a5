"""Perplexity of a text: how well a model, as it is stored, foretells it."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hone_engine.config import EngineConfig
from hone_engine.kernels import FloatArray, Recorder
from hone_engine.runner.loading import Prepared, load_weights, make_cache, make_program

CHUNK_LEN = 256  # rows of one run: their logits must fit into memory


@dataclass(frozen=True, slots=True)
class Perplexity:
    """`nll` is the mean negative log-likelihood (natural log) of `num_scored` tokens."""

    nll: float
    num_scored: int
    elapsed_s: float

    @property
    def value(self) -> float:
        return math.exp(self.nll)


def perplexity(
    prepared: Prepared,
    tokens: Sequence[int],
    config: EngineConfig,
    *,
    window_len: int = 1024,
    on_window: Callable[[int, int, float], None] | None = None,
) -> Perplexity:
    """Perplexity over non-overlapping windows, each from an empty context.

    The first token of a window is not scored. `on_window` is told tokens done, tokens in all, and
    the perplexity so far. The cache of `config` is replaced by one for a window.
    """
    if len(tokens) < 2:
        raise ValueError(f"tokens: got {len(tokens)}, wanted at least 2")
    config = replace(prepared.engine, cache_tokens=window_len)
    model, cache = load_weights(prepared), make_cache(prepared.config, config)
    program = make_program(
        config,
        max_rows=CHUNK_LEN,
        max_seqs=1,
        max_pages=config.num_pages,
        max_logit_rows=CHUNK_LEN,
    )
    model.record(program, cache)
    started, total, scored = time.monotonic(), 0.0, 0
    for begin in range(0, len(tokens), window_len):
        window = np.asarray(tokens[begin : begin + window_len], np.int32)
        if len(window) < 2:
            break
        total += _window_nll(program, window, config.num_pages)
        scored += len(window) - 1
        if on_window is not None:
            on_window(begin + len(window), len(tokens), math.exp(total / scored))
    return Perplexity(total / scored, scored, time.monotonic() - started)


def _window_nll(program: Recorder, window: np.ndarray, num_pages: int) -> float:
    """Summed negative log-likelihood of window[1:], float64 from float32 logits."""
    pages = np.arange(num_pages, dtype=np.int32)[None]
    total = 0.0
    for start in range(0, len(window), CHUNK_LEN):
        rows = window[start : start + CHUNK_LEN]
        positions = np.arange(start, start + len(rows), dtype=np.int32)
        wanted = np.arange(min(len(rows), len(window) - 1 - start), dtype=np.int32)
        if not len(wanted):
            break
        logits = program.run(
            rows,
            positions,
            np.zeros(len(rows), np.int32),
            pages,
            np.array([start + len(rows)], np.int32),
            wanted,
        )
        total += _nll(logits, window[start + 1 : start + 1 + len(wanted)])
    return total


def _nll(logits: FloatArray, targets: np.ndarray) -> float:
    """Summed negative log-softmax at the targets; logits (n, vocab)."""
    top = logits.max(axis=1, keepdims=True)
    sums = np.exp(logits - top).sum(axis=1, dtype=np.float64)
    chosen = np.take_along_axis(logits, targets[:, None].astype(np.int64), axis=1)
    return float((np.log(sums) - (chosen - top)[:, 0]).sum())
