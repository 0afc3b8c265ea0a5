"""Sampling on the GPU against the CPU's reference: the same tokens for the same seeds."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from cuda_cases import ON_GPU

from hone_engine.kernels.cuda_rowwise import CudaQueue
from hone_engine.kernels.cuda_sample import (
    PROMPT_TOKEN,
    SETTINGS,
    batch_of,
    counts_of,
    cuda_logprobs,
    cuda_logprobs_reference,
    cuda_sample,
    cuda_sample_reference,
    neutral_settings,
    settings_of,
)
from hone_engine.kernels.sample import SampleBatch

gpu = pytest.mark.parametrize("device", [pytest.param("cuda", marks=ON_GPU)])
ROWS = 64


def settings(rows: int, *, slots: int = 0, logprobs: bool = False) -> torch.Tensor:
    """Random ones, every truncation alone and with the others; the first `slots` rows penalized."""
    rng = np.random.default_rng()
    found = neutral_settings(rows)
    found["temperature"] = rng.choice([0, 0.3, 0.7, 1, 1.5], rows)
    found["top_k"] = rng.choice([0, 0, 1, 5, 40, 3000], rows)
    found["top_p"] = rng.choice([1, 1, 0.95, 0.5, 0.999, 0.01], rows)
    found["min_p"] = rng.choice([0, 0, 0.05, 0.5, 1], rows)
    for name in ("seed_low", "seed_high"):
        found[name] = rng.integers(0, 2**32, rows, dtype=np.uint32)
    found["typical"] = rng.choice([1, 1, 0.9, 0.5, 0.1], rows)
    found["position"] = rng.integers(0, 100_000, rows)
    found["slot"][:slots] = range(slots)
    found["repetition"][:slots], found["presence"][:slots] = 1.3, 0.5
    found["frequency"][:slots] = 0.25
    if logprobs:
        found["num_logprobs"] = rng.choice([-1, 0, 1, 5, 20], rows)
    return torch.from_numpy(found.view(np.int32).reshape(rows, -1).copy())


def counts(slots: int, vocab: int) -> torch.Tensor:
    rng = np.random.default_rng()
    texts = [rng.integers(0, vocab, 60).astype(np.int32) for _ in range(slots)]
    made = [torch.from_numpy(counts_of(text, 30, vocab)) for text in texts]
    return torch.stack(made) if made else torch.zeros(1, vocab, dtype=torch.int32)


def logits(kind: str, rows: int, vocab: int, dtype: torch.dtype) -> torch.Tensor:
    x = torch.randn(rows, vocab, device="cuda") * 3
    if kind == "flat":
        x = x * 1e-3 + 4
    elif kind == "equal":
        x = torch.full_like(x, 2.5)
    elif kind == "peaked":
        x[:, vocab // 2] += 40
    elif kind == "masked":
        x[:, max(1, vocab // 3) :] = float("-inf")
    return x.to(dtype)


@gpu
@pytest.mark.parametrize("kind", ["normal", "flat", "equal", "peaked", "masked"])
@pytest.mark.parametrize("vocab", [1, 50, 4097, 49152, 128256])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_tokens_are_the_references(device: str, kind: str, vocab: int, dtype) -> None:
    rows = ROWS if vocab < 10_000 else 16
    queue = CudaQueue(torch.device("cuda", 0))
    x, chosen = logits(kind, rows, vocab, dtype), settings(rows, slots=4)
    seen = counts(4, vocab)
    got_counts, wanted_counts = seen.cuda(), seen.clone()
    got = torch.full((rows,), -7, dtype=torch.int32, device=device)
    wanted = torch.zeros(rows, dtype=torch.int32)
    cuda_sample(queue, x, chosen.cuda(), got_counts, got)
    cuda_sample_reference(x, chosen, wanted_counts, wanted)
    same = got.cpu() == wanted
    # fp32 weights: a draw within 1e-6 of a border may fall on its other side
    wrong = [
        (int(got[r]), int(wanted[r]), chosen[r].numpy().view(SETTINGS))
        for r in np.flatnonzero(~same)
    ]
    assert same.sum() >= rows - 1, wrong
    if same[:4].all():
        assert torch.equal(got_counts.cpu(), wanted_counts)


@gpu
@pytest.mark.parametrize("vocab", [50, 4097, 128256])
def test_biases_are_added_and_masked_tokens_are_not_drawn(device: str, vocab: int) -> None:
    queue = CudaQueue(torch.device("cuda", 0))
    x, chosen = logits("normal", 24, vocab, torch.float16), settings(24, slots=4)
    place = neutral_settings(1).dtype.fields["bias_slot"][1] // 4
    chosen[2:22, place] = torch.arange(20, dtype=torch.int32)
    biases = torch.randn(20, vocab) * 2
    for row in range(0, 20, 2):
        biases[row, torch.randperm(vocab)[: vocab * 3 // 4]] = float("-inf")
    seen = counts(4, vocab)
    got, wanted = torch.zeros(24).int().cuda(), torch.zeros(24).int()
    cuda_sample(queue, x, chosen.cuda(), seen.cuda(), got, biases.cuda())
    cuda_sample_reference(x, chosen, seen.clone(), wanted, biases)
    assert (got.cpu() == wanted).sum() >= 23
    drawn = biases.gather(1, got.cpu()[2:22, None].long())
    assert torch.isfinite(drawn).all()


@gpu
def test_the_same_tokens_every_time_and_in_any_company(device: str) -> None:
    queue = CudaQueue(torch.device("cuda", 0))
    x, chosen = logits("normal", ROWS, 128256, torch.float16), settings(ROWS).cuda()
    none = torch.zeros(1, 128256, dtype=torch.int32, device=device)
    first = torch.empty(ROWS, dtype=torch.int32, device=device)
    cuda_sample(queue, x, chosen, none, first)
    for _ in range(10):
        again = torch.empty_like(first)
        cuda_sample(queue, x, chosen, none, again)
        assert torch.equal(first, again)
    for row in range(0, ROWS, 9):
        alone = torch.empty(1, dtype=torch.int32, device=device)
        cuda_sample(queue, x[row : row + 1], chosen[row : row + 1], none, alone)
        assert alone.item() == first[row].item()


@gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_logprobs_are_those_of_the_raw_logits(device: str, dtype) -> None:
    queue = CudaQueue(torch.device("cuda", 0))
    x, chosen = logits("normal", 20, 49152, dtype), settings(20, logprobs=True)
    tokens = torch.randint(0, 49152, (20,), device=device, dtype=torch.int32)
    got = cuda_logprobs(queue, x, chosen.cuda(), tokens, 20)
    wanted = cuda_logprobs_reference(x, chosen, tokens.cpu(), 20)
    assert torch.equal(got[1].cpu(), wanted[1])
    for mine, theirs in ((got[0], wanted[0]), (got[2], wanted[2])):
        torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-5, atol=2e-5, equal_nan=True)


@gpu
def test_a_captured_draw_counts_and_follows_its_settings(device: str) -> None:
    queue = CudaQueue(torch.device("cuda", 0))
    x, chosen = logits("normal", 2, 4096, torch.float32), settings(2, slots=1).cuda()
    seen, tokens = (
        torch.zeros(1, 4096, dtype=torch.int32, device=device),
        torch.zeros(2).int().cuda(),
    )
    cuda_sample(queue, x, chosen, seen, tokens)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cuda_sample(queue, x, chosen, seen, tokens)
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert seen.sum().item() == 3


def test_settings_survive_the_way_to_the_device_and_back() -> None:
    batch = SampleBatch.neutral(3)
    batch.temperature[:], batch.top_k[:], batch.min_p[:] = (0.5, 0, 2), (4, 0, 9), 0.25
    batch.seeds[:] = [2**64 - 1, 5, 1 << 40]
    batch.positions[:] = [7, 8, 9]
    packed = neutral_settings(3)
    settings_of(batch, np.array([-1, 0, -1], np.int32), packed)
    words = torch.from_numpy(packed.view(np.int32).reshape(3, -1))
    seen = torch.from_numpy(counts_of(np.array([3, 3, 5, 5, 5, 1], np.int32), 2, 8))[None]
    found = batch_of(words, seen)
    assert found.seeds.tolist() == batch.seeds.tolist()
    assert found.positions.tolist() == [7, 8, 9]
    assert found.typical.tolist() == [1, 1, 1]
    assert not any(len(bias) for bias in found.biases)
    assert found.temperature.tolist() == [0.5, 0, 2]
    assert found.top_k.tolist() == [4, 0, 9]
    assert found.histories[1].tolist() == [3, 1, 5, 5, 5]
    assert found.prompt_lens[1] == 1
    assert not len(found.histories[0])


def test_counts_tell_the_prompt_from_the_answer() -> None:
    counted = counts_of(np.array([3, 3, 5, 5, 5, 3], np.int32), 2, 6)
    assert counted.tolist() == [0, 0, 0, PROMPT_TOKEN + 1, 0, 3]


def test_the_reference_counts_what_it_draws() -> None:
    seen = torch.zeros(1, 6, dtype=torch.int32)
    packed = neutral_settings(2)
    packed["slot"][1], packed["presence"][1] = 0, 100.0
    words = torch.from_numpy(packed.view(np.int32).reshape(2, -1))
    x, tokens = torch.tensor([[0.0, 1, 5, 4, 0, 0]] * 2), torch.zeros(2, dtype=torch.int32)
    drawn = []
    for _ in range(3):
        cuda_sample_reference(x, words, seen, tokens)
        drawn.append(tokens.tolist())
    assert drawn == [[2, 2], [2, 3], [2, 1]]
    assert seen.tolist() == [[0, 1, 1, 1, 0, 0]]


def test_the_reference_adds_the_bias_of_its_slot() -> None:
    packed = neutral_settings(3)
    packed["bias_slot"] = [1, -1, 0]
    words = torch.from_numpy(packed.view(np.int32).reshape(3, -1))
    x, tokens = torch.tensor([[0.0, 1, 5, 4]] * 3), torch.zeros(3, dtype=torch.int32)
    biases = torch.tensor([[9.0, 0, 0, 0], [0, 0, float("-inf"), 0]])
    cuda_sample_reference(x, words, torch.zeros(1, 4).int(), tokens, biases)
    assert tokens.tolist() == [3, 2, 0]
