"""The sampling parameters of many sequences as arrays, and the drawn tokens back."""

from collections.abc import Callable
from collections.abc import Sequence as Items
from operator import is_not

import numpy as np
import numpy.typing as npt

from hone_engine.kernels import SampleBatch, Samples
from hone_engine.types import Sampled, SamplingParams, Sequence

History = Callable[[Sequence], npt.NDArray[np.int32]]
Bias = Callable[[Sequence], npt.NDArray[np.float32]]
_NONE = np.zeros(0, np.int32)


class DrawBatches:
    """Makes the arrays of a step; as long as the same sequences run, only what grows is new."""

    def __init__(self, history: History, bias: Bias):
        self._history, self._bias = history, bias
        self._sequences: list[Sequence] = []
        self._batch = SampleBatch.neutral(0)
        self._penalized: list[int] = []

    def of(self, sequences: list[Sequence]) -> SampleBatch:
        """One row a sequence; histories only where a penalty looks at them."""
        if len(sequences) != len(self._sequences) or any(map(is_not, sequences, self._sequences)):
            self._sequences, self._batch = sequences, _batch_of(sequences)
            self._batch.biases = [self._bias(sequence) for sequence in sequences]
            self._penalized = [i for i, s in enumerate(sequences) if penalizes(s.params)]
        batch = self._batch
        batch.positions[:] = [len(sequence.token_ids) for sequence in sequences]
        for row in self._penalized:
            batch.histories[row] = self._history(sequences[row])
        return batch


def _batch_of(sequences: Items[Sequence]) -> SampleBatch:
    params = [sequence.params for sequence in sequences]
    return SampleBatch(
        temperature=np.array([p.temperature for p in params], np.float32),
        top_k=np.array([p.top_k for p in params], np.int32),
        top_p=np.array([p.top_p for p in params], np.float32),
        min_p=np.array([p.min_p for p in params], np.float32),
        typical=np.array([p.typical_p for p in params], np.float32),
        repetition=np.array([p.repetition_penalty for p in params], np.float32),
        presence=np.array([p.presence_penalty for p in params], np.float32),
        frequency=np.array([p.frequency_penalty for p in params], np.float32),
        seeds=np.array([sequence.seed for sequence in sequences], np.uint64),
        positions=np.zeros(len(sequences), np.int64),
        num_logprobs=np.array([-1 if p.logprobs is None else p.logprobs for p in params], np.int32),
        prompt_lens=np.array([sequence.prompt_len for sequence in sequences], np.int32),
        histories=[_NONE] * len(sequences),
    )


def penalizes(params: SamplingParams) -> bool:
    return (
        params.repetition_penalty != 1
        or params.presence_penalty != 0
        or params.frequency_penalty != 0
    )


def biases(params: SamplingParams) -> bool:
    return bool(params.logit_bias or params.allowed_tokens)


def bias_of(params: SamplingParams, vocab: int) -> npt.NDArray[np.float32]:
    """fp32 (vocab,), added to the logits, -inf where a token may not be drawn; (0,) for none."""
    if not biases(params):
        return np.zeros(0, np.float32)
    found = np.zeros(vocab, np.float32)
    if params.allowed_tokens:
        found[:] = -np.inf
        found[list(params.allowed_tokens)] = 0
    for token, bias in params.logit_bias:
        found[token] += bias
    return found


def sampled(samples: Samples, row: int, num_logprobs: int | None) -> Sampled:
    """One row of the draw as a value, with the logprobs that were asked for."""
    token = int(samples.tokens[row])
    if num_logprobs is None:
        return Sampled(token)
    ids = samples.top_ids[row, :num_logprobs].tolist()
    logprobs = samples.top_logprobs[row, :num_logprobs].tolist()
    return Sampled(token, float(samples.logprobs[row]), tuple(zip(ids, logprobs, strict=True)))
