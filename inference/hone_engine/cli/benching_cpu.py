"""`bench` on the CPU: speed by batch and context, each stage beside what the machine can do."""

import time
from collections.abc import Sequence as Items
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hone_engine.cli.bench_report import Figure, Report, Roof, Stage, stage
from hone_engine.config import EngineConfig
from hone_engine.kernels import Program
from hone_engine.models.llama import Llama
from hone_engine.runner.loading import LoadedModel
from hone_engine.runner.model_runner import ModelRunner
from hone_engine.types import Chunk, SamplingParams, Sequence

STREAMS, CONTEXTS = (1, 4, 8), (128, 512, 1024)
PROMPTS = (128, 512)
WARM_STEPS, STEPS = 2, 12
PARAMS = SamplingParams(temperature=0.8, top_p=0.95, seed=1)
COPY_LEN = 1 << 24  # numbers a thread copies: beyond any cache
CACHE_TOKENS = STREAMS[-1] * (CONTEXTS[-1] + 2 * (WARM_STEPS + STEPS) + 32)
# A product of so many rows whose weights stay in the cache: what the kernels do at best.
BEST_ROWS = 128
PRODUCTS = ("linear", "gate_up", "down", "head")


def measure(model: LoadedModel, config: EngineConfig) -> Report:
    """All figures of a loaded model; takes some seconds."""
    runner, weights = _parts(model)
    streamed = weights.num_bytes - (0 if weights.config.tied else weights.embedding.nbytes)
    roof = Roof(_copy_rate(config.num_threads), _best_flops(weights, config.num_threads), 2e-6)
    bits = 8 * weights.num_bytes / _numbers(weights)
    report = Report(model.name, model.device, roof, bits, streamed)
    for context in CONTEXTS:
        if context + WARM_STEPS + STEPS < runner.context_len:
            report.figures.extend(_decode(runner, weights, n, context, report) for n in STREAMS)
    report.figures.extend(
        _prompt(runner, weights, length, roof) for length in PROMPTS if length < runner.context_len
    )
    return report


def _parts(model: LoadedModel) -> tuple[ModelRunner, Llama]:
    runner = model.runner
    assert isinstance(runner, ModelRunner), "the model runs on the CPU"
    _native(runner)
    weights: Llama = runner.keeps[0]
    return runner, weights


def _native(runner: ModelRunner) -> Program:
    if not isinstance(runner.program, Program):
        raise ValueError("bench: stages are measured with --kernels native only")
    return runner.program


def _numbers(weights: Llama) -> int:
    """Numbers of all matrices; a head that is the embedding counts once."""
    shapes = Llama.tensor_shapes(weights.config).values()
    return sum(shape[0] * shape[1] for shape in shapes if len(shape) == 2)


def _copy_rate(threads: int) -> float:
    """Bytes read and written a second by all threads copying, the best of some."""
    source = np.ones((threads, COPY_LEN), np.float32)
    target = np.empty_like(source)
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            began = time.perf_counter()
            list(pool.map(np.copyto, target, source))
            best = max(best, 2 * source.nbytes / (time.perf_counter() - began))
    return best


def _best_flops(weights: Llama, threads: int) -> float:
    """Operations a second of the model's own products where memory does not count."""
    program = Program(BEST_ROWS, 1, 1, threads)
    weight = min(
        (block.mlp.down for block in weights.blocks), key=lambda found: found.rows * found.cols
    )
    x, y = program.buffer(weight.cols), program.buffer(weight.rows)
    none, places = np.zeros(BEST_ROWS, np.int32), np.arange(BEST_ROWS, dtype=np.int32)
    page, end = none[None, :1], none[:1] + BEST_ROWS
    for _ in range(4):
        program.linear(x, weight, y)
    best = 0.0
    for _ in range(8):
        began = time.perf_counter()
        program.run(none, places, none, page, end, none[:0])
        seconds = time.perf_counter() - began
        best = max(best, 4 * 2 * BEST_ROWS * weight.rows * weight.cols / seconds)
    return best


