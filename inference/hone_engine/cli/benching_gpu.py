"""`bench` on a GPU: a table of figures, each with its share of what the GPU can do."""

import time
from dataclasses import replace
from pathlib import Path

from hone_engine.cli.bench_report import Figure, Report, Roof, Stage, stage
from hone_engine.cli.terminal import say
from hone_engine.config import EngineConfig
from hone_engine.models.config import ModelConfig
from hone_engine.runner import cuda_bench, synthetic
from hone_engine.runner.cuda_bench import Decoded, StageTime
from hone_engine.runner.cuda_runner import CudaRunner

DECODES = ((1, 128), (1, 4096), (16, 128), (64, 128), (64, 4096))  # streams, context
PREFILLS = (2048, 8192)
CONTEXT = 8448  # tokens that a text may have: a prompt of 8192 and a page


def token_bytes(config: ModelConfig) -> int:
    """Bytes of the keys and values of a token, in 16 bits."""
    return 4 * config.num_layers * config.num_kv_heads * config.head_dim


def decode_figure(
    found: Decoded, streams: int, context: int, step_bytes: int, roof: Roof
) -> Figure:
    least_s = step_bytes / roof.bytes_per_second
    name = f"{streams} stream{'s' if streams > 1 else ''}, context {context}"
    rate, share = round(streams / found.step_s, 1), least_s / found.step_s
    return Figure(name, rate, "tok/s", share, found.host_s * 1e6, streams, context, found.step_s)


def run(model: Path | str, config: EngineConfig) -> Report:
    """Measure a model directory, or a synthetic one by its name, and print as it goes."""
    began = time.monotonic()
    found = synthetic.loaded(model, config, streams=64, context=CONTEXT)
    runner, shape, streamed = found.runner, found.config, found.streamed_bytes
    roof = Roof(*cuda_bench.roof(runner.program.device))
    say(
        f"{found.name}, {found.device}, ready after {time.monotonic() - began:.0f} s; copies "
        f"{roof.bytes_per_second / 1e9:,.0f} GB/s, fp16 products {roof.flops / 1e12:,.0f} TFLOP/s, "
        f"weights {streamed / 1e9:.2f} GB a step"
    )
    bits = 8 * streamed / (parameters(shape) + shape.vocab_size * shape.hidden_size)
    report = Report(found.name, found.device, roof, bits, streamed)
    for streams, context in DECODES:
        try:
            report.figures.append(_decode(runner, streams, context, shape, report))
        except ValueError as error:
            say(f"{streams} streams, context {context}: {error}")
            continue
        _show(report.figures[-1])
    for length in PREFILLS:
        report.figures.append(_prefill(runner, length, shape, roof))
        _show(report.figures[-1])
    say(f"{time.monotonic() - began:.0f} s in all")
    return report


def _decode(
    runner: CudaRunner, streams: int, context: int, shape: ModelConfig, report: Report
) -> Figure:
    found = cuda_bench.decode(runner, streams, context)
    kv_bytes = streams * context * token_bytes(shape)
    figure = decode_figure(found, streams, context, report.streamed_bytes + kv_bytes, report.roof)
    times = cuda_bench.stage_times(runner, streams, context)
    sizes = {"linear": report.streamed_bytes, "attention": kv_bytes}
    products = parameters(shape) + shape.vocab_size * shape.hidden_size
    ops = {"linear": 2.0 * streams * products}
    return replace(figure, stages=_stages(times, sizes, ops, report.roof))


def _prefill(runner: CudaRunner, length: int, shape: ModelConfig, roof: Roof) -> Figure:
    step_len = runner.program.max_rows
    seconds = sorted(cuda_bench.prefill_s(runner, length, step_len) for _ in range(4))[1]
    attended = 2.0 * length * length * shape.num_heads * shape.head_dim * shape.num_layers
    flops = 2.0 * length * parameters(shape) + attended
    name, rate = f"prefill {length}", round(length / seconds)
    figure = Figure(name, rate, "tok/s", flops / seconds / roof.flops, 0.0, 0, length, seconds)
    first = min(length, step_len)  # the stages are those of the first step
    times = cuda_bench.prompt_stage_times(runner, first)
    part = attended * (first / length) ** 2
    ops = {"linear": 2.0 * first * parameters(shape), "attention": part}
    return replace(figure, stages=_stages(times, {}, ops, roof))


def _stages(
    times: list[StageTime], sizes: dict[str, int], ops: dict[str, float], roof: Roof
) -> tuple[Stage, ...]:
    return tuple(
        stage(
            t.name, t.calls, t.seconds,
            num_bytes=sizes.get(t.name, 0), ops=ops.get(t.name, 0.0), roof=roof,
        )
        for t in times
    )  # fmt: skip


def parameters(config: ModelConfig) -> int:
    """Weights that a token of a prompt multiplies: all matrices but embedding and head."""
    heads = (2 * config.num_heads + 2 * config.num_kv_heads) * config.head_dim
    return config.num_layers * config.hidden_size * (heads + 3 * config.inner_size)


def _show(figure: Figure) -> None:
    host = f"  host {figure.host_us:.0f} us" if figure.host_us else ""
    say(f"{figure.figure:<28}{figure.value:10,.0f} {figure.unit}  {figure.share:5.1%}{host}")
    parts = [f"{s.name} {1e6 * s.seconds:.0f} ({s.limit})" for s in figure.stages]
    say(f"    us of {figure.step_s * 1e6:.0f}: " + ", ".join(parts))
    say(f"    limit: {figure.limit}; what helps: {figure.advice}")
