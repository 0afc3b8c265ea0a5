"""Runs one model on a GPU: steps are launched without waiting, their tokens fetched later."""

from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hone_engine.kernels import FloatArray, Samples
from hone_engine.kernels.cuda_graphs import DecodeGraphs, pad
from hone_engine.kernels.cuda_inputs import DeviceStep, HostStep, StepShape, event
from hone_engine.kernels.cuda_program import CudaProgram
from hone_engine.kernels.cuda_sample import settings_of
from hone_engine.runner.batch import sampled
from hone_engine.runner.bias_slots import BiasSlots
from hone_engine.runner.model_runner import check_rows, draw_batches, memo_of
from hone_engine.runner.penalty_slots import PenaltySlots
from hone_engine.types import Chunk, Sampled

DEPTH = 3  # steps whose results may still be on their way


@dataclass(frozen=True, slots=True)
class Ticket:
    """A step under way: which chunks draw, and the results as they will be on the host.

    arrays: tokens; where asked also logprobs, top ids and top logprobs.
    """

    chunks: Items[Chunk]
    drawing: list[int]
    arrays: tuple[torch.Tensor, ...]
    done: torch.cuda.Event | None


class CudaRunner:
    """`types.Runner` over a recorded program on a GPU. One thread at a time."""

    def __init__(
        self,
        program: CudaProgram,
        *,
        num_pages: int,
        page_len: int,
        context_len: int,
        vocab_size: int,
        keeps: Any = None,
    ):
        self.num_pages = num_pages
        self.page_len = page_len
        self.context_len = context_len
        self.vocab_size = vocab_size
        self.program = program
        self.keeps = keeps
        program.finish()
        self._slots = PenaltySlots(program.max_seqs, vocab_size, program.device)
        self._biases = BiasSlots(program.max_seqs, vocab_size, program.device)
        self.graphs = DecodeGraphs(program, self._slots.counts, self._biases.biases, page_len)
        self._draws = draw_batches(vocab_size)
        self._steps = np.arange(max(program.max_rows, context_len), dtype=np.int32)
        self._on_gpu = program.device.type == "cuda"
        self._tokens = [
            torch.zeros(program.max_seqs, dtype=torch.int32, pin_memory=self._on_gpu)
            for _ in range(DEPTH)
        ]
        self._events = [event() if self._on_gpu else None for _ in range(DEPTH)]
        self._at = 0

    def run(self, chunks: Items[Chunk]) -> list[Sampled | None]:
        """Compute the chunks and return, per chunk, the token drawn, or None where none is due.

        Raises ValueError when the chunks are more than the program takes.
        """
        return self.collect(self.launch(chunks)) if chunks else []

    def launch(self, chunks: Items[Chunk]) -> Ticket:
        """Start a step and return at once; collect it before two more have been launched.

        A negative token of a sequence is the one that the sequence's latest step is drawing.
        """
        check_rows(chunks, self.program.max_rows, self.program.max_seqs)
        drawing = [index for index, chunk in enumerate(chunks) if chunk.samples]
        if len(chunks) <= self.graphs.max_seqs and all(
            chunk.length == 1 and chunk.samples for chunk in chunks
        ):
            step = self._decode(chunks, drawing)
        else:
            step = self._mixed(chunks, drawing)
        return self._fetch(chunks, drawing, step)

    def collect(self, ticket: Ticket) -> list[Sampled | None]:
        """Wait for a step; per chunk the token drawn, or None where none was due."""
        if ticket.done is not None:
            ticket.done.synchronize()
        rows, arrays = len(ticket.drawing), [array.numpy() for array in ticket.arrays]
        if len(arrays) == 1:
            nothing = np.zeros((rows, 0))
            arrays += [np.full(rows, np.nan, np.float32), nothing.astype(np.int32), nothing]
        samples = Samples(*arrays)
        found: list[Sampled | None] = [None] * len(ticket.chunks)
        for row, index in enumerate(ticket.drawing):
            wanted = ticket.chunks[index].sequence.params.logprobs
            found[index] = sampled(samples, row, wanted)
        return found

    def logits(self, chunks: Items[Chunk]) -> FloatArray:
        """Compute the chunks; the logits after each, fp32 (chunks, vocab)."""
        step = self._mixed(chunks, list(range(len(chunks))))
        values: FloatArray = self.program.result(step).float().cpu().numpy()
        return values

    def _decode(self, chunks: Items[Chunk], drawing: list[int]) -> DeviceStep:
        """A token of each sequence: a graph, sampling included."""
        longest = max(chunk.start for chunk in chunks) + 1
        shape = self.graphs.shape(len(chunks), longest)
        host = self.program.open(shape)
        pad(host, len(chunks))
        self._fill(host, chunks, drawing)
        self.program.inputs.send(host)
        return self.graphs.launch(shape)

    def _mixed(self, chunks: Items[Chunk], drawing: list[int]) -> DeviceStep:
        """Prompts, perhaps beside answers: stage by stage."""
        program, lengths = self.program, [chunk.length for chunk in chunks]
        widest = max(len(chunk.sequence.pages) for chunk in chunks)
        shape = StepShape(sum(lengths), len(chunks), len(drawing), widest)
        host = program.open(shape)
        self._fill(host, chunks, drawing)
        program.inputs.send(host)
        step = program.inputs.on_device(
            shape,
            decode=1 in lengths,
            prefill_rows=sum(length for length in lengths if length > 1),
            max_context=max(chunk.start + chunk.length for chunk in chunks),
        )
        program.launch(step)
        if drawing:
            tokens = program.latest[: len(drawing)]
            program.kernels.sample(
                program.result(step), step.settings, self._slots.counts, tokens, self._biases.biases
            )
        return step

    def _fill(self, host: HostStep, chunks: Items[Chunk], drawing: list[int]) -> None:
        at = 0
        for index, chunk in enumerate(chunks):
            sequence, start, end = chunk.sequence, chunk.start, at + chunk.length
            memo = memo_of(sequence)
            host.seq_of_row[at:end] = index
            host.positions[at:end] = self._steps[start : start + chunk.length]
            host.tokens[at:end] = sequence.token_ids[start : start + chunk.length]
            if host.tokens[end - 1] < 0:
                host.tokens[end - 1] = -1 - memo.row
            pages = memo.page_row(sequence)[: host.shape.pages]
            host.page_table[index, : len(pages)] = pages
            host.page_table[index, len(pages) :] = 0
            host.context_lens[index] = start + chunk.length
            host.first_rows[index], host.first_rows[index + 1] = at, end
            at = end
        ends = host.first_rows[1:]
        host.picks[: len(drawing)] = ends[drawing] - 1
        sequences = [chunks[index].sequence for index in drawing]
        slots, count = self._slots.of(sequences), len(drawing)
        if count:
            batch = self._draws.of(sequences)
            settings_of(batch, slots, host.settings[:count], self._biases.of(sequences, batch))
        for row, sequence in enumerate(sequences):
            memo_of(sequence).row = row

    def _fetch(self, chunks: Items[Chunk], drawing: list[int], step: DeviceStep) -> Ticket:
        """Start the copies of what was drawn to the host."""
        self._at = (self._at + 1) % DEPTH
        count = len(drawing)
        tokens = self._tokens[self._at][:count]
        tokens.copy_(self.program.latest[:count], non_blocking=True)
        arrays = (tokens, *self._logprobs(chunks, drawing, step))
        event = self._events[self._at]
        if event is not None:
            event.record()
        return Ticket(chunks, drawing, arrays, event)

    def _logprobs(
        self, chunks: Items[Chunk], drawing: list[int], step: DeviceStep
    ) -> tuple[torch.Tensor, ...]:
        asked = [chunks[index].sequence.params.logprobs for index in drawing]
        wanted = [number for number in asked if number is not None]
        if not wanted:
            return ()
        count, program = len(drawing), self.program
        found = program.kernels.logprobs(
            program.result(step)[:count], step.settings, program.latest[:count], max(wanted)
        )
        return tuple(self._to_host(array) for array in found)

    def _to_host(self, array: torch.Tensor) -> torch.Tensor:
        if not self._on_gpu:
            return array
        host = torch.empty(array.shape, dtype=array.dtype, pin_memory=True)
        host.copy_(array, non_blocking=True)
        return host

    def close(self) -> None:
        """Drop the program, the weights and the cache."""
        self.keeps = None
        del self.program, self._slots, self._biases, self.graphs
        if self._on_gpu:
            torch.cuda.empty_cache()
