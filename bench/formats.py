"""Does each format foretell a text as its reference dequantization does, and how does it load?

    python bench/formats.py SOURCE_DIR TEXT WORK_DIR --peer-python PYTHON [--tokens N] [--kinds ...]

SOURCE_DIR is a plain 16-bit model directory. For each kind WORK_DIR gets a quantized directory and
a plain one of the values that the quantizer itself computed by the format's definition
(quantized_models.py). Three perplexities are compared: transformers in fp32 on the plain one (the
truth), the engine on 16-bit weights that `hone import --bits 16` reads from the quantized one, and
the engine on the quantized one as it is, where int8 activations meet the codes.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import figures
from quantized_models import KINDS, make

HERE = Path(__file__).parent
RUINED = {"exl2-2.5", "gptq-2-v2"}  # plain rounding to 2 bits leaves a perplexity of 300,000
OWN = {"hone-4": 4, "hone-8": 8}  # Hone's own groups, by `hone import --bits`


def engine(*arguments: object) -> str:
    command = [sys.executable, "-m", "hone_engine", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


def prepare(source: Path, work: Path, kind: str) -> tuple[Path, Path]:
    """The quantized directory and one with its values in 16 bits, made where they are missing."""
    quantized, plain = work / kind, work / f"{kind}-plain"
    if not plain.exists():
        if kind in OWN:
            engine("import", source, "--bits", OWN[kind], "--out", quantized, "--overwrite")
            engine("import", quantized, "--bits", 16, "--out", plain)
        else:
            make(source, work, kind)
    return quantized, plain


def perplexity(model: Path, text: Path, tokens: int) -> float:
    return float(json.loads(engine("perplexity", model, text, "--tokens", tokens))["perplexity"])


def peer_perplexity(python: str, model: Path, text: Path, tokens: int, *more: Path) -> float:
    """Of transformers; with a quantized directory, as its codes are said to be multiplied."""
    arguments = [model, text, tokens, 1024, *more]
    command = [python, str(HERE / "peer_perplexity.py"), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["perplexity"])


LOAD = """
import json, sys, time
from pathlib import Path
from hone_engine.config import EngineConfig
from hone_engine.runner.loading import load_weights, prepare
def status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))
prepared = prepare(Path(sys.argv[1]), EngineConfig(device="cpu"))
Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
before, began, stored = status("VmRSS"), time.monotonic(), []
model = load_weights(prepared, stored.append)
print(json.dumps({
    "seconds": time.monotonic() - began,
    "stored_bytes": stored[-1].total_bytes,
    "packed_bytes": model.num_bytes,
    "peak_bytes": status("VmHWM") - before,
    "planned_bytes": prepared.plan.weight_bytes,
    "planned_peak_bytes": prepared.plan.weight_bytes + prepared.plan.passing_bytes,
}))
"""


def load(model: Path) -> dict[str, Any]:
    """How a directory loads in a process of its own."""
    command = [sys.executable, "-c", LOAD, str(model)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(kind: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    quantized, plain = prepare(options.source, options.work, kind)
    read = options.work / f"{kind}-read"
    if not read.exists():
        engine("import", quantized, "--bits", 16, "--out", read)
    text, tokens = options.text, options.tokens
    truth = peer_perplexity(options.peer_python, plain, text, tokens)
    exact, codes = perplexity(read, text, tokens), perplexity(quantized, text, tokens)
    found = load(quantized)
    print(
        f"{kind:<20}{truth:10.4f}  16 bits {100 * (exact / truth - 1):+8.4f} %  "
        f"codes {100 * (codes / truth - 1):+8.4f} %  load {found['seconds']:.1f} s, peak "
        f"{found['peak_bytes'] / 1e6:.0f} of {found['planned_peak_bytes'] / 1e6:.0f} MB planned",
        flush=True,
    )
    peer = {"name": "transformers 5.24.0, fp32 compute, the format's values", "value": truth}
    more: dict[str, Any] = {}
    if options.predict:
        predicted = peer_perplexity(options.peer_python, plain, text, tokens, quantized)
        more["predicted"] = {
            "name": "the same with inputs of quantized layers rounded to int8",
            "value": predicted,
            "difference_percent": round(100 * (codes / predicted - 1), 4),
        }
    named = f"perplexity of SmolLM2-135M-Instruct as {kind}, {text.name}"
    return [
        _compared(f"{named}, 16-bit weights", exact, peer, tokens),
        _compared(f"{named}, codes and int8 activations", codes, peer, tokens, **more),
        *figures.rows(
            {f"loading SmolLM2-135M-Instruct as {kind}": (round(found["seconds"], 2), "s")},
            gigabytes_per_second=round(found["stored_bytes"] / found["seconds"] / 1e9, 3),
            **{name: value for name, value in found.items() if name != "seconds"},
        ),
    ]


def _compared(
    name: str, value: float, peer: dict[str, Any], tokens: int, **more: Any
) -> dict[str, Any]:
    difference = round(100 * (value / peer["value"] - 1), 4)
    beside = {"peer": peer | {"difference_percent": difference}, "tokens": tokens}
    return figures.rows({name: (value, "perplexity")}, **beside, **more)[0]


def main() -> None:
    kinds = [kind for kind in (*KINDS, *OWN) if kind not in RUINED]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--peer-python", required=True, help="has transformers 5.24.0")
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--predict", action="store_true", help="also what int8 inputs should cost")
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    options = parser.parse_args()
    for kind in options.kinds:
        figures.write("formats", measure(kind, options), keep=True)


if __name__ == "__main__":
    main()
