"""Runs one model on the CPU: packs chunks into a program's arrays, draws the tokens."""

from collections.abc import Sequence as Items
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hone_engine.kernels import FloatArray, Recorder, sample
from hone_engine.runner.batch import DrawBatches, bias_of, sampled
from hone_engine.types import Chunk, Sampled, Sequence

IntArray = npt.NDArray[np.int32]


@dataclass(slots=True)
class Memo:
    """What the runner keeps of a sequence: its page numbers and tokens as arrays that grow."""

    pages: IntArray = field(default_factory=lambda: np.zeros(8, np.int32))
    num_pages: int = 0
    num_preemptions: int = 0
    tokens: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))
    num_tokens: int = 0
    row: int = 0  # of its latest draw on a GPU
    biased: npt.NDArray[np.float32] | None = None

    def bias(self, sequence: Sequence, vocab: int) -> npt.NDArray[np.float32]:
        """What is added to its logits, see `bias_of`."""
        if self.biased is None:
            self.biased = bias_of(sequence.params, vocab)
        return self.biased

    def page_row(self, sequence: Sequence) -> IntArray:
        """The pages of a sequence; only the ones new since the last call are copied."""
        pages = sequence.pages
        if self.num_preemptions != sequence.num_preemptions or self.num_pages > len(pages):
            self.num_preemptions, self.num_pages = sequence.num_preemptions, 0
        if self.num_pages < len(pages):
            self.pages = _grown(self.pages, len(pages))
            self.pages[self.num_pages : len(pages)] = pages[self.num_pages :]
            self.num_pages = len(pages)
        return self.pages[: self.num_pages]

    def history(self, sequence: Sequence) -> IntArray:
        """All tokens of a sequence."""
        ids = sequence.token_ids
        if self.num_tokens < len(ids):
            self.tokens = _grown(self.tokens, len(ids))
            self.tokens[self.num_tokens : len(ids)] = ids[self.num_tokens :]
            self.num_tokens = len(ids)
        return self.tokens[: self.num_tokens]


def _grown(array: IntArray, length: int) -> IntArray:
    if len(array) >= length:
        return array
    grown = np.zeros(max(length, 2 * len(array)), np.int32)
    grown[: len(array)] = array
    return grown


def memo_of(sequence: Sequence) -> Memo:
    """The sequence's memo, made at the first look."""
    memo = sequence.memo
    if not isinstance(memo, Memo):
        memo = Memo()
        sequence.memo = memo
    return memo


def draw_batches(vocab: int) -> DrawBatches:
    """The arrays of sequences whose memos are kept here."""
    return DrawBatches(
        lambda sequence: memo_of(sequence).history(sequence),
        lambda sequence: memo_of(sequence).bias(sequence, vocab),
    )


def check_rows(chunks: Items[Chunk], max_rows: int, max_seqs: int) -> int:
    """The rows of all chunks; raises ValueError when they are more than a program takes."""
    num_rows = sum(chunk.length for chunk in chunks)
    if num_rows > max_rows or len(chunks) > max_seqs:
        raise ValueError(
            f"chunks: got {len(chunks)} with {num_rows} rows, wanted at most "
            f"{max_seqs} with {max_rows}"
        )
    return num_rows


class ModelRunner:
    """`types.Runner` over a recorded program. One thread at a time."""

    def __init__(
        self,
        program: Recorder,
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
        self.keeps = keeps  # weights and cache that the program points into
        rows, seqs = program.max_rows, program.max_seqs
        self._tokens, self._positions, self._seq_of_row = np.zeros((3, rows), np.int32)
        self._page_table = np.zeros((seqs, program.max_pages_per_seq), np.int32)
        self._context_lens = np.zeros(seqs, np.int32)
        self._logit_rows = np.zeros(seqs, np.int32)
        self._draws = draw_batches(vocab_size)
        self._steps = np.arange(max(rows, context_len), dtype=np.int32)

    def run(self, chunks: Items[Chunk]) -> list[Sampled | None]:
        """Compute the chunks and return, per chunk, the token drawn, or None where none is due.

        Raises ValueError when the chunks are more than the program takes.
        """
        if not chunks:
            return []
        drawing = [index for index, chunk in enumerate(chunks) if chunk.samples]
        logits = self._forward(chunks, drawing)
        found: list[Sampled | None] = [None] * len(chunks)
        if drawing:
            sequences = [chunks[index].sequence for index in drawing]
            samples = sample(logits, self._draws.of(sequences))
            for row, index in enumerate(drawing):
                found[index] = sampled(samples, row, chunks[index].sequence.params.logprobs)
        return found

    def logits(self, chunks: Items[Chunk]) -> FloatArray:
        """Compute the chunks; the logits after each, fp32 (chunks, vocab), until the next run."""
        return self._forward(chunks, list(range(len(chunks))))

    def _forward(self, chunks: Items[Chunk], drawing: list[int]) -> FloatArray:
        num_rows = check_rows(chunks, len(self._tokens), len(self._context_lens))
        self._fill(chunks)
        ends = np.cumsum([chunk.length for chunk in chunks], dtype=np.int32) - 1
        return self.program.run(
            self._tokens[:num_rows],
            self._positions[:num_rows],
            self._seq_of_row[:num_rows],
            self._page_table[: len(chunks), : self._widest(chunks)],
            self._context_lens[: len(chunks)],
            ends[drawing],
        )

    @staticmethod
    def _widest(chunks: Items[Chunk]) -> int:
        return max(len(chunk.sequence.pages) for chunk in chunks)

    def _fill(self, chunks: Items[Chunk]) -> None:
        at = 0
        for index, chunk in enumerate(chunks):
            sequence, start, end = chunk.sequence, chunk.start, at + chunk.length
            self._seq_of_row[at:end] = index
            if chunk.length == 1:
                self._tokens[at], self._positions[at] = sequence.token_ids[start], start
            else:
                self._tokens[at:end] = sequence.token_ids[start : start + chunk.length]
                self._positions[at:end] = self._steps[start : start + chunk.length]
            pages = memo_of(sequence).page_row(sequence)
            self._page_table[index, : len(pages)] = pages
            self._context_lens[index] = start + chunk.length
            at = end

    def close(self) -> None:
        """Drop the program, the weights and the cache."""
        self.keeps = None
        del self.program
