"""The whole model against transformers; bench/make_golden_smollm2.py made the golden file."""

import math
from pathlib import Path

import numpy as np
import pytest

from hone_engine import runner
from hone_engine.config import EngineConfig
from hone_engine.runner import LoadedModel, ModelRunner, perplexity
from hone_engine.runner.loading import prepare
from hone_engine.types import Chunk, SamplingParams, Sequence

GOLDEN = np.load(Path(__file__).parent / "golden" / "smollm2.npz")
NUM_TOKENS = GOLDEN["tokens"].shape[1]
TIE = 0.005  # logits: between two tokens closer than this, rounding of the cache may choose
DRAWN_LEN = GOLDEN["drawn"].shape[1]


def prompts() -> list[list[int]]:
    ends = np.cumsum(GOLDEN["prompt_lens"])
    return [part.tolist() for part in np.split(GOLDEN["prompts"], ends[:-1])]


def load(path: Path, kv_dtype: str) -> LoadedModel:
    config = EngineConfig(kv_dtype=kv_dtype, max_batch=20, cache_tokens=4096)
    return runner.load(path, config)


def sequences(model: ModelRunner) -> list[Sequence]:
    made, at = [], 0
    for index, prompt in enumerate(prompts()):
        length = len(prompt) + NUM_TOKENS + 1
        sequence = Sequence(index, prompt, len(prompt), SamplingParams(temperature=0), 0, length)
        num_pages = -(-length // model.page_len)
        sequence.pages = list(range(at, at + num_pages))
        at += num_pages
        made.append(sequence)
    return made


def step(model: ModelRunner, texts: list[Sequence]) -> None:
    drawn = model.run([Chunk(s, s.computed_len, s.num_uncomputed) for s in texts])
    for sequence, token in zip(texts, drawn, strict=True):
        assert token is not None
        sequence.computed_len = len(sequence.token_ids)
        sequence.token_ids.append(token.token_id)


def answers(model: ModelRunner) -> np.ndarray:
    """64 greedy tokens after each prompt: prompts one by one, then all 20 in one batch."""
    texts = sequences(model)
    for sequence in texts:
        step(model, [sequence])
    for _ in range(NUM_TOKENS - 1):
        step(model, texts)
    return np.array([sequence.token_ids[sequence.prompt_len :] for sequence in texts])


def test_prompts_have_the_same_tokens(smollm2_fp16: Path) -> None:
    tokenizer = runner.load(smollm2_fp16, EngineConfig(cache_tokens=64)).tokenizer
    chats = [tokenizer.chat([{"role": "user", "content": str(c)}]) for c in GOLDEN["chats"]]
    texts = [tokenizer.encode(str(text), special=False) for text in GOLDEN["texts"]]
    assert chats + texts == prompts()


def test_greedy_answers_are_those_of_transformers(smollm2_fp16: Path) -> None:
    model = load(smollm2_fp16, "fp32")
    np.testing.assert_array_equal(answers(model.runner), GOLDEN["tokens"])
    model.close()


def test_a_16_bit_cache_changes_an_answer_only_at_a_tie(smollm2_fp16: Path) -> None:
    model = load(smollm2_fp16, "fp16")
    found = answers(model.runner)
    model.close()
    same = 0
    for row, wanted, margins in zip(found, GOLDEN["tokens"], GOLDEN["margins"], strict=True):
        differs = np.flatnonzero(row != wanted)
        same += not differs.size
        assert not differs.size or margins[differs[0]] < TIE
    assert same >= 18


def test_logits_are_those_of_transformers_within_fp16_noise(smollm2_fp16: Path) -> None:
    model = load(smollm2_fp16, "fp16")
    texts = sequences(model.runner)
    for index, sequence in enumerate(texts):
        chunk = Chunk(sequence, 0, len(sequence.token_ids))
        logits = model.runner.logits([chunk])[0]
        assert np.abs(logits[::17] - GOLDEN["logits"][index].astype(np.float32)).max() < 0.05
        if index == 0:
            assert np.abs(logits - GOLDEN["logits_whole"].astype(np.float32)).max() < 0.05
    model.close()


@pytest.mark.parametrize(
    ("model", "bound"), [("smollm2_fp16", 0.005), ("smollm2_q8", 0.02), ("smollm2_q4", 0.02)]
)
def test_a_drawn_text_is_foretold_as_well_as_by_transformers(
    request: pytest.FixtureRequest, model: str, bound: float
) -> None:
    """The shipped 4 bits are carried over, so that they lose nothing but int8 activations."""
    config = EngineConfig()
    prepared = prepare(request.getfixturevalue(model), config)
    tokens = GOLDEN["drawn"].reshape(-1).tolist()
    found = perplexity(prepared, tokens, config, window_len=DRAWN_LEN)
    assert found.num_scored == len(tokens) - len(GOLDEN["drawn"])
    assert abs(found.value / math.exp(float(GOLDEN["drawn_nll"])) - 1) < bound
