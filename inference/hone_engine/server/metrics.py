"""The engine's figures in Prometheus' text format."""

from collections.abc import Iterator

from hone_engine.engine import EngineThread
from hone_engine.engine.meters import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def render(engine: EngineThread) -> str:
    """All metrics, one exposition."""
    return "\n".join([*_lines(engine), ""])


def _lines(engine: EngineThread) -> Iterator[str]:
    stats, meters, info = engine.stats(), engine.engine.meters, engine.info
    name = "requests_total"
    yield from _head(name, "counter", "Requests that ended, by outcome.")
    for outcome, count in (
        ("finished", stats.num_finished),
        ("failed", stats.num_failed),
        ("aborted", stats.num_aborted),
        ("refused", meters.num_refused),
    ):
        yield f'hone_engine_{name}{{outcome="{outcome}"}} {count}'
    for name, text, count in (
        ("prompt_tokens_total", "Tokens of prompts that started.", stats.num_prompt_tokens),
        ("cached_tokens_total", "Of those, taken from the prefix cache.", stats.num_cached_tokens),
        ("completion_tokens_total", "Tokens drawn.", stats.num_completion_tokens),
        (
            "preemptions_total",
            "Sequences that started over for want of pages.",
            stats.num_preemptions,
        ),
        ("steps_total", "Turns of the loop that computed.", stats.num_steps),
    ):
        yield from _head(name, "counter", text)
        yield f"hone_engine_{name} {count}"
    for name, text, value in (
        ("up", "1 while the loop turns.", int(engine.healthy())),
        ("requests_running", "Requests in the batch.", stats.num_running),
        ("requests_waiting", "Requests that wait for a place.", stats.num_waiting),
        ("kv_tokens_used", "Capacity held by running requests.", stats.kv_tokens_used),
        ("kv_tokens_cached", "Capacity kept for reuse, free on demand.", stats.kv_tokens_cached),
        ("kv_tokens_total", "Capacity of the KV cache.", stats.kv_tokens_total),
        ("tokens_per_second", "Tokens drawn a second, of late.", stats.tokens_per_second),
        ("heartbeat_age_seconds", "Since the loop last turned.", stats.heartbeat_age_s),
        ("memory_bytes", "Weights, full cache and scratch.", info.memory_bytes),
        ("start_time_seconds", "Unix time of the start.", info.started_at),
    ):
        yield from _head(name, "gauge", text)
        yield f"hone_engine_{name} {value}"
    for name, text, histogram in (
        ("step_seconds", "One turn of the loop.", meters.step_s),
        ("queue_seconds", "From arrival to the first prefill.", meters.queue_s),
        ("first_token_seconds", "From arrival to the first token.", meters.first_token_s),
        ("token_seconds", "Between two tokens of a request.", meters.token_s),
        ("request_seconds", "From arrival to the end.", meters.request_s),
    ):
        yield from _head(name, "histogram", text)
        yield from _histogram(f"hone_engine_{name}", histogram)


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP hone_engine_{name} {text}"
    yield f"# TYPE hone_engine_{name} {kind}"


def _histogram(name: str, histogram: Histogram) -> Iterator[str]:
    total = 0
    counts = list(histogram.counts)  # one copy: the buckets of one exposition agree
    for bound, count in zip([*histogram.bounds, "+Inf"], counts, strict=True):
        total += count
        yield f'{name}_bucket{{le="{bound}"}} {total}'
    yield f"{name}_sum {histogram.total}"
    yield f"{name}_count {total}"
