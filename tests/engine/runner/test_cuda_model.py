"""A model of random 4-bit weights on the GPU: kernels against references, company against none."""

import gc
from dataclasses import replace

import numpy as np
import pytest
import torch

from hone_engine.config import EngineConfig
from hone_engine.kernels.cuda_kernels import ReferenceKernels
from hone_engine.kernels.cuda_native import why_no_cuda
from hone_engine.layers.mixtures import Mixture
from hone_engine.layers.synthetic_weights import SyntheticSource
from hone_engine.models.llama import Llama
from hone_engine.models.shapes import SHAPES
from hone_engine.runner.cuda_loading import Backend
from hone_engine.runner.cuda_runner import CudaRunner
from hone_engine.types import Chunk, SamplingParams, Sequence

REASON = why_no_cuda()
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
devices = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=ON_GPU)])
GREEDY = SamplingParams(temperature=0)
SHAPE = replace(
    SHAPES["llama-1b"], hidden_size=256, inner_size=512, num_layers=2, num_heads=4, num_kv_heads=2,
    vocab_size=1000, max_len=2048,
)  # fmt: skip
MIXED = Mixture(3.5, 6.3)
CONFIG = EngineConfig(device="cuda", dtype="fp16", page_len=16, cache_tokens=8192, max_batch=64)


def make(
    device: str,
    bits: int | Mixture,
    *,
    reference: bool,
    kv_dtype: str = "fp16",
    wide_copy: bool = False,
    batch_invariant: bool = False,
    source: SyntheticSource | None = None,
) -> CudaRunner:
    backend = Backend(torch.device(device), ReferenceKernels() if reference else None)
    config = replace(
        CONFIG, max_step_tokens=256, kv_dtype=kv_dtype, batch_invariant=batch_invariant
    )
    source = source or SyntheticSource(
        Llama.tensor_shapes(SHAPE), bits, device=backend.device, dtype=torch.float16,
        wide_copy=wide_copy,
    )  # fmt: skip
    model = Llama.load(source, SHAPE)
    program, cache = backend.program(config, 256, 64, 16), backend.cache(SHAPE, config)
    model.record(program, cache)
    return CudaRunner(
        program, num_pages=config.num_pages, page_len=16, context_len=256, vocab_size=1000,
        keeps=(model, cache),
    )  # fmt: skip


def text(number: int, length: int, params: SamplingParams = GREEDY) -> Sequence:
    ids = [(7 * number + 11 * at * at) % 997 for at in range(length)]
    sequence = Sequence(number, ids, length, params, 1000 + number, 256)
    sequence.pages = list(range(number * 8, number * 8 + 8))
    return sequence


def answers(runner: CudaRunner, texts: list[Sequence], length: int) -> list[list[int]]:
    for _ in range(length):
        chunks = [Chunk(s, s.computed_len, s.num_uncomputed) for s in texts]
        for sequence, drawn in zip(texts, runner.run(chunks), strict=True):
            assert drawn is not None
            sequence.computed_len = len(sequence.token_ids)
            sequence.token_ids.append(drawn.token_id)
    return [sequence.token_ids[sequence.prompt_len :] for sequence in texts]


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=ON_GPU)])
@pytest.mark.parametrize("bits", [4, 8, 16, MIXED])
def test_logits_are_those_of_the_reference(device: str, bits: int | Mixture) -> None:
    found = []
    for reference in (False, True):
        runner = make(device, bits, reference=reference)
        steps = []
        for lengths in ((40, 90, 1), (1, 1, 1), (7, 64, 1)):  # many rows, a few, both kinds
            texts = [text(number, 100) for number in range(3)]
            done = [sum(n for n in part) for part in ([], [40], [41], [48])][len(steps)]
            chunks = []
            for s, n in zip(texts, lengths, strict=True):
                s.computed_len = done
                chunks.append(Chunk(s, done, min(n, 100 - done)))
            steps.append(runner.logits(chunks).copy())
        found.append(np.concatenate(steps))
        runner.close()
    error = np.abs(found[0] - found[1]).max() / np.abs(found[1]).max()
    assert error < 1e-2, error


@devices
@pytest.mark.parametrize(("kv_dtype", "most"), [("q8", 0.02), ("q4", 0.3)])
def test_a_quantized_cache_changes_logits_little(device: str, kv_dtype: str, most: float) -> None:
    found = []
    for kind in ("fp16", kv_dtype):
        runner = make(device, 16, reference=device == "cpu", kv_dtype=kind)
        first, second = text(0, 80), text(1, 30)
        runner.logits([Chunk(first, 0, 60), Chunk(second, 0, 29)])
        first.computed_len, second.computed_len = 60, 29
        found.append(runner.logits([Chunk(first, 60, 20), Chunk(second, 29, 1)]).copy())
        runner.close()
    error = np.linalg.norm(found[1] - found[0]) / np.linalg.norm(found[0])
    assert 0 < error < most, error


@devices
def test_a_wide_copy_gives_the_same_logits(device: str) -> None:
    found = []
    for wide_copy in (False, True):
        runner = make(device, 4, reference=device == "cpu", wide_copy=wide_copy)
        texts = [text(number, 3) for number in range(40)]
        found.append(runner.logits([Chunk(s, 0, 3) for s in texts]).copy())
        runner.close()
    error = np.abs(found[0] - found[1]).max() / np.abs(found[1]).max()
    assert error < 1e-2, error


