"""Engine settings as command line arguments."""

import argparse
from pathlib import Path

from hone_engine.config import EngineConfig

DEFAULTS = EngineConfig()


def add_engine_arguments(
    parser: argparse.ArgumentParser, *, model_is_optional: bool = False
) -> None:
    """MODEL and the settings that every command that runs one takes."""
    number = "?" if model_is_optional else None
    parser.add_argument("model", type=Path, nargs=number, help="a model directory (see `import`)")
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default=DEFAULTS.device,
        help="auto (default): the GPU if there is one and its extension is built",
    )
    parser.add_argument(
        "--dtype",
        choices=("auto", "fp16", "bf16"),
        default=DEFAULTS.dtype,
        help="of activations on a GPU; auto (default): bf16 where the weights are that",
    )
    parser.add_argument(
        "--wide-copy",
        action="store_true",
        help="on a GPU, keep quantized weights in 16 bits too, for prompts",
    )
    parser.add_argument(
        "--keep-widths",
        action="store_true",
        help="on a GPU, hold codes of 2, 3, 5, 6 bits as they are: less memory, slower",
    )
    parser.add_argument(
        "--batch-invariant",
        action="store_true",
        help="on a GPU, a request's tokens do not depend on its company (slower; a CPU's never do)",
    )
    parser.add_argument(
        "--threads", type=int, default=DEFAULTS.threads, help="0 (default): one a core"
    )
    parser.add_argument("--kernels", choices=("native", "reference"), default=DEFAULTS.kernels)
    parser.add_argument(
        "--kv-dtype",
        choices=("fp16", "fp32", "q8", "q4"),
        default=DEFAULTS.kv_dtype,
        help="of the cache; fp16 (default): 16 bits; q8, q4: 8.5, 4.5 bits a number, on a GPU",
    )


def add_cache_arguments(parser: argparse.ArgumentParser) -> None:
    """How long texts may be, all of them together and one of them."""
    parser.add_argument(
        "--cache-tokens", type=int, default=DEFAULTS.cache_tokens, help="tokens kept in the cache"
    )
    parser.add_argument(
        "--context-len", type=int, default=DEFAULTS.context_len, help="0 (default): the model's"
    )
