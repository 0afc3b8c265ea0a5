"""The draw in plain torch: slow, and right by inspection."""

import numpy as np
import torch

from hone_engine.kernels.sample import SampleBatch, Samples

MASK = (1 << 64) - 1


def uniform_reference(seed: int, position: int) -> float:
    """Number in [0, 1) of a (seed, position): two rounds of splitmix64 (Steele et al., 2014)."""
    state = seed & MASK
    for add in (position & MASK, 0x632BE59BD9B4E019):
        state = (state + 0x9E3779B97F4A7C15 * (add | 1) + add) & MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        state ^= state >> 31
    return (state >> 11) * 2.0**-53


def penalize_reference(logits: torch.Tensor, batch: SampleBatch, row: int) -> torch.Tensor:
    """Logits (vocab,) of one row after its three penalties and its bias."""
    bias = batch.biases[row]
    logits = _penalized(logits, batch, row)
    return logits + torch.from_numpy(bias) if len(bias) else logits


def _penalized(logits: torch.Tensor, batch: SampleBatch, row: int) -> torch.Tensor:
    history = torch.from_numpy(np.asarray(batch.histories[row], np.int64))
    if not len(history):
        return logits
    seen = torch.unique(history)
    value = logits[seen]
    repetition = float(batch.repetition[row])
    logits = logits.clone()
    logits[seen] = torch.where(value > 0, value / repetition, value * repetition)
    made, counts = torch.unique(history[int(batch.prompt_lens[row]) :], return_counts=True)
    logits[made] -= float(batch.presence[row]) + float(batch.frequency[row]) * counts.float()
    return logits


def _pick(ids: torch.Tensor, weights: torch.Tensor, uniform: float) -> int:
    """The first of ids at which the running sum of weights exceeds its share of the total."""
    at = int((weights.cumsum(0) <= uniform * weights.sum()).sum())
    latest = int(weights.nonzero()[-1])
    return int(ids[min(at, latest)])


def draw_reference(logits: torch.Tensor, batch: SampleBatch, row: int) -> int:
    """Token drawn from penalized logits (vocab,), truncated by top-k, top-p, min-p and typical-p in
    this order.

    Kept tokens are walked in the order of their ids if nothing truncates or typical-p does, else
    likeliest first.
    """
    temperature = float(batch.temperature[row])
    if temperature <= 0:
        return int(logits.argmax())
    uniform = uniform_reference(int(batch.seeds[row]), int(batch.positions[row]))
    top_k, top_p, min_p = int(batch.top_k[row]), float(batch.top_p[row]), float(batch.min_p[row])
    weights = torch.exp((logits.double() - logits.max().double()) / temperature)
    typical = float(batch.typical[row])
    ids = torch.arange(len(logits))
    if not 0 < top_k < len(logits) and top_p >= 1 and min_p <= 0:
        return _pick(ids, _typical(weights, typical), uniform)
    order = torch.argsort(logits, descending=True, stable=True)
    weights = weights[order]
    if top_k > 0:
        weights[top_k:] = 0
    before = weights.cumsum(0) - weights
    first = torch.arange(len(weights)) == 0
    weights = weights * (first | (before < top_p * weights.sum()))
    weights = weights * (first | (weights >= min_p))
    if typical < 1:
        in_order = torch.zeros_like(weights).scatter(0, order, weights)
        return _pick(ids, _typical(in_order, typical), uniform)
    return _pick(order, weights, uniform)


def _typical(weights: torch.Tensor, share: float) -> torch.Tensor:
    """The weights, 0 where the surprise is further from the average than a share of all reaches
    (locally typical sampling, Meister et al., 2022)."""
    if share >= 1:
        return weights
    surprise = -torch.log(weights)
    mean = (weights * surprise).nan_to_num(0).sum() / weights.sum()
    away = (surprise - mean).abs()
    order = torch.argsort(away, stable=True)
    reached = weights[order].cumsum(0) >= share * weights.sum()
    furthest = away[order[int(reached.nonzero()[0])]] if reached.any() else away.max()
    return torch.where(away <= furthest, weights, 0)


def sample_reference(logits: torch.Tensor, batch: SampleBatch) -> Samples:
    """Draw a token a row; logits fp32 (n, vocab), left unchanged."""
    n = logits.shape[0]
    width = max([0, *batch.num_logprobs.tolist()])
    samples = Samples(
        np.zeros(n, np.int32),
        np.full(n, np.nan, np.float32),
        np.full((n, width), -1, np.int32),
        np.full((n, width), np.nan, np.float32),
    )
    for row in range(n):
        token = draw_reference(penalize_reference(logits[row], batch, row), batch, row)
        samples.tokens[row] = token
        wanted = int(batch.num_logprobs[row])
        if wanted >= 0:
            logprobs = torch.log_softmax(logits[row].double(), dim=-1)
            samples.logprobs[row] = float(logprobs[token])
            top = torch.sort(logprobs, descending=True, stable=True)
            samples.top_ids[row, :wanted] = top.indices[:wanted].numpy()
            samples.top_logprobs[row, :wanted] = top.values[:wanted].float().numpy()
    return samples
