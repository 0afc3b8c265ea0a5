"""Where the biases of texts that have one lie on the device."""

from collections.abc import Sequence as Items

import numpy as np
import torch

from hone_engine.kernels import SampleBatch
from hone_engine.kernels.recorder import IntArray
from hone_engine.types import Sequence


class BiasSlots:
    """A row of numbers added to the logits for every text with `logit_bias` or `allowed_tokens`,
    brought there when it first draws."""

    def __init__(self, num_slots: int, vocab_size: int, device: torch.device) -> None:
        self.biases = torch.zeros(num_slots, vocab_size, dtype=torch.float32, device=device)
        self._owners: list[Sequence | None] = [None] * num_slots

    def of(self, sequences: Items[Sequence], batch: SampleBatch) -> IntArray:
        """The slot of each text, -1 for those without a bias."""
        slots = np.full(len(sequences), -1, np.int32)
        for row, sequence in enumerate(sequences):
            bias = batch.biases[row]
            if len(bias):
                slots[row] = self._slot(sequence, sequences, torch.from_numpy(bias))
        return slots

    def _slot(self, sequence: Sequence, present: Items[Sequence], bias: torch.Tensor) -> int:
        for slot, owner in enumerate(self._owners):
            if owner is sequence:
                return slot
        ids = {id(other) for other in present}
        slot = next(i for i, owner in enumerate(self._owners) if id(owner) not in ids)
        self.biases[slot].copy_(bias)
        self._owners[slot] = sequence
        return slot
