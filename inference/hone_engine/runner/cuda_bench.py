"""How fast a runner on a GPU decodes and reads prompts, and what the GPU itself can do."""

import statistics
import time
from collections.abc import Callable
from collections.abc import Sequence as Items
from dataclasses import dataclass
from functools import partial

import torch

from hone_engine.kernels.cuda_graphs import captured, pad
from hone_engine.kernels.cuda_inputs import DeviceStep, StepShape
from hone_engine.kernels.cuda_stages import Stage
from hone_engine.runner.cuda_runner import CudaRunner, Ticket
from hone_engine.types import Chunk, SamplingParams, Sequence

WARM_STEPS, STEPS = 6, 48
PARAMS = SamplingParams(temperature=0.8, top_p=0.95, seed=1)
PENDING = -1  # a token that its step is still drawing


@dataclass(frozen=True, slots=True)
class Decoded:
    """Seconds of a step, the median, and of them those that the host spent on launching it."""

    step_s: float
    host_s: float


@dataclass(frozen=True, slots=True)
class StageTime:
    """All stages of one kind in a decode step: calls, and seconds of all without gaps."""

    name: str
    calls: int
    seconds: float


def roof(device: torch.device) -> tuple[float, float]:
    """Bytes read and written a second by a copy of 4 GB, fp16 operations a second of two matrices
    of 8192 x 8192: the best of some."""
    return 8 * (1 << 30) / _copy_s(device), 2 * 8192**3 / _product_s(device)


def _copy_s(device: torch.device) -> float:
    source = torch.zeros(1 << 30, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    return best_s(lambda: target.copy_(source), 8)


def _product_s(device: torch.device) -> float:
    x = torch.randn(8192, 8192, device=device).half()
    y = torch.randn(8192, 8192, device=device).half()
    return best_s(lambda: torch.mm(x, y), 8)


def best_s(work: Callable[[], object], repeats: int) -> float:
    """Seconds of work on the GPU, the least of `repeats`."""
    times: list[float] = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)  # type: ignore[no-untyped-call]
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return min(times)


def sequences(runner: CudaRunner, streams: int, context: int, reserve: int) -> list[Sequence]:
    """Texts of `context` tokens whose keys are taken as computed, but for the latest."""
    pages = -(-(context + reserve) // runner.page_len)
    if streams * pages > runner.num_pages:
        raise ValueError(f"{streams} texts of {context} tokens do not fit the cache")
    made = []
    for number in range(streams):
        ids = [(7 * number + 11 * at) % 997 for at in range(context)]
        sequence = Sequence(number, ids, context, PARAMS, number, context + reserve + 1)
        sequence.pages = list(range(number * pages, (number + 1) * pages))
        sequence.computed_len = context - 1
        made.append(sequence)
    return made


def decode(runner: CudaRunner, streams: int, context: int, steps: int = STEPS) -> Decoded:
    """A token of every text a step, sampled; the host is a step ahead of the GPU."""
    total = WARM_STEPS + steps
    texts = sequences(runner, streams, max(context - total, 1), total + 1)
    ticket: Ticket | None = None
    marks, hosts = [], []
    for _ in range(total):
        began = time.perf_counter()
        chunks = [Chunk(s, s.computed_len, 1) for s in texts]
        following = runner.launch(chunks)
        hosts.append(time.perf_counter() - began)
        if ticket is not None:
            _take(runner, ticket)
        for text in texts:
            text.computed_len += 1
            text.token_ids.append(PENDING)
        ticket = following
        marks.append(time.perf_counter())
    assert ticket is not None
    _take(runner, ticket)
    gaps = [b - a for a, b in zip(marks[WARM_STEPS:], marks[WARM_STEPS + 1 :], strict=False)]
    return Decoded(statistics.median(gaps), statistics.median(hosts[WARM_STEPS:]))


def _take(runner: CudaRunner, ticket: Ticket) -> None:
    """Put the drawn tokens where their places were held."""
    for chunk, drawn in zip(ticket.chunks, runner.collect(ticket), strict=True):
        assert drawn is not None
        chunk.sequence.token_ids[chunk.start + 1] = drawn.token_id


def prefill_s(runner: CudaRunner, length: int, step_len: int) -> float:
    """Seconds until the first token after a prompt is known."""
    (text,) = sequences(runner, 1, length, 1)
    text.computed_len = 0
    torch.cuda.synchronize()
    began = time.perf_counter()
    for start in range(0, length, step_len):
        ticket = runner.launch([Chunk(text, start, min(step_len, length - start))])
    runner.collect(ticket)
    return time.perf_counter() - began


def stage_times(runner: CudaRunner, streams: int, context: int) -> list[StageTime]:
    """The stages of a decode step, each kind captured and replayed alone."""
    graphs, program = runner.graphs, runner.program
    shape = graphs.shape(streams, context)
    host = program.open(shape)
    pad(host, 0)
    places = -(-context // runner.page_len)
    for row in range(shape.seqs):
        host.seq_of_row[row], host.first_rows[row + 1] = row, row + 1
        host.positions[row], host.context_lens[row] = context - 1, context
        host.page_table[row, :places] = range(row * places, (row + 1) * places)
    host.first_rows[0] = 0
    host.settings["temperature"], host.settings["top_p"] = PARAMS.temperature, PARAMS.top_p
    program.inputs.send(host)
    return _times(runner, graphs.step(shape))


def prompt_stage_times(runner: CudaRunner, length: int) -> list[StageTime]:
    """The same of a step that reads the first `length` tokens of one prompt."""
    program, pages = runner.program, -(-length // runner.page_len)
    shape = StepShape(length, 1, 1, pages)
    host = program.open(shape)
    pad(host, 0)
    host.seq_of_row[:], host.positions[:] = 0, range(length)
    host.first_rows[:], host.context_lens[0] = (0, length), length
    host.page_table[0], host.picks[0] = range(pages), length - 1
    program.inputs.send(host)
    step = program.inputs.on_device(shape, decode=False, prefill_rows=length, max_context=length)
    program.launch(step)
    return _times(runner, step)


def _times(runner: CudaRunner, step: DeviceStep) -> list[StageTime]:
    stages = [*runner.program.stages, ("sample", runner.graphs.sample)]
    found = []
    for name in dict(stages):
        work = [stage for kind, stage in stages if kind == name]
        graph = captured(partial(_each, work, step))
        found.append(StageTime(name, len(work), best_s(graph.replay, 12)))
        del graph
    return found


def _each(work: Items[Stage], step: DeviceStep) -> None:
    for stage in work:
        stage(step)
