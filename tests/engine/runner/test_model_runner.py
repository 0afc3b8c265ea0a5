from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hone_engine import runner
from hone_engine.config import EngineConfig
from hone_engine.kernels.cuda_kernels import ReferenceKernels
from hone_engine.runner import ModelRunner, cuda_loading
from hone_engine.types import Chunk, Sampled, SamplingParams, Sequence

CONFIG = EngineConfig(page_len=16, cache_tokens=1024, max_batch=8, max_step_tokens=64)
GREEDY = SamplingParams(temperature=0)


@pytest.fixture(params=["native", "reference", "gpu by reference"])
def model(
    tiny: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModelRunner]:
    changes = {"kernels": request.param}
    if request.param == "gpu by reference":  # all that runs on a GPU, but for its kernels
        reference = cuda_loading.Backend(torch.device("cpu"), ReferenceKernels())
        monkeypatch.setattr(cuda_loading, "backend", reference)
        changes = {"device": "cuda"}
    loaded = runner.load(tiny, replace(CONFIG, **changes))
    yield loaded.runner
    loaded.close()


class Texts:
    """Sequences with pages of their own."""

    def __init__(self) -> None:
        self._next_page = 0

    def make(
        self, prompt: list[int], params: SamplingParams = GREEDY, *, seed: int = 0
    ) -> Sequence:
        sequence = Sequence(self._next_page, list(prompt), len(prompt), params, seed, 128)
        sequence.pages = [self._next_page + at for at in (3, 1, 0, 2)]
        self._next_page += 4
        return sequence


def take(model: ModelRunner, *chunks: Chunk) -> list[Sampled | None]:
    """Run the chunks, then count them as computed and append what was drawn."""
    drawn = model.run(chunks)
    for chunk, token in zip(chunks, drawn, strict=True):
        chunk.sequence.computed_len += chunk.length
        if token is not None:
            chunk.sequence.token_ids.append(token.token_id)
    return drawn


def answer(model: ModelRunner, sequence: Sequence, length: int) -> list[int]:
    for _ in range(length):
        take(model, Chunk(sequence, sequence.computed_len, sequence.num_uncomputed))
    return sequence.token_ids[sequence.prompt_len :]


PROMPTS = [list(range(1, 20)), [5], [9, 8, 7, 6, 5, 4, 3], list(range(40, 10, -1))]


def test_a_batch_answers_as_each_text_alone(model: ModelRunner) -> None:
    alone = [answer(model, Texts().make(prompt), 6) for prompt in PROMPTS]
    texts = Texts()
    together = [texts.make(prompt) for prompt in PROMPTS]
    for _ in range(6):
        take(model, *(Chunk(s, s.computed_len, s.num_uncomputed) for s in together))
    assert [s.token_ids[s.prompt_len :] for s in together] == alone


def test_prompts_in_pieces_mix_with_answers_under_way(model: ModelRunner) -> None:
    alone = [answer(model, Texts().make(PROMPTS[n]), 3) for n in (0, 3)]
    texts = Texts()
    first, second = texts.make(PROMPTS[0]), texts.make(PROMPTS[3])
    assert take(model, Chunk(first, 0, 10)) == [None]
    drawn = take(model, Chunk(second, 0, 13), Chunk(first, 10, 9))
    assert [token is None for token in drawn] == [True, False]
    drawn = take(model, Chunk(first, 19, 1), Chunk(second, 13, 17))
    assert None not in drawn
    for _ in range(2):
        take(model, Chunk(second, second.computed_len, 1), Chunk(first, first.computed_len, 1))
    assert first.token_ids[19:][:3] == alone[0]
    assert second.token_ids[30:][:3] == alone[1]


def test_a_preempted_text_goes_on_in_other_pages(model: ModelRunner) -> None:
    wanted = answer(model, Texts().make(PROMPTS[0]), 8)
    sequence = Texts().make(PROMPTS[0])
    answer(model, sequence, 4)
    sequence.pages, sequence.computed_len = [10, 9, 12, 11], 0
    sequence.num_preemptions += 1
    assert answer(model, sequence, 4) == wanted


