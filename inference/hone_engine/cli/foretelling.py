"""`perplexity`: how well a model foretells a text."""

import argparse
import json
import sys
from pathlib import Path

from hone_engine.cli.settings import add_engine_arguments
from hone_engine.cli.terminal import CLEAR_LINE, clear_line, say
from hone_engine.config import EngineConfig
from hone_engine.runner import perplexity
from hone_engine.runner.loading import prepare
from hone_engine.tokenizer import Tokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_engine_arguments(parser)
    parser.add_argument("text", type=Path, help="a UTF-8 text file")
    parser.add_argument("--tokens", type=int, default=50_000, help="of the text, from its start")
    parser.add_argument("--window", type=int, default=1024, help="tokens seen at once")


def run(options: argparse.Namespace) -> int:
    config = EngineConfig(
        threads=options.threads,
        kv_dtype=options.kv_dtype,
        kernels=options.kernels,
        device=options.device,
        dtype=options.dtype,
        wide_copy=options.wide_copy,
        keep_widths=options.keep_widths,
        batch_invariant=options.batch_invariant,
    )
    prepared = prepare(options.model, config)
    text = options.text.read_text(encoding="utf-8")
    tokens = Tokenizer.load(options.model).encode(text, special=False)[: options.tokens]
    found = perplexity(prepared, tokens, config, window_len=options.window, on_window=_show)
    clear_line()
    result = {
        "model": options.model.resolve().name,
        "text": options.text.name,
        "tokens": len(tokens),
        "scored": found.num_scored,
        "window": options.window,
        "perplexity": round(found.value, 5),
        "nll": round(found.nll, 6),
        "seconds": round(found.elapsed_s, 1),
        "tokens_per_second": round(found.num_scored / found.elapsed_s, 1),
    }
    say(json.dumps(result))
    return 0


def _show(done: int, total: int, value: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{CLEAR_LINE}{done}/{total} tokens  perplexity {value:.3f}")
        sys.stderr.flush()
