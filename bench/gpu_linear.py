"""How fast are products of few activation rows with 4-bit weights, beside fp16?

    python3 bench/gpu_linear.py [--rows 1,16,64] [--sweep] [--out FILE] [--tests FILE]

Time on the GPU: a CUDA graph of some 60 products over weights that rotate through more than 400 MB,
so that the L2 never holds them; the median of 21 replays. Bytes are those of weights, scales,
activations and outputs, once each. The roof is the best of reading 8 GB in one kernel.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import torch
import triton
import triton.language as tl

from hone_engine.kernels.cuda_dense import CudaTiles
from hone_engine.kernels.cuda_linear import (
    CudaWorkspace,
    cuda_linear,
    cuda_linear_reference,
    streamed_bytes,
)
from hone_engine.kernels.cuda_mixed import of_one_width, pack_mixed, runs_of
from hone_engine.kernels.cuda_packed import TILE_COLS, CudaWeight, pack_cuda
from hone_engine.layers.mixtures import Mixture
from hone_engine.quant.mixing import widened

SHAPES = [(4096, 4096), (4096, 14336), (14336, 4096), (4096, 6144), (4096, 28672)]  # K, N
# Best of other engines on this kind of card, us: {(K, N): {rows: (us, who)}}; from their own run.
PEERS = {
    (4096, 4096): {1: (8.2, "exllamav2"), 4: (10.4, "marlin"), 16: (10.7, "marlin"),
                   64: (23.9, "marlin")},
    (4096, 14336): {1: (14.7, "exllamav2"), 4: (21.1, "marlin"), 16: (18.8, "marlin"),
                    64: (32.8, "marlin")},
    (14336, 4096): {1: (17.8, "exllamav2"), 4: (21.8, "marlin"), 16: (20.3, "marlin"),
                    64: (39.9, "marlin")},
}  # fmt: skip
GROUP = 128
WGMMA_FROM = 9  # rows
SWEEP = [(w, 1024 * kb, 0) for w in (8, 12, 16) for kb in (40, 64, 90)]  # warps, ring, slices


@triton.jit
def _read(data, out, size, block: tl.constexpr):
    total = tl.zeros((block,), tl.int32)
    for at in range(tl.program_id(0) * block, size, tl.num_programs(0) * block):
        total += tl.load(data + at + tl.arange(0, block))
    tl.store(out + tl.program_id(0), tl.sum(total))


def read_roof() -> float:
    """GB/s of reading 8 GB, the best of 12."""
    data = torch.randint(-9, 9, (1 << 31,), dtype=torch.int32, device="cuda")
    out, best = torch.empty(132 * 8, dtype=torch.int32, device="cuda"), 0.0
    for _ in range(12):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        _read[(132 * 8,)](data, out, data.numel(), 8192, num_warps=8)
        end.record()
        end.synchronize()
        best = max(best, data.numel() * 4 / start.elapsed_time(end) / 1e6)
    return best


def graph_us(calls: list[Callable[[], object]], repeats: int = 21) -> float:
    """Microseconds of one call: the median over replays of a graph of about 60."""
    calls = calls * max(1, -(-60 // len(calls)))
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for call in calls[:4]:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    times = []
    for _ in range(repeats + 3):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / len(calls) * 1e3)
    return statistics.median(times[3:])


def random_weight(cols: int, outs: int) -> CudaWeight:
    codes = torch.randint(0, 256, (outs, cols // 2), dtype=torch.uint8, device="cuda")
    scales = torch.rand(outs, cols // GROUP, device="cuda").mul(0.02).half()
    return pack_cuda(codes, scales, bits=4, group=GROUP)


def random_mixture(cols: int, outs: int, bits: float, *, keep: bool) -> CudaTiles:
    """As EXL2's quantizer mixes widths; `bits` on average. keep: they are not widened."""
    device = "cuda"
    widths = Mixture(bits, bits).tiles(cols // TILE_COLS)
    widths = widths if keep else widened(widths)
    of_column = torch.tensor(widths, device=device).repeat_interleave(TILE_COLS)
    codes = (torch.rand(outs, cols, device=device) * 2.0**of_column).to(torch.uint8)
    scales = torch.rand(outs, len(widths), device=device).mul(0.02).half().repeat_interleave(4, 1)
    runs = runs_of(widths, [TILE_COLS] * len(widths))
    return of_one_width(pack_mixed(codes, scales, None, runs))


def check(x: torch.Tensor, weight: CudaTiles, workspace: CudaWorkspace, **more) -> None:
    wanted = cuda_linear_reference(x, weight)
    error = (cuda_linear(x, weight, workspace, **more).double() - wanted).norm() / wanted.norm()
    if not error < 1e-3:
        sys.exit(f"wrong product: {tuple(x.shape)} by {weight.rows}, relative error {error}")


def products(weights, x, workspace, **more) -> list[Callable[[], object]]:
    out = torch.empty(x.shape[0], weights[0].rows, dtype=x.dtype, device="cuda")
    return [lambda w=w: cuda_linear(x, w, workspace, out, **more) for w in weights]


def measure(
    cols: int,
    outs: int,
    all_rows: list[int],
    roof: float,
    sweep: bool,
    mixture: float | None,
    keep: bool,
):
    """Yield rows of figures for one shape."""
    workspace = CudaWorkspace(torch.device("cuda", 0))
    weights = [
        random_mixture(cols, outs, mixture, keep=keep) if mixture else random_weight(cols, outs)
        for _ in range(max(4, 400_000_000 * 2 // (cols * outs)))
    ]
    dense = [
        torch.randn(outs, cols, device="cuda").half()
        for _ in range(max(3, 600_000_000 // (cols * outs * 2)))
    ]
    for rows in all_rows:
        x = torch.randn(rows, cols, device="cuda").half()
        check(x, weights[0], workspace, wgmma_rows=0)
        us = graph_us(products(weights, x, workspace, wgmma_rows=0))
        wgmma = None
        if rows >= WGMMA_FROM:
            check(x, weights[0], workspace, wgmma_rows=1)
            wgmma = graph_us(products(weights, x, workspace, wgmma_rows=1))
        alone = graph_us(products(weights, x, workspace, overlap=False, wgmma_rows=0))
        fp16 = graph_us([lambda w=w, x=x: torch.mm(x, w.t()) for w in dense])
        speed = streamed_bytes(weights[0], rows) / us / 1e3
        peer, who = PEERS.get((cols, outs), {}).get(rows, (None, None))
        yield {"k": cols, "n": outs, "rows": rows, "us": us, "wgmma_us": wgmma, "alone_us": alone,
               "fp16_us": fp16, "gb_s": speed, "roof": speed / roof,
               "peer_us": peer, "peer": who}  # fmt: skip
        if sweep:
            for tuning in SWEEP:
                us = graph_us(products(weights, x, workspace, tuning=tuning), 9)
                sys.stdout.write(f"   {tuning}: {us:.2f} us\n")


def records(figures: list[dict], roof: float, kind: str, tests: str | None) -> list[dict]:
    """The rows that are committed."""
    stamp = {"device": torch.cuda.get_device_name(0), "command": "bash bench/device.sh",
             "date": datetime.now(UTC).isoformat(timespec="seconds")}  # fmt: skip
    rows = [{"figure": "read of 8 GB", "value": round(roof), "unit": "GB/s", "peer": None} | stamp]
    for f in figures:
        peer = f"torch fp16 {f['fp16_us']:.1f} us in the same run"
        if f["peer"]:
            peer += f"; {f['peer']} {f['peer_us']} us in its own run"
        name = f"{kind} product, {f['k']}x{f['n']}, {f['rows']} rows"
        for what, value, unit in (
            ("", f["us"], "us"), (", by warpgroups", f["wgmma_us"], "us"),
            (", without overlap", f["alone_us"], "us"),
            (", bytes moved", f["gb_s"], "GB/s"), (", share of the read roof", f["roof"], "1"),
        ):  # fmt: skip
            if value is None:
                continue
            rows.append({"figure": name + what, "value": round(value, 3), "unit": unit,
                         "peer": peer if not what else None} | stamp)  # fmt: skip
    if tests is not None:
        rows.append({"figure": "tests", "value": tests, "unit": "text", "peer": None} | stamp)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1,2,4,8,16,32,64")
    parser.add_argument("--shapes", type=int, default=len(SHAPES))
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--mixture", type=float, help="bits on average, in several widths")
    parser.add_argument("--keep-widths", action="store_true", help="of a mixture")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tests", type=Path)
    given = parser.parse_args()
    torch.manual_seed(torch.seed() % (1 << 31))
    roof = read_roof()
    kind = f"EXL2-like {given.mixture}-bit mixture" if given.mixture else f"4-bit g{GROUP}"
    kind += ", widths kept" if given.keep_widths else ""
    print(f"{torch.cuda.get_device_name(0)}, read roof {roof:.0f} GB/s, {kind}")
    print("   K x N        rows    us  wgmma  alone   GB/s  roof%   fp16  peer")
    figures = []
    for cols, outs in SHAPES[: given.shapes]:
        all_rows = [int(r) for r in given.rows.split(",")]
        for f in measure(cols, outs, all_rows, roof, given.sweep, given.mixture, given.keep_widths):
            figures.append(f)
            peer = f"{f['peer_us']} {f['peer']}" if f["peer"] else "-"
            print(f"{cols:6}x{outs:<6} {f['rows']:5} {f['us']:7.2f} {f['wgmma_us'] or 0:6.2f}"
                  f" {f['alone_us']:6.2f} {f['gb_s']:6.0f} {100 * f['roof']:5.1f}"
                  f" {f['fp16_us']:7.2f}  {peer}", flush=True)  # fmt: skip
        torch.cuda.empty_cache()
    if given.out:
        tests = given.tests.read_text().strip() if given.tests else None
        rows = records(figures, roof, kind, tests)
        given.out.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main()
