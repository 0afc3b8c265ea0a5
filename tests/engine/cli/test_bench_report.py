"""What a benchmark says of its figures: the limit of a stage and of a step, and what helps."""

import json

import pytest

from hone_engine.cli.bench_page import page
from hone_engine.cli.bench_report import Figure, Report, Roof, Stage, stage

ROOF = Roof(bytes_per_second=1e12, flops=1e14, launch_s=4e-6)


@pytest.mark.parametrize(
    ("calls", "seconds", "num_bytes", "ops", "limit", "share"),
    [
        (1, 1e-3, 800_000_000, 0.0, "memory", 0.8),
        (1, 1e-3, 500_000_000, 0.0, "compute", 0.5),
        (1, 1e-3, 100_000_000, 9e10, "compute", 0.9),
        (100, 1e-4, 0, 0.0, "launch", 0.0),
        (1, 1e-4, 0, 0.0, "compute", 0.0),
    ],
)
def test_a_stage_is_held_by_what_it_uses_most(
    calls: int, seconds: float, num_bytes: int, ops: float, limit: str, share: float
) -> None:
    found = stage("linear", calls, seconds, num_bytes=num_bytes, ops=ops, roof=ROOF)
    assert (found.limit, found.share) == (limit, pytest.approx(share))


def figure(*stages: Stage, streams: int = 1, host_us: float = 0.0) -> Figure:
    return Figure("a figure", 10, "tok/s", 0.5, host_us, streams, 128, 1e-3, stages)


WEIGHTS = Stage("linear", 4, 8e-4, 0.8, "memory")
CACHE = Stage("attention", 4, 2e-4, 0.4, "compute")


def test_a_step_is_held_by_its_longest_stage() -> None:
    found = figure(WEIGHTS, CACHE)
    assert found.limit == "memory"
    assert "weights are 80% of a step" in found.advice
    assert "20% off" in found.advice


def test_a_step_whose_host_takes_as_long_waits_for_the_host() -> None:
    found = figure(WEIGHTS, host_us=950)
    assert found.limit == "host"
    assert "more streams" in found.advice


def test_long_contexts_are_told_to_take_fewer_bits_of_cache() -> None:
    found = figure(Stage("attention", 4, 9e-4, 0.7, "memory"), CACHE, streams=64)
    assert "--kv-dtype q8" in found.advice


def test_a_prompt_bound_by_arithmetic_is_not_told_to_take_more_streams() -> None:
    found = figure(Stage("linear", 4, 9e-4, 0.7, "compute"), streams=0)
    assert "more streams" not in found.advice


def test_the_page_carries_the_figures_and_no_name_can_leave_its_script() -> None:
    report = Report("</script><b>", "a device", ROOF, 4.5, 10**9, [figure(WEIGHTS, CACHE)])
    made = page(report)
    data = json.loads(made.rsplit('type="application/json">', 1)[1].split("</script>")[0])
    assert data["title"] == report.title
    assert data["figures"][0]["limit"] == "memory"
    assert "<h1>&lt;/script&gt;&lt;b&gt;</h1>" in made
