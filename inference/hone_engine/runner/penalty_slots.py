"""Where the tokens of penalized texts are counted on the device."""

from collections.abc import Sequence as Items

import numpy as np
import torch

from hone_engine.kernels.cuda_sample import counts_of
from hone_engine.kernels.recorder import IntArray
from hone_engine.runner.batch import penalizes
from hone_engine.runner.model_runner import memo_of
from hone_engine.types import Sequence


class PenaltySlots:
    """A row of counts for every sequence with a penalty, filled when it first draws.

    After that the device counts what it draws. A row whose length does not agree with its text
    (it was preempted and went on elsewhere, or its owner is new) is filled again.
    """

    def __init__(self, num_slots: int, vocab_size: int, device: torch.device) -> None:
        self.counts = torch.zeros(num_slots, vocab_size, dtype=torch.int32, device=device)
        self._owners: list[Sequence | None] = [None] * num_slots
        self._lengths = [0] * num_slots

    def of(self, sequences: Items[Sequence]) -> IntArray:
        """The slot of each sequence, -1 for those without a penalty; each draws one token now."""
        slots = np.full(len(sequences), -1, np.int32)
        for row, sequence in enumerate(sequences):
            if penalizes(sequence.params):
                slots[row] = self._slot(sequence, sequences)
        return slots

    def _slot(self, sequence: Sequence, present: Items[Sequence]) -> int:
        slot = next((i for i, owner in enumerate(self._owners) if owner is sequence), -1)
        if slot < 0:
            ids = {id(other) for other in present}
            slot = next(i for i, owner in enumerate(self._owners) if id(owner) not in ids)
        length = len(sequence.token_ids)
        if self._owners[slot] is not sequence or self._lengths[slot] != length:
            history = memo_of(sequence).history(sequence)
            counts = counts_of(history, sequence.prompt_len, self.counts.shape[1])
            self.counts[slot].copy_(torch.from_numpy(counts))
        self._owners[slot], self._lengths[slot] = sequence, length + 1
        return slot
