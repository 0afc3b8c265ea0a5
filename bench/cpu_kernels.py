"""Each CPU kernel alone: GB/s and GOP/s, and the share of the memory's measured read bandwidth.

    python bench/cpu_kernels.py [--threads N] [--simd avx2] [--json bench/results/cpu-kernels.json]

Weights are some 100 MB of (3072, 576) matrices, so that none stays in a cache. A figure is the sum
of each product's shortest time over --repeats passes, which a busy machine disturbs least. GOP/s
counts a multiply and an add as two. Attention: 9 heads on 3 KV heads of 64, fp16, pages of 32.
"""

import argparse
import datetime
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "inference"))

from hone_engine.kernels import (  # noqa: E402
    KVCache,
    PackedWeight,
    Program,
    pack_dense,
    pack_quantized,
    physical_cores,
    read_bandwidth,
    simd_best,
)

ROWS, COLS, WEIGHT_BYTES = 3072, 576, 100_000_000
HEADS, KV_HEADS, HEAD_DIM, PAGE = 9, 3, 64, 32
KINDS = ("4-bit", "4-bit with minimum", "8-bit", "fp16")


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    seconds: float
    num_bytes: int
    num_ops: int


def weight_of(kind: str) -> PackedWeight:
    if kind == "fp16":
        return pack_dense(torch.randn(ROWS, COLS).half())
    bits = int(kind[0])
    codes = torch.randint(0, 256, (ROWS, COLS * bits // 8), dtype=torch.uint8)
    parts = torch.rand(2, ROWS, COLS // 32).half()
    mins = parts[1] if kind.endswith("minimum") else None
    codes = codes.view(torch.int8) if bits == 8 else codes
    return pack_quantized(codes, parts[0], mins, bits=bits, group=32)


def step(context: int, new: int) -> dict[str, np.ndarray]:
    """One sequence's latest `new` of `context` tokens."""
    return {
        "tokens": np.zeros(new, np.int32),
        "positions": np.arange(context - new, context, dtype=np.int32),
        "seq_of_row": np.zeros(new, np.int32),
        "page_table": np.arange(-(-context // PAGE), dtype=np.int32)[None],
        "context_lens": np.array([context], np.int32),
        "logit_rows": np.zeros(0, np.int32),
    }


def best_seconds(program: Program, batch: dict[str, np.ndarray], repeats: int) -> float:
    program.run(**batch)
    program.measure()
    for _ in range(repeats):
        program.run(**batch)
    return sum(best for _, _, best, _ in program.times())


def products(kind: str, options: argparse.Namespace) -> list[Figure]:
    first = weight_of(kind)
    weights = [first, *(weight_of(kind) for _ in range(WEIGHT_BYTES // first.nbytes))]
    figures = []
    for rows in (1, 8, 64):
        program = Program(rows, 1, 4, options.threads, simd=options.simd)
        x, y = program.buffer(COLS), program.buffer(ROWS)
        program.write(x, torch.randn(rows, COLS))
        for weight in weights:
            program.linear(x, weight, y)
        seconds = best_seconds(program, step(rows, rows), options.repeats)
        num_bytes = sum(w.nbytes for w in weights)
        ops = 2 * len(weights) * rows * ROWS * COLS
        figures.append(Figure(f"product, {kind}, {rows} rows", seconds, num_bytes, ops))
    return figures


def attentions(options: argparse.Namespace) -> list[Figure]:
    figures = []
    for name, context, new, layers in (
        ("decoding at 256", 256, 1, 60),
        ("decoding at 4096", 4096, 1, 8),
        ("prompt of 512", 512, 512, 4),
    ):
        cache = KVCache(-(-context // PAGE), PAGE, layers, KV_HEADS, HEAD_DIM)
        cache.keys.normal_()
        cache.values.normal_()
        program = Program(new, 1, 128, options.threads, simd=options.simd)
        qkv = program.buffer((HEADS + 2 * KV_HEADS) * HEAD_DIM)
        out = program.buffer(HEADS * HEAD_DIM)
        program.write(qkv, torch.randn(new, qkv.cols))
        for layer in range(layers):
            program.attention(qkv, cache, layer, out, num_heads=HEADS, scale=0.125)
        seconds = best_seconds(program, step(context, new), options.repeats)
        seen = sum(range(context - new + 1, context + 1))
        ops = 4 * layers * seen * HEADS * HEAD_DIM
        figures.append(Figure(f"attention, {name}", seconds, cache.nbytes, ops))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=physical_cores())
    parser.add_argument("--simd", default=simd_best())
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    roof = read_bandwidth(options.threads)
    load = os.getloadavg()[0]
    device = f"{os.cpu_count()} cores, {options.simd}, {options.threads} threads, load {load:.1f}"
    print(f"{device}; memory {roof / 1e9:.1f} GB/s")
    figures = [f for kind in KINDS for f in products(kind, options)] + attentions(options)
    rows = [{"figure": "memory read, 2 MiB pages", "value": round(roof / 1e9, 1), "unit": "GB/s"}]
    for f in figures:
        speed, ops = f.num_bytes / f.seconds, f.num_ops / f.seconds / 1e9
        text = f"{speed / 1e9:7.1f} GB/s {100 * speed / roof:4.0f} % {ops:8.1f} GOP/s"
        print(f"{f.name:<40}{f.seconds * 1e6:10.1f} us {text}")
        share = round(speed / roof, 3)
        rows.append(
            {"figure": f.name, "value": round(speed / 1e9, 1), "unit": "GB/s", "share": share}
        )
        rows.append({"figure": f.name, "value": round(ops, 1), "unit": "GOP/s"})
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    command = f"bench/cpu_kernels.py --threads {options.threads} --simd {options.simd}"
    rows = [{**row, "device": device, "command": command, "date": today} for row in rows]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