@devices
def test_a_batch_of_64_answers_as_each_text_alone(device: str) -> None:
    runner = make(device, 16 if device == "cpu" else 4, reference=device == "cpu")
    length = 4 if device == "cpu" else 24
    many = answers(runner, [text(number, 3) for number in range(64)], length)
    for number in (0, 17, 63) if device == "cpu" else range(0, 64, 7):
        (alone,) = answers(runner, [text(number, 3)], length)
        same = [a == b for a, b in zip(alone, many[number], strict=True)]
        # the sums of a batch are made in another order: near ties may fall otherwise
        assert sum(same) >= 2 or alone[0] == many[number][0]
    runner.close()


@devices
def test_seeds_and_penalties_give_the_same_answer_again(device: str) -> None:
    runner = make(device, 16 if device == "cpu" else 4, reference=device == "cpu")
    params = SamplingParams(
        temperature=0.9, top_p=0.9, top_k=50, repetition_penalty=1.2, frequency_penalty=0.5
    )
    first = answers(runner, [text(1, 5, params), text(2, 4)], 6)
    again = answers(runner, [text(1, 5, params), text(2, 4)], 6)
    assert first == again
    runner.close()


@devices
def test_a_step_launched_before_its_tokens_are_known_is_the_same(device: str) -> None:
    runner = make(device, 16 if device == "cpu" else 4, reference=device == "cpu")
    params = SamplingParams(temperature=0.8, top_p=0.95, repetition_penalty=1.1)
    wanted = answers(runner, [text(1, 5, params), text(2, 4, params)], 6)
    texts = [text(1, 5, params), text(2, 4, params)]
    ticket = None
    for _ in range(6):
        following = runner.launch([Chunk(s, s.computed_len, s.num_uncomputed) for s in texts])
        if ticket is not None:
            take(runner, ticket)
        for sequence in texts:
            sequence.computed_len = len(sequence.token_ids)
            sequence.token_ids.append(-1)
        ticket = following
    take(runner, ticket)
    assert [s.token_ids[s.prompt_len :] for s in texts] == wanted
    runner.close()


def take(runner: CudaRunner, ticket) -> None:
    for chunk, drawn in zip(ticket.chunks, runner.collect(ticket), strict=True):
        chunk.sequence.token_ids[chunk.start + chunk.length] = drawn.token_id


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=ON_GPU)])
@pytest.mark.parametrize("bits", [4, 8, 16, MIXED])
def test_batch_invariant_texts_get_the_tokens_and_logits_they_get_alone(
    device: str, bits: int | Mixture
) -> None:
    """Prompts of 5 to 68 tokens, cut at other places, then answers beside 63 others."""
    runner = make(device, bits, reference=False, batch_invariant=True)
    params = SamplingParams(temperature=0.9, top_p=0.95)
    alone = []
    for number in range(64):
        one = text(number, 5 + number, params)
        alone.append(answers(runner, [one], 12)[0])
    together = [text(number, 5 + number, params) for number in range(64)]
    for first in range(0, 64, 3):  # prompts in company, each in two pieces
        group = together[first : first + 3]
        runner.run([Chunk(s, 0, 3) for s in group])
        for s in group:
            s.computed_len = 3
        drawn = runner.run([Chunk(s, 3, s.num_uncomputed) for s in group])
        for s, token in zip(group, drawn, strict=True):
            assert token is not None
            s.computed_len = len(s.token_ids)
            s.token_ids.append(token.token_id)
    assert [tokens[1:] for tokens in alone] == [a[1:] for a in answers(runner, together, 11)]
    assert [tokens[0] for tokens in alone] == [s.token_ids[s.prompt_len] for s in together]
    several = [text(number, 40, params) for number in range(64)]
    for s in several:
        s.computed_len = 39
    whole = runner.logits([Chunk(s, 39, 1) for s in several])
    for number in (0, 17, 63):
        one = runner.logits([Chunk(several[number], 39, 1)])
        assert np.array_equal(one[0], whole[number])


def test_batch_invariant_and_a_wide_copy_are_refused_together() -> None:
    with pytest.raises(ValueError, match="wide_copy and batch_invariant"):
        replace(CONFIG, wide_copy=True, batch_invariant=True)


@devices
def test_an_embedding_in_host_memory_gives_the_same_answers(device: str) -> None:
    found = []
    for host_embedding in (False, True):
        source = SyntheticSource(
            Llama.tensor_shapes(SHAPE), MIXED, device=device, dtype=torch.float16,
            host_embedding=host_embedding,
        )  # fmt: skip
        runner = make(device, MIXED, reference=device == "cpu", source=source)
        found.append(answers(runner, [text(3, 20), text(4, 9)], 6))
    assert found[0] == found[1]


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=ON_GPU)])
def test_a_closed_runner_leaves_no_memory_behind(device: str) -> None:
    """Models are changed while a server runs: what one leaves behind the next one lacks."""
    left = []
    for _ in range(4):
        runner = make(device, 4, reference=False)
        answers(runner, [text(number, 20) for number in range(3)], 3)
        runner.close()
        del runner
        gc.collect()
        left.append(torch.cuda.memory_allocated())
    assert left[1:] == [left[1]] * 3
