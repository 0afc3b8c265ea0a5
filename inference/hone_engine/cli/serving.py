"""`serve`: the OpenAI-style HTTP server over one model."""

import argparse
import contextlib
from pathlib import Path

from hone_engine import server
from hone_engine.cli.settings import DEFAULTS, add_cache_arguments, add_engine_arguments
from hone_engine.cli.terminal import ProgressLine, say
from hone_engine.config import EngineConfig
from hone_engine.engine import EngineThread


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_engine_arguments(parser)
    add_cache_arguments(parser)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--api-key", help="clients must send it as a bearer token")
    parser.add_argument(
        "--admin-key", help="whoever sends it as a bearer token to /admin/load changes the model"
    )
    parser.add_argument(
        "--models",
        type=Path,
        metavar="DIR",
        help="with --admin-key: where models to change to lie",
    )
    parser.add_argument("--name", default=DEFAULTS.name, help="the model's name on the wire")
    parser.add_argument("--max-batch", type=int, default=DEFAULTS.max_batch)
    parser.add_argument("--max-step-tokens", type=int, default=DEFAULTS.max_step_tokens)


def run(options: argparse.Namespace) -> int:
    if options.models is not None and not options.admin_key:
        raise ValueError("--models needs --admin-key: without one nobody may change the model")
    if options.models is not None and not options.models.is_dir():
        raise ValueError(f"--models is {options.models}; wanted a folder of model directories")
    config = EngineConfig(
        threads=options.threads,
        max_batch=options.max_batch,
        max_step_tokens=options.max_step_tokens,
        cache_tokens=options.cache_tokens,
        context_len=options.context_len,
        kv_dtype=options.kv_dtype,
        kernels=options.kernels,
        device=options.device,
        dtype=options.dtype,
        wide_copy=options.wide_copy,
        keep_widths=options.keep_widths,
        batch_invariant=options.batch_invariant,
        name=options.name,
    )
    loading = ProgressLine("Loading")
    with contextlib.closing(
        EngineThread.load(options.model, config, on_progress=loading)
    ) as engine:
        info = engine.info

        def on_ready(url: str) -> None:
            say(
                f"{info.name} ({info.device}, {info.memory_bytes / 1e6:.0f} MB, "
                f"{info.context_len} tokens of context) on {url}/v1"
            )

        loadable = server.Loadable(options.model.resolve(), config, options.models)
        server.serve(
            engine,
            host=options.host,
            port=options.port,
            api_key=options.api_key,
            loader=server.Loader(engine, loadable) if options.admin_key else None,
            admin_key=options.admin_key,
            on_ready=on_ready,
        )
    return 0
