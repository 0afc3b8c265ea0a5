"""The native draw against its reference, and the properties that requests rely on."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from hone_engine.kernels import SampleBatch, Samples, sample, sample_reference
from hone_engine.kernels.native import native
from hone_engine.kernels.reference_sample import uniform_reference


def draw(logits: torch.Tensor, batch: SampleBatch, threads: int | None = None) -> Samples:
    return sample(logits.numpy(), batch, threads)


def logits_of(rows: int, vocab: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, vocab, generator=torch.Generator().manual_seed(seed)) * 3


def drawing(rows: int, **fields: float) -> SampleBatch:
    batch = SampleBatch.neutral(rows)
    batch.temperature[:] = 1
    batch.seeds[:] = np.arange(rows)
    for name, value in fields.items():
        getattr(batch, name)[:] = value
    return batch


def test_uniform_numbers_are_the_references() -> None:
    for seed, position in ((0, 0), (1, 0), (0, 1), (2**64 - 1, 12345), (77, 2**40)):
        assert native().counter_uniform(seed, position) == uniform_reference(seed, position)


def test_uniform_numbers_are_uniform() -> None:
    draws = np.array([uniform_reference(s, p) for s in range(40) for p in range(250)])
    assert abs(draws.mean() - 0.5) < 0.01
    assert np.histogram(draws, 10, (0, 1))[0].min() > 880


@pytest.mark.parametrize("vocab", [1, 5, 1000, 49157])
def test_greedy_takes_the_lowest_id_of_the_largest(vocab: int) -> None:
    logits = logits_of(4, vocab)
    logits[1] = 2.0
    logits[2, -1] = 99.0
    tokens = draw(logits, SampleBatch.neutral(4)).tokens
    assert tokens.tolist() == [int(row.argmax()) for row in logits]
    assert tokens[1] == 0


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"temperature": 0.3},
        {"top_k": 7},
        {"top_k": 1},
        {"top_p": 0.6},
        {"top_p": 1e-9},
        {"min_p": 0.2},
        {"top_k": 40, "top_p": 0.9, "min_p": 0.05, "temperature": 1.7},
        {"top_k": 10**6, "top_p": 0.95},
        {"typical": 0.5},
        {"typical": 0.9, "top_k": 50, "top_p": 0.9, "min_p": 0.02},
        {"typical": 1e-6},
    ],
    ids=str,
)
@pytest.mark.parametrize("vocab", [1, 3, 2049])
def test_draws_are_the_references(fields: dict[str, float], vocab: int) -> None:
    logits, batch = logits_of(64, vocab), drawing(64, **fields)
    got, wanted = draw(logits, batch).tokens, sample_reference(logits, batch).tokens
    assert (got != wanted).sum() <= 1  # a number may fall on a border in fp32


@pytest.mark.parametrize("fields", [{}, {"top_p": 0.9}, {"temperature": 0.0}, {"typical": 0.8}])
def test_biases_are_the_references(fields: dict[str, float]) -> None:
    logits, batch = logits_of(48, 600), drawing(48, repetition=1.3, **fields)
    rng = np.random.default_rng(0)
    batch.histories = [rng.integers(0, 600, n % 30).astype(np.int32) for n in range(48)]
    for row in range(0, 48, 2):
        bias = rng.normal(0, 3, 600).astype(np.float32)
        if row % 4:
            bias[rng.permutation(600)[: 598 if row % 3 else 599]] = -np.inf
        batch.biases[row] = bias
    before = logits.clone()
    got, wanted = draw(logits, batch).tokens, sample_reference(logits, batch).tokens
    assert (got != wanted).sum() <= 1
    assert torch.equal(logits, before)
    for row in range(0, 48, 2):
        assert np.isfinite(batch.biases[row][got[row]])


def test_typical_keeps_what_surprises_as_much_as_the_average() -> None:
    """Of 0.6, 0.2, 0.1, 0.1 the average surprise is 1.09 nats: 0.2 is nearest, then 0.6."""
    logits = torch.tensor([0.6, 0.2, 0.1, 0.1]).log().repeat(500, 1)
    assert set(draw(logits, drawing(500, typical=0.15)).tokens.tolist()) == {1}
    assert set(draw(logits, drawing(500, typical=0.7)).tokens.tolist()) == {0, 1}
    assert set(draw(logits, drawing(500, typical=0.95)).tokens.tolist()) == {0, 1, 2, 3}


def test_a_bias_of_another_length_is_named() -> None:
    batch = SampleBatch.neutral(2)
    batch.biases[1] = np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="biases: got 3 numbers, wanted 10 or none"):
        draw(torch.zeros(2, 10), batch)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_penalties_are_the_references(temperature: float) -> None:
    logits = logits_of(48, 60)
    batch = drawing(
        48, temperature=temperature, repetition=1.5, presence=0.7, frequency=0.4, prompt_lens=5
    )
    rng = np.random.default_rng(0)
    batch.histories = [rng.integers(0, 60, n % 30).astype(np.int32) for n in range(48)]
    before = logits.clone()
    got, wanted = draw(logits, batch).tokens, sample_reference(logits, batch).tokens
    assert (got != wanted).sum() <= 1
    assert torch.equal(logits, before)


def test_logprobs_are_those_of_the_raw_logits() -> None:
    logits, batch = logits_of(5, 300), drawing(5, temperature=0.5, top_k=3)
    batch.num_logprobs[:] = [-1, 0, 1, 20, 3]
    got, wanted = draw(logits, batch), sample_reference(logits, batch)
    assert got.tokens.tolist() == wanted.tokens.tolist()
    assert math.isnan(got.logprobs[0])
    np.testing.assert_allclose(got.logprobs, wanted.logprobs, atol=1e-5)
    assert got.top_ids.tolist() == wanted.top_ids.tolist()
    np.testing.assert_allclose(got.top_logprobs, wanted.top_logprobs, atol=1e-5)


def test_frequencies_follow_the_distribution() -> None:
    probabilities = torch.tensor([0.5, 0.3, 0.15, 0.05])
    logits = probabilities.log().repeat(4000, 1)
    counts = Counter(draw(logits, drawing(4000)).tokens.tolist())
    for token, p in enumerate(probabilities.tolist()):
        assert abs(counts[token] / 4000 - p) < 0.03


def test_top_p_keeps_the_token_that_crosses_the_threshold() -> None:
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log().repeat(500, 1)
    assert set(draw(logits, drawing(500, top_p=0.6)).tokens.tolist()) == {0, 1}


def test_draw_depends_on_seed_position_and_own_row_alone() -> None:
    logits, batch = logits_of(9, 1000), drawing(9, top_p=0.95)
    batch.positions[:] = 17
    together = draw(logits, batch, threads=2).tokens
    for row in range(9):
        one = drawing(1, top_p=0.95, seeds=row, positions=17)
        assert draw(logits[row : row + 1], one, threads=1).tokens[0] == together[row]
    batch.positions[:] = 18
    assert draw(logits, batch).tokens.tolist() != together.tolist()


def test_no_rows_give_no_tokens() -> None:
    assert draw(torch.zeros(0, 10), SampleBatch.neutral(0)).tokens.shape == (0,)


def test_arrays_of_another_length_are_named() -> None:
    batch = SampleBatch.neutral(3)
    batch.top_k = np.zeros(2, np.int32)
    with pytest.raises(ValueError, match="top_k: got 2 rows, wanted 3"):
        draw(torch.zeros(3, 10), batch)


def test_extreme_logits_do_not_break_the_draw() -> None:
    logits = torch.full((3, 50), -torch.inf)
    logits[0, 7] = 0.0
    logits[1] = torch.nan
    logits[2] = 1e30
    for fields in ({}, {"top_p": 0.9}, {"top_k": 5}, {"min_p": 0.1}, {"typical": 0.5}):
        tokens = draw(logits, drawing(3, **fields)).tokens
        assert tokens[0] == 7
        assert ((tokens >= 0) & (tokens < 50)).all()
