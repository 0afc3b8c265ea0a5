"""Choosing the next token of every sequence of a batch: penalties, truncation, a seeded draw."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hone_engine.kernels.native import native, physical_cores
from hone_engine.kernels.recorder import FloatArray


@dataclass(slots=True)
class SampleBatch:
    """Parameters of n rows as arrays; neutral values switch a step off.

    temperature: fp32, 0 = greedy (ties: lowest id). top_k: int32, 0 = off. top_p: fp32, 1 = off,
    keeps the token that crosses the threshold. min_p: fp32, 0 = off, relative to the top token.
    typical: fp32, 1 = off: of what is left, the tokens whose surprise is nearest to the average,
    until they hold this share of it.
    repetition: fp32, 1 = off, over all of a history (logit > 0 divided, else multiplied).
    presence, frequency: fp32, 0 = off, over the generated part of a history.
    seeds: uint64; positions: int64, the number of tokens before the one drawn: a draw depends on
    (seed, position) and the row's own logits only. num_logprobs: int32, -1 = none, 0 = the chosen
    token's, k = and the top k.
    histories: token ids (prompt, then generated) of the rows with a penalty, others may be empty;
    prompt_lens: int32, where the generated part of a history begins. biases: fp32 (vocab,), added
    to the logits after the penalties, -inf for a token that may not be drawn; (0,) for none.
    """

    temperature: NDArray[np.float32]
    top_k: NDArray[np.int32]
    top_p: NDArray[np.float32]
    min_p: NDArray[np.float32]
    typical: NDArray[np.float32]
    repetition: NDArray[np.float32]
    presence: NDArray[np.float32]
    frequency: NDArray[np.float32]
    seeds: NDArray[np.uint64]
    positions: NDArray[np.int64]
    num_logprobs: NDArray[np.int32]
    prompt_lens: NDArray[np.int32]
    histories: list[NDArray[np.int32]] = field(default_factory=list)
    biases: list[NDArray[np.float32]] = field(default_factory=list)

    @classmethod
    def neutral(cls, n: int) -> "SampleBatch":
        """n greedy rows without penalties or logprobs, to be filled in."""
        return cls(
            temperature=np.zeros(n, np.float32),
            top_k=np.zeros(n, np.int32),
            top_p=np.ones(n, np.float32),
            min_p=np.zeros(n, np.float32),
            typical=np.ones(n, np.float32),
            repetition=np.ones(n, np.float32),
            presence=np.zeros(n, np.float32),
            frequency=np.zeros(n, np.float32),
            seeds=np.zeros(n, np.uint64),
            positions=np.zeros(n, np.int64),
            num_logprobs=np.full(n, -1, np.int32),
            prompt_lens=np.zeros(n, np.int32),
            histories=[np.zeros(0, np.int32) for _ in range(n)],
            biases=[np.zeros(0, np.float32) for _ in range(n)],
        )


@dataclass(frozen=True, slots=True)
class Samples:
    """Tokens drawn for n rows.

    tokens: int32 (n,). logprobs: fp32 (n,), log-softmax of the raw logits at the token (before
    penalties and temperature), NaN where none was asked. top_ids int32, top_logprobs fp32:
    (n, k) with k the largest num_logprobs (0 if none), best first; -1 and NaN beyond a row's own.
    """

    tokens: NDArray[np.int32]
    logprobs: NDArray[np.float32]
    top_ids: NDArray[np.int32]
    top_logprobs: NDArray[np.float32]


def sample(logits: FloatArray, batch: SampleBatch, threads: int | None = None) -> Samples:
    """Draw a token a row, natively; logits fp32 (n, vocab), left unchanged.

    Raises ValueError, naming the array, unless all of the batch have n rows.
    """
    rows, vocab = logits.shape
    stride = _row_stride(logits)
    threads = threads or physical_cores()
    return Samples(*native().sample(logits.ctypes.data, rows, vocab, stride, batch, threads))


def greedy(logits: FloatArray) -> NDArray[np.int32]:
    """The likeliest token of each row, lowest id first: `sample` for a wholly neutral batch.

    logits: fp32 (n, vocab), rows contiguous.
    """
    rows, vocab = logits.shape
    tokens: NDArray[np.int32] = native().greedy(
        logits.ctypes.data, rows, vocab, _row_stride(logits)
    )
    return tokens


def _row_stride(logits: FloatArray) -> int:
    """Numbers from one row to the next; ValueError unless rows are fp32 without gaps."""
    if not logits.size:
        return int(logits.shape[1])
    row, number = map(int, logits.strides)
    if logits.dtype != np.float32 or number != 4:
        raise ValueError(f"logits: got {logits.dtype}, strides {logits.strides}, wanted fp32 rows")
    return row // 4