def test_pages_that_come_later_are_used(model: ModelRunner) -> None:
    wanted = answer(model, Texts().make(PROMPTS[1]), 20)
    sequence = Texts().make(PROMPTS[1])
    pages, sequence.pages = sequence.pages, sequence.pages[:1]
    answer(model, sequence, 10)
    sequence.pages = sequence.pages + pages[1:]
    assert answer(model, sequence, 10) == wanted


def test_a_seed_gives_the_same_answer_in_any_company(model: ModelRunner) -> None:
    params = SamplingParams(temperature=1.0)
    alone = answer(model, Texts().make(PROMPTS[2], params, seed=7), 8)
    other = answer(model, Texts().make(PROMPTS[2], params, seed=8), 8)
    texts = Texts()
    company = [texts.make(PROMPTS[0], params, seed=1), texts.make(PROMPTS[2], params, seed=7)]
    for _ in range(8):
        take(model, *(Chunk(s, s.computed_len, s.num_uncomputed) for s in company))
    assert company[1].token_ids[7:] == alone
    assert other != alone


def test_logprobs_come_where_they_were_asked_for(model: ModelRunner) -> None:
    texts = Texts()
    plain, chosen = texts.make(PROMPTS[0]), texts.make(PROMPTS[0], replace(GREEDY, logprobs=0))
    top = texts.make(PROMPTS[0], replace(GREEDY, logprobs=3))
    drawn = take(model, *(Chunk(s, 0, s.num_uncomputed) for s in (plain, chosen, top)))
    first, second, third = (token for token in drawn if token is not None)
    assert (first.logprob, first.top) == (None, ())
    assert second.logprob is not None
    assert second.top == ()
    assert third.logprob == second.logprob
    assert len(third.top) == 3
    assert third.top[0] == (third.token_id, third.logprob)
    values = [value for _, value in third.top]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    "penalty",
    [{"presence_penalty": 100.0}, {"repetition_penalty": 1e6}, {"frequency_penalty": 99.0}],
)
def test_penalties_look_at_the_whole_history(model: ModelRunner, penalty: dict[str, float]) -> None:
    found = answer(model, Texts().make([5], replace(GREEDY, **penalty)), 20)
    assert len(set(found)) == 20


def test_more_rows_than_planned_are_refused_and_the_next_run_works(model: ModelRunner) -> None:
    sequence = Texts().make([1] * 70)
    with pytest.raises(ValueError, match="got 1 with 70 rows, wanted at most 8 with 64"):
        model.run([Chunk(sequence, 0, 70)])
    assert len(answer(model, Texts().make(PROMPTS[0]), 2)) == 2


def test_nothing_to_do_is_nothing_done(model: ModelRunner) -> None:
    assert model.run([]) == []


def test_a_bias_and_allowed_tokens_belong_to_their_text_alone(model: ModelRunner) -> None:
    free = answer(model, Texts().make(PROMPTS[2]), 6)
    texts = Texts()
    only = tuple(token for token in range(8, 14))
    company = [
        texts.make(PROMPTS[2], SamplingParams(temperature=0, allowed_tokens=only)),
        texts.make(PROMPTS[2]),
        texts.make(PROMPTS[2], SamplingParams(temperature=0, logit_bias=((5, 100.0),))),
        texts.make(PROMPTS[2], SamplingParams(temperature=1, typical_p=0.9, allowed_tokens=(7,))),
    ]
    for _ in range(6):
        take(model, *(Chunk(s, s.computed_len, s.num_uncomputed) for s in company))
    length = len(company[0].token_ids) - 6
    found = [s.token_ids[length:] for s in company]
    assert set(found[0]) <= set(only)
    assert found[1] == free
    assert found[2] == [5] * 6
    assert found[3] == [7] * 6
