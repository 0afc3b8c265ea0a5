"""`import`: a checkpoint into a model directory."""

import argparse
import re
import time
from pathlib import Path

from hone_engine.cli.terminal import ProgressLine, interruptible, say
from hone_engine.models.importer import BITS, GROUPS, ImportOptions, import_model, weight_bits


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, help="a .gguf file or a directory with safetensors")
    parser.add_argument("--out", type=Path, help="the directory to write (default: ./NAME)")
    parser.add_argument(
        "--bits", type=int, choices=BITS, help="of the weights; default: as they come"
    )
    parser.add_argument("--group", type=int, choices=GROUPS, default=32, help="weights a scale")
    parser.add_argument("--head-bits", type=int, choices=BITS, help="default: at least 8")
    parser.add_argument(
        "--symmetric", action="store_true", help="no minimum beside the scale at 4 bits"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a directory at --out")


def run(options: argparse.Namespace) -> int:
    source: Path = options.source
    out: Path = options.out or Path(default_name(source, options.bits))
    started = time.monotonic()
    with interruptible():
        specs = import_model(
            source,
            out,
            ImportOptions(options.bits, options.group, options.head_bits, options.symmetric),
            on_progress=ProgressLine("Importing"),
            overwrite=options.overwrite,
        )
    num_bytes, elapsed_s = sum(s.num_bytes for s in specs.values()), time.monotonic() - started
    say(
        f"{out}: {num_bytes / 1e6:.0f} MB, {weight_bits(specs):.2f} bits a weight, "
        f"{elapsed_s:.1f} s ({num_bytes / 1e9 / elapsed_s:.2f} GB/s)"
    )
    return 0


def default_name(source: Path, bits: int | None) -> str:
    """A directory name: that of the source, with the bits where they were asked for."""
    stem = source.stem if source.is_file() else source.resolve().name
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem)
    return f"{name}-{bits}bit" if bits else name
