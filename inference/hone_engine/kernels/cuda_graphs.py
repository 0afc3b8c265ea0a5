"""Decode steps as CUDA graphs: one for each batch bucket and reach of the contexts.

A step of n sequences runs in the smallest bucket that holds them; rows beyond are padding, which
stores nothing and attends to nothing. How far contexts reach sizes the grid of attention, so
graphs for short contexts do not launch blocks for long ones.
"""

from collections.abc import Callable
from typing import Any

import torch

from hone_engine.kernels.cuda_inputs import DeviceStep, HostStep, StepShape
from hone_engine.kernels.cuda_program import CudaProgram
from hone_engine.kernels.cuda_sample import neutral_settings

BUCKETS = (1, 2, 4, 8, 16, 24, 32, 48, 64)
REACHES = tuple(1024 << step for step in range(8))  # tokens; beyond: all that the page table holds


class DecodeGraphs:
    """Steps in which every sequence takes one token, sampling included.

    Without a GPU the same steps run stage by stage.
    """

    def __init__(
        self, program: CudaProgram, counts: torch.Tensor, biases: torch.Tensor, page_len: int
    ) -> None:
        self._program, self._page_len = program, page_len
        self._counts, self._biases = counts, biases
        self._capacity = program.max_pages_per_seq * page_len
        most = min(program.max_rows, program.max_seqs, program.max_logit_rows)
        self.buckets = sorted({min(size, most) for size in BUCKETS})
        self._graphs: dict[StepShape, torch.cuda.CUDAGraph] = {}
        self._steps: dict[StepShape, DeviceStep] = {}
        self._pool = torch.cuda.graph_pool_handle() if program.device.type == "cuda" else None

    @property
    def max_seqs(self) -> int:
        """Sequences of the largest bucket."""
        return self.buckets[-1]

    def shape(self, num_seqs: int, max_context: int) -> StepShape:
        """The shape of the step's arrays: what `open` takes and `launch` expects."""
        size = next(bucket for bucket in self.buckets if bucket >= num_seqs)
        reach = min(next((r for r in REACHES if r >= max_context), self._capacity), self._capacity)
        return StepShape(size, size, size, -(-reach // self._page_len))

    def launch(self, shape: StepShape) -> DeviceStep:
        """Run the step whose arrays have been sent; captures its graph at the first call."""
        step = self._steps.get(shape)
        if step is None:
            step = self._steps[shape] = self.step(shape)
        graph = self._graphs.get(shape)
        if graph is not None:
            graph.replay()
            return step
        self._run(step)
        if self._pool is not None:  # this step has run; the graph is for those to come
            self._graphs[shape] = self._capture(step)
        return step

    def warm(self, max_context: int) -> None:
        """Capture the graphs of every bucket for contexts up to `max_context`, on padding."""
        for size in self.buckets:
            shape = self.shape(size, max_context)
            host = self._program.open(shape)
            pad(host, 0)
            self._program.inputs.send(host)
            self.launch(shape)

    def _capture(self, step: DeviceStep) -> torch.cuda.CUDAGraph:
        """The step as a graph."""
        torch.cuda.synchronize(self._program.device)
        return captured(lambda: self._run(step), self._pool)

    def step(self, shape: StepShape) -> DeviceStep:
        """The device's arrays of a step of this shape."""
        reach = shape.pages * self._page_len
        return self._program.inputs.on_device(shape, decode=True, prefill_rows=0, max_context=reach)

    def _run(self, step: DeviceStep) -> None:
        self._program.launch(step)
        self.sample(step)

    def sample(self, step: DeviceStep) -> None:
        """Draw the step's tokens from its logits."""
        program = self._program
        tokens = program.latest[: step.shape.picks]
        program.kernels.sample(
            program.result(step), step.settings, self._counts, tokens, self._biases
        )


def pad(host: HostStep, num_seqs: int) -> None:
    """Fill the arrays of a decode step from row `num_seqs` on: rows of nobody."""
    host.settings[num_seqs:] = neutral_settings(len(host.settings) - num_seqs)
    for array in (host.tokens, host.positions, host.context_lens, host.page_table):
        array[num_seqs:] = 0
    host.seq_of_row[num_seqs:] = -1
    host.first_rows[num_seqs:] = num_seqs
    host.picks[:] = range(len(host.picks))


def captured(work: Callable[[], None], pool: Any = None) -> torch.cuda.CUDAGraph:
    """What `work` launches, as a graph; nothing runs. It must have run once before."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        work()
    return graph
