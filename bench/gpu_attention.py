"""How fast is attention over the paged cache: one query a sequence, and prompts?

    python3 bench/gpu_attention.py [--dtypes fp16,q8,q4] [--splits 256,512] [--out FILE]

Heads of Llama-3.1-8B: 32 query heads, 8 of the cache, 128 numbers. Time on the GPU: a CUDA graph
over layers whose pages together exceed the L2; the median of replays. Bytes are those of keys and
values, once each; operations are 4 a pair of query and visible key, head and number of a head.
"""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

import torch
from gpu_linear import graph_us, read_roof

from hone_engine.kernels.cuda_attention import CudaAttentionWorkspace, cuda_attention
from hone_engine.kernels.cuda_kv_cache import CACHE_DTYPES, CudaKVCache, cuda_cache_bytes
from hone_engine.kernels.cuda_rope import cuda_rope_store
from hone_engine.kernels.cuda_rows import CudaRows, cuda_rows

QUERY, KV, DIM, PAGE = 32, 8, 128, 256
SCALE = DIM**-0.5
DECODE = [(batch, context) for context in (128, 4096) for batch in (1, 16, 64)]
PREFILL = [2048, 8192]
DEVICE = torch.device("cuda", 0)


def setting(lengths: list[int], new: list[int], dtype: str) -> tuple[CudaKVCache, CudaRows]:
    """Random layers of more than 200 MB together, pages of all sequences mixed."""
    pages = -(-max(lengths) // PAGE)
    total = pages * len(lengths)
    layers = max(4, 200_000_000 // cuda_cache_bytes(total, PAGE, 1, KV, DIM, dtype) + 1)
    cache = CudaKVCache(total, PAGE, layers, KV, DIM, dtype, device=DEVICE)
    for tensor in (cache.keys, cache.values):
        tensor.normal_() if tensor.is_floating_point() else tensor.random_(0, 256)
    for scales in (cache.key_scales, cache.value_scales):
        scales.uniform_(0.005, 0.02)
    table = torch.randperm(total).view(len(lengths), pages)
    return cache, cuda_rows(lengths, new, table, device=DEVICE)


def attention_us(lengths: list[int], new: list[int], dtype: str, split: int) -> float:
    cache, rows = setting(lengths, new, dtype)
    kind = CACHE_DTYPES.get(dtype, torch.float16)
    qkv = torch.randn(sum(new), (QUERY + 2 * KV) * DIM, device=DEVICE).to(kind)
    out = torch.empty(sum(new), QUERY * DIM, dtype=kind, device=DEVICE)
    scratch = CudaAttentionWorkspace(DEVICE, len(lengths), QUERY, KV, DIM)
    one = max(new) == 1
    more = {
        "num_heads": QUERY,
        "scale": SCALE,
        "split": split,
        "decode": one,
        "prefill_rows": 0 if one else None,
    }
    layers = range(cache.num_layers if one else 4)
    calls = [
        lambda layer=layer: cuda_attention(qkv, cache, layer, rows, scratch, out, **more)
        for layer in layers
    ]
    return graph_us(calls, 15 if one else 5)


def store_us(rows_of_step: int, dtype: str) -> float:
    cache, rows = setting([rows_of_step], [rows_of_step], dtype)
    kind = CACHE_DTYPES.get(dtype, torch.float16)
    qkv = torch.randn(rows_of_step, (QUERY + 2 * KV) * DIM, device=DEVICE).to(kind)
    inv_freq = 5e5 ** -(torch.arange(0, DIM, 2, device=DEVICE).float() / DIM)
    more = {"num_heads": QUERY, "inv_freq": inv_freq}
    calls = [
        lambda layer=layer: cuda_rope_store(qkv, cache, layer, rows, **more)
        for layer in range(cache.num_layers)
    ]
    return graph_us(calls, 15)


def figures(dtypes: list[str], splits: list[int]):
    """Yield (what, value, unit)."""
    roof = read_roof()
    yield "read of 8 GB", roof, "GB/s"
    for dtype in dtypes:
        for batch, context in DECODE:
            for split in splits:
                us = attention_us([context] * batch, [1] * batch, dtype, split)
                one = CudaKVCache(1, 16, 1, KV, DIM, dtype, device="cpu").nbytes // 16
                speed = batch * context * one / us / 1e3
                name = f"attention, {dtype} cache, {batch} of {context}, parts of {split}"
                yield name, us, "us"
                yield name + ", bytes moved", speed, "GB/s"
                yield name + ", share of the read roof", speed / roof, "1"
        for length in PREFILL:
            us = attention_us([length], [length], dtype, 256)
            work = 4 * QUERY * DIM * length * (length + 1) / 2
            yield f"attention, {dtype} cache, prompt of {length}", us, "us"
            yield f"attention, {dtype} cache, prompt of {length}, work", work / us / 1e6, "TFLOP/s"
        for count in (1, 64, 2048):
            yield f"rope_store, {dtype} cache, {count} rows", store_us(count, dtype), "us"
        torch.cuda.empty_cache()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtypes", default="fp16,q8,q4")
    parser.add_argument("--splits", default="256,512")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    stamp = {
        "device": torch.cuda.get_device_name(0),
        "command": "bash bench/device.sh attention",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    rows = []
    for what, value, unit in figures(
        given.dtypes.split(","), [int(s) for s in given.splits.split(",")]
    ):
        print(f"{value:10.3f} {unit:8} {what}", flush=True)
        rows.append({"figure": what, "value": round(value, 3), "unit": unit, "peer": None} | stamp)
    if given.out:
        given.out.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main()
