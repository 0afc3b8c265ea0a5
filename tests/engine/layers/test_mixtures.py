"""Mixtures of widths for random models, and what such models take on a GPU."""

from dataclasses import replace

import pytest

from hone_engine.config import EngineConfig
from hone_engine.layers.mixtures import Mixture, parse_bits
from hone_engine.runner.memory import MemoryPlanError
from hone_engine.runner.synthetic import parse_spec, synthetic_plan

CARD_BYTES = int(23.5 * 2**30)  # what an idle card of 24 GB leaves free
CONFIG = EngineConfig(
    device="cuda", cache_tokens=4096, page_len=256, max_batch=4, max_step_tokens=256
)


@pytest.mark.parametrize("tiles", [32, 64, 112, 224])
@pytest.mark.parametrize("bits", [2.5, 3, 3.5, 4, 5, 6, 8])
def test_a_mixture_meets_its_average_with_falling_widths(bits: float, tiles: int) -> None:
    found = Mixture(bits, 6.3).tiles(tiles)
    assert len(found) == tiles
    assert found == sorted(found, reverse=True)
    assert sum(found) / tiles == pytest.approx(bits, abs=0.5 / tiles)
    assert len(set(found)) > 1 or bits == 8


def test_bits_are_one_width_or_a_mixture() -> None:
    assert parse_bits("4.0") == 4
    assert parse_bits("exl2-4.0") == Mixture(4.0, 6.3)
    assert parse_bits("2.5") == Mixture(2.5, 6.3)
    for wrong in ("1", "12", "exl2", "four"):
        with pytest.raises(ValueError, match="synthetic: got"):
            parse_bits(wrong)


def test_70b_at_two_and_a_half_bits_and_4096_tokens_fit_a_card_of_24_gb() -> None:
    """The cache in 8 bits, the embedding with the host."""
    config = EngineConfig(
        device="cuda", cache_tokens=4096, page_len=256, max_batch=4, max_step_tokens=256,
        kv_dtype="q8", host_embedding=True, keep_widths=True,
    )  # fmt: skip
    plan = synthetic_plan(*parse_spec("llama-70b:2.5"), config)
    plan.check(CARD_BYTES)
    assert plan.weight_bytes > 0.9 * CARD_BYTES


def test_70b_at_four_bits_does_not_fit_and_says_by_how_much() -> None:
    plan = synthetic_plan(*parse_spec("llama-70b:4.0"), CONFIG)
    with pytest.raises(MemoryPlanError, match=r"the model needs [\d,]+ MB \(weights"):
        plan.check(CARD_BYTES)


def test_an_eight_billion_mixture_takes_about_what_its_bits_say() -> None:
    plan = synthetic_plan(*parse_spec("llama-8b:exl2-4.0"), CONFIG)
    layers, head, embedding = 6.98e9, 0.525e9, 0.525e9
    expected = layers * 4.75 / 8 + head * 8.125 / 8 + 2 * embedding
    assert plan.weight_bytes == pytest.approx(expected, rel=0.02)
    plan = synthetic_plan(*parse_spec("llama-8b:exl2-4.0"), replace(CONFIG, keep_widths=True))
    expected = layers * 4.125 / 8 + head * 6.45 / 8 + 2 * embedding
    assert plan.weight_bytes == pytest.approx(expected, rel=0.02)
