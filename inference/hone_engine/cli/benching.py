"""`bench`: how fast a model runs on this machine; a table, and a page and JSON of the same."""

import argparse
import importlib
import json
import time
from pathlib import Path

from hone_engine import runner
from hone_engine.cli import benching_cpu
from hone_engine.cli.bench_report import Report
from hone_engine.cli.settings import DEFAULTS, add_engine_arguments
from hone_engine.cli.terminal import ProgressLine, say
from hone_engine.config import EngineConfig, tuned
from hone_engine.types import Chunk, Runner, SamplingParams, Sequence

PROMPT_LEN, ANSWER_LEN, NUM_TOGETHER, TOGETHER_LEN = 512, 128, 8, 64
STEP_LEN = DEFAULTS.max_step_tokens
CACHE_TOKENS = max(
    2 * PROMPT_LEN + NUM_TOGETHER * TOGETHER_LEN * 2,
    benching_cpu.CACHE_TOKENS,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_engine_arguments(parser, model_is_optional=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--synthetic", metavar="SHAPE:BITS", help="random weights on a GPU, e.g. llama-8b:4.0"
    )
    parser.add_argument("--json", type=Path, help="where the figures go as JSON")
    parser.add_argument(
        "--html", type=Path, help="the page of charts (default: bench-MODEL.html in this folder)"
    )


def run(options: argparse.Namespace) -> int:
    if options.model is None and options.synthetic is None:
        raise ValueError("bench: name a model directory, or --synthetic SHAPE:BITS")
    config = EngineConfig(
        threads=options.threads,
        cache_tokens=CACHE_TOKENS,
        kv_dtype=options.kv_dtype,
        kernels=options.kernels,
        device="cuda" if options.synthetic else options.device,
        dtype=options.dtype,
        wide_copy=options.wide_copy,
        keep_widths=options.keep_widths,
        batch_invariant=options.batch_invariant,
    )
    if tuned(config).device == "cuda":
        table = importlib.import_module("hone_engine.cli.benching_gpu")
        report: Report = table.run(options.synthetic or options.model, config)
    else:
        report = _on_cpu(options, config)
    _write(report, options.json, options.html)
    return 0


def _on_cpu(options: argparse.Namespace, config: EngineConfig) -> Report:
    model = runner.load(options.model, config, on_progress=ProgressLine("Loading"))
    say(f"{model.name}, {model.device}, {model.memory_bytes / 1e6:.0f} MB planned")
    for name, measure in MEASURES.items():
        rates = sorted(measure(model.runner) for _ in range(options.repeats))
        say(f"{name:<38}{rates[-1]:9.1f} tokens/s best {rates[len(rates) // 2]:9.1f} median")
    report = benching_cpu.measure(model, config)
    for figure in report.figures:
        say(f"{figure.figure:<28}{figure.value:10,.1f} {figure.unit}  {figure.share:5.1%} of roof")
        say(f"    limit: {figure.limit}; what helps: {figure.advice}")
    model.close()
    return report


def _write(report: Report, figures: Path | None, page: Path | None) -> None:
    if figures is not None:
        figures.write_text(json.dumps(report.as_json(), indent=1) + "\n")
    name = "".join(char if char.isalnum() or char in "-._" else "-" for char in report.title)
    page = page or Path(f"bench-{name}.html")
    try:  # only here: Plotly takes a second to load
        made = importlib.import_module("hone_engine.cli.bench_page")
    except ModuleNotFoundError as error:
        say(f"charts: not drawn, {error.name} is not installed")
        return
    page.write_text(made.page(report), "utf-8")
    say(f"charts: {page}")


def _sequence(model: Runner, number: int, prompt_len: int, answer_len: int) -> Sequence:
    length = prompt_len + answer_len + 1
    ids = [(7 * number + 11 * at) % min(997, model.vocab_size) for at in range(prompt_len)]
    sequence = Sequence(number, ids, prompt_len, SamplingParams(temperature=0), 0, length)
    num_pages = -(-length // model.page_len)
    sequence.pages = list(range(number * num_pages, (number + 1) * num_pages))
    return sequence


def _step(model: Runner, sequences: list[Sequence]) -> None:
    chunks = [Chunk(s, s.computed_len, s.num_uncomputed) for s in sequences]
    for sequence, drawn in zip(sequences, model.run(chunks), strict=True):
        assert drawn is not None
        sequence.computed_len = len(sequence.token_ids)
        sequence.token_ids.append(drawn.token_id)


def prompt_rate(model: Runner) -> float:
    sequence = _sequence(model, 0, PROMPT_LEN, 1)
    started = time.perf_counter()
    for start in range(0, PROMPT_LEN, STEP_LEN):
        model.run([Chunk(sequence, start, min(STEP_LEN, PROMPT_LEN - start))])
    return PROMPT_LEN / (time.perf_counter() - started)


def answer_rate(model: Runner, together: int = 1, length: int = ANSWER_LEN) -> float:
    sequences = [_sequence(model, number, 1, length) for number in range(together)]
    started = time.perf_counter()
    for _ in range(length):
        _step(model, sequences)
    return together * length / (time.perf_counter() - started)


def together_rate(model: Runner) -> float:
    return answer_rate(model, NUM_TOGETHER, TOGETHER_LEN)


MEASURES = {
    f"prompt of {PROMPT_LEN} tokens": prompt_rate,
    f"generation of {ANSWER_LEN} tokens": answer_rate,
    f"{NUM_TOGETHER} sequences of {TOGETHER_LEN} tokens": together_rate,
}