def _texts(runner: ModelRunner, streams: int, context: int, reserve: int) -> list[Sequence]:
    """Texts whose keys are taken as computed, but for the latest."""
    pages = -(-(context + reserve) // runner.page_len)
    made = []
    for number in range(streams):
        ids = [(7 * number + 11 * at) % min(997, runner.vocab_size) for at in range(context)]
        text = Sequence(number, ids, context, PARAMS, number, context + reserve + 1)
        text.pages = list(range(number * pages, (number + 1) * pages))
        text.computed_len = context - 1
        made.append(text)
    return made


def _decode(
    runner: ModelRunner, weights: Llama, streams: int, context: int, report: Report
) -> Figure:
    texts = _texts(runner, streams, context, WARM_STEPS + STEPS + 1)
    times = []
    for step in range(WARM_STEPS + STEPS):
        if step == WARM_STEPS:
            _native(runner).measure()
        began = time.perf_counter()
        drawn = runner.run([Chunk(text, text.computed_len, 1) for text in texts])
        times.append(time.perf_counter() - began)
        for text, token in zip(texts, drawn, strict=True):
            assert token is not None
            text.computed_len += 1
            text.token_ids.append(token.token_id)
    step_s = sorted(times[WARM_STEPS:])[STEPS // 2]
    config = weights.config
    kv_bytes = streams * context * 4 * config.num_layers * config.num_kv_heads * config.head_dim
    sizes = {"linear": report.streamed_bytes, "attention": kv_bytes}
    ops = {"linear": 2.0 * streams * _numbers(weights)}
    stages = _stages(runner, sizes, ops, report.roof, step_s)
    least = (report.streamed_bytes + kv_bytes) / report.roof.bytes_per_second
    name = f"{streams} stream{'s' if streams > 1 else ''}, context {context}"
    share = max(least, ops["linear"] / report.roof.flops) / step_s
    rate = round(streams / step_s, 1)
    return Figure(name, rate, "tok/s", share, 0, streams, context, step_s, stages)


def _prompt(runner: ModelRunner, weights: Llama, length: int, roof: Roof) -> Figure:
    step_len, times = runner.program.max_rows, []
    _native(runner).measure()
    for _ in range(3):
        (text,) = _texts(runner, 1, length, 1)
        began = time.perf_counter()
        for start in range(0, length, step_len):
            runner.run([Chunk(text, start, min(step_len, length - start))])
        times.append(time.perf_counter() - began)
    head = weights.config.vocab_size * weights.config.hidden_size
    ops = 2.0 * length * (_numbers(weights) - head)
    seconds = sorted(times)[1]
    stages = _stages(runner, {}, {"linear": ops}, roof, seconds, runs=3)
    share = ops / roof.flops / seconds
    rate = round(length / seconds, 1)
    return Figure(f"prompt of {length}", rate, "tok/s", share, 0, 0, length, seconds, stages)


def _stages(
    runner: ModelRunner,
    sizes: dict[str, int],
    ops: dict[str, float],
    roof: Roof,
    step_s: float,
    *,
    runs: int = STEPS,
) -> tuple[Stage, ...]:
    """The stages since `measure`, of one run; what is left of the step is drawing and Python."""
    found: dict[str, tuple[float, int]] = {}
    for name, seconds, _, calls in _times(runner):
        kind = _kind(name)
        before = found.get(kind, (0.0, 0))
        found[kind] = (before[0] + seconds / runs, before[1] + calls // runs)
    rest = step_s - sum(seconds for seconds, _ in found.values())
    found["rest of the step"] = (max(rest, 0.0), 1)
    return tuple(
        stage(name, calls, seconds, num_bytes=sizes.get(name, 0), ops=ops.get(name, 0.0), roof=roof)
        for name, (seconds, calls) in found.items()
    )


def _times(runner: ModelRunner) -> Items[tuple[str, float, float, int]]:
    program = _native(runner)
    times = program.times()
    program.measure(False)
    return times


def _kind(name: str) -> str:
    """The stages that multiply weights are one kind, whatever is fused to them."""
    return "linear" if name in PRODUCTS else "attention" if name == "merge" else name
