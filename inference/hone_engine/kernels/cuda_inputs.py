"""What a step needs on the device, brought there by one copy from pinned memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hone_engine.kernels.cuda_rows import CudaRows
from hone_engine.kernels.cuda_sample import SETTING_WORDS, SETTINGS
from hone_engine.kernels.recorder import IntArray

ALIGN = 4  # words: sections begin at 16 bytes
DEPTH = 3  # host buffers: one is filled while the copies of others may still be under way


@dataclass(frozen=True, slots=True)
class StepShape:
    """Rows, sequences, wanted logit rows and page table columns of a step."""

    rows: int
    seqs: int
    picks: int
    pages: int

    def sections(self) -> list[tuple[int, ...]]:
        """Shapes of the arrays, in the order of `HostStep`."""
        rows, seqs = (self.rows,), (self.seqs,)
        return [
            (self.picks, SETTING_WORDS), rows, rows, rows, seqs, (self.seqs + 1,), (self.picks,),
            (self.seqs, self.pages),
        ]  # fmt: skip

    def places(self) -> tuple[list[tuple[int, tuple[int, ...]]], int]:
        """(first word, shape) of each array, and the words of all."""
        places, at = [], 0
        for shape in self.sections():
            places.append((at, shape))
            at += -(-int(np.prod(shape)) // ALIGN) * ALIGN
        return places, at


@dataclass(frozen=True, slots=True)
class HostStep:
    """Views of one host buffer, to be filled: int32, but `settings`, which are records."""

    shape: StepShape
    settings: NDArray[Any]
    tokens: IntArray
    positions: IntArray
    seq_of_row: IntArray
    context_lens: IntArray
    first_rows: IntArray
    picks: IntArray
    page_table: IntArray


@dataclass(frozen=True, slots=True)
class DeviceStep:
    """The same on the device, and what is known of them on the host.

    decode: a sequence may have one row; prefill_rows: rows of the others, at most; max_context:
    the longest context, at most.
    """

    settings: torch.Tensor
    tokens: torch.Tensor
    picks: torch.Tensor
    rows: CudaRows
    shape: StepShape
    decode: bool
    prefill_rows: int
    max_context: int


class StepInputs:
    """Buffers of one device and the way there. `open` a step, fill it, `send` it."""

    def __init__(self, limits: StepShape, device: torch.device) -> None:
        self.limits, self.device = limits, device
        words, pinned = limits.places()[1], device.type == "cuda"
        self._device_words = torch.zeros(words, dtype=torch.int32, device=device)
        self._host_words = [
            torch.zeros(words, dtype=torch.int32, pin_memory=pinned) for _ in range(DEPTH)
        ]
        self._sent: list[torch.cuda.Event | None] = [None] * DEPTH
        self._at = 0

    def open(self, shape: StepShape) -> HostStep:
        """The next host buffer, laid out; waits until its latest copy has ended."""
        self._at = (self._at + 1) % DEPTH
        sent = self._sent[self._at]
        if sent is not None:
            sent.synchronize()
        words = self._host_words[self._at].numpy()
        places, _ = shape.places()
        arrays = [words[at : at + int(np.prod(dims))].reshape(dims) for at, dims in places]
        settings = arrays[0].view(SETTINGS).reshape(shape.picks)
        return HostStep(shape, settings, *arrays[1:])

    def send(self, step: HostStep) -> None:
        """Start the copy of the step opened latest; it may be opened again only after it."""
        words = step.shape.places()[1]
        self._device_words[:words].copy_(self._host_words[self._at][:words], non_blocking=True)
        if self.device.type == "cuda":
            sent = self._sent[self._at] or event()
            sent.record()
            self._sent[self._at] = sent

    def on_device(
        self, shape: StepShape, *, decode: bool, prefill_rows: int, max_context: int
    ) -> DeviceStep:
        """The device's views of a step of this shape, wherever its contents come from."""
        words = self._device_words
        arrays = [words[at : at + int(np.prod(dims))].view(dims) for at, dims in shape.places()[0]]
        settings, tokens, positions, seq_of_row, context_lens, first_rows, picks, table = arrays
        rows = CudaRows(positions, seq_of_row, table, context_lens, first_rows)
        return DeviceStep(settings, tokens, picks, rows, shape, decode, prefill_rows, max_context)


def event() -> torch.cuda.Event:
    """A mark in a stream; without times, which cost."""
    made: torch.cuda.Event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    return made
