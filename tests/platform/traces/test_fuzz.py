"""Damaged bodies by the hundred: what bench/fuzz_otlp.py does for minutes, for seconds in CI."""

import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
from fuzz_judges import TARGETS

SEEDS = {name: target.seeds() for name, target in TARGETS.items()}


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 2**40), changes=st.integers(0, 8))
def test_a_damaged_body_is_read_or_refused(name: str, seed: int, changes: int) -> None:
    rng = random.Random(seed)
    body = rng.choice(SEEDS[name])
    for _ in range(changes):
        body = TARGETS[name].changed(body, rng)
    TARGETS[name].judge(body)


@pytest.mark.parametrize(
    "body",
    [
        b"\x0a\x80\x80\x80\x80\x80\x00",  # a length in six bytes, of which five say nothing
        b"\x8a\x80\x80\x80\x80\x00\x00",  # a tag likewise
        b"\x0a\xff\xff\xff\xff\x0f",  # a length of 4 GiB
    ],
)
def test_lengths_and_tags_are_as_long_as_protobuf_allows(body: bytes) -> None:
    TARGETS["protobuf"].judge(body)
