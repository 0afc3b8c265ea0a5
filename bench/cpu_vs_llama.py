"""The engine beside llama.cpp: prompt of 512, answer of 128, 8 sequences of 64, in one run.

    python bench/cpu_vs_llama.py MODEL_DIR=MODEL.gguf ... --llama-python PYTHON [--json OUT]

MODEL_DIR is what `hone import MODEL.gguf` made: both read the same weights at the same bits.
Both engines stay loaded in processes of their own and take turns, measure by measure, so that what
else the machine does meets both alike. Ours is measured through `hone_engine.engine`, scheduling
and sampling (greedy) included. `best` is the best window of 16 steps (a whole prompt), `median`
that of the rounds; ratios are ours over theirs. --llama-python may also be HONE_LLAMA_PYTHON.
"""

import argparse
import datetime
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "inference"))

from hone_engine.config import EngineConfig  # noqa: E402
from hone_engine.engine import Engine  # noqa: E402
from hone_engine.kernels import physical_cores, read_bandwidth, simd_best  # noqa: E402
from hone_engine.types import Request, SamplingParams  # noqa: E402

PROMPT_LEN, ANSWER_LEN, NUM_TOGETHER, TOGETHER_LEN = 512, 128, 8, 64
MEASURES = {  # name: (tokens a step, steps of a window, what it is)
    "prompt": (PROMPT_LEN, 1, f"prompt of {PROMPT_LEN}"),
    "answer": (1, 16, f"answer of {ANSWER_LEN}"),
    "together": (NUM_TOGETHER, 16, f"{NUM_TOGETHER} sequences of {TOGETHER_LEN}"),
}


def resident_bytes() -> int:
    """What this process holds in memory now."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def steps_of(engine: Engine, prompts: list[list[int]], length: int) -> list[float]:
    """Seconds of each step until all prompts have `length` tokens of answer."""
    params = SamplingParams(temperature=0, max_tokens=length, ignore_eos=True)
    began = time.perf_counter()
    for ids in prompts:
        engine.add(Request(ids, params))
    seconds = []
    while engine.num_live:
        engine.step()
        now = time.perf_counter()
        seconds.append(now - began)
        began = now
    return seconds


def work(path: str, threads: int) -> None:
    """Our side: a measure a line on stdin, seconds of its steps as JSON."""
    config = EngineConfig(threads=threads, cache_tokens=2048, prefix_cache=False)
    engine, rng = Engine.load(path, config), random.Random(0)

    def ids(length: int) -> list[int]:
        return [rng.randrange(100, 40000) for _ in range(length)]

    measures: dict[str, Callable[[], object]] = {
        "prompt": lambda: [sum(steps_of(engine, [ids(PROMPT_LEN)], 1))],  # it may take many steps
        "answer": lambda: steps_of(engine, [ids(1)], ANSWER_LEN),
        "together": lambda: steps_of(engine, [ids(1) for _ in range(NUM_TOGETHER)], TOGETHER_LEN),
        "memory": resident_bytes,
    }
    print(json.dumps({"threads": threads}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measures[line.strip()]()), flush=True)


class Side:
    """One engine in a process of its own."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.hello = self._read()

    def _read(self):  # type: ignore[no-untyped-def]
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended")
        return json.loads(line)

    def ask(self, measure: str):  # type: ignore[no-untyped-def]
        assert self._process.stdin is not None
        self._process.stdin.write(measure + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        self._process.communicate()


def rates(seconds: list[float], tokens: int, window: int) -> tuple[float, float]:
    """(best window, whole) in tokens a second."""
    starts = range(0, len(seconds) - window + 1, window)
    best = min(sum(seconds[i : i + window]) for i in starts)
    return tokens * window / best, tokens * len(seconds) / sum(seconds)


def compare(
    ours: Side, theirs: Side, rounds: int
) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Rates of each measure and side, a pair a round; sides take turns at being first."""
    sides = {"hone": ours, "llama.cpp": theirs}
    found = {m: {name: [] for name in sides} for m in MEASURES}
    for measure, (tokens, window, _) in MEASURES.items():
        for number in range(rounds + 1):
            order = list(sides.items())[:: 1 if number % 2 else -1]
            for name, side in order:
                got = rates(side.ask(measure), tokens, window)
                if number:  # the first round warms up
                    found[measure][name].append(got)
    return found


def rows_of(model: str, found, device: str, command: str) -> list[dict[str, object]]:  # type: ignore[no-untyped-def]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows = []
    for measure, (_, _, title) in MEASURES.items():
        ours, theirs = found[measure]["hone"], found[measure]["llama.cpp"]
        for statistic, pick in (
            ("best", lambda pairs: max(p[0] for p in pairs)),
            ("median", lambda pairs: statistics.median(p[1] for p in pairs)),
        ):
            rows.append({
                "figure": f"{model}, {title}, {statistic}",
                "value": round(pick(ours), 1),
                "unit": "tokens/s",
                "peer": {"name": "llama.cpp", "value": round(pick(theirs), 1)},
                "ratio": round(pick(ours) / pick(theirs), 2),
                "device": device,
                "command": command,
                "date": today,
            })  # fmt: skip
    return rows


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL_DIR=MODEL.gguf")
    parser.add_argument("--llama-python", default=os.environ.get("HONE_LLAMA_PYTHON"))
    parser.add_argument("--threads", type=int, default=physical_cores())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.work and (not options.models or not options.llama_python):
        parser.error("wanted MODEL_DIR=MODEL.gguf and --llama-python")
    return options


def bench(options: argparse.Namespace, spec: str, device: str) -> list[dict[str, object]]:
    """Measure one model on both sides and tell."""
    directory, gguf = spec.split("=", 1)
    name = Path(gguf).name.removesuffix(".gguf")
    threads = str(options.threads)
    ours = Side([sys.executable, __file__, "--work", directory, "--threads", threads])
    peer = str(Path(__file__).with_name("cpu_llama_peer.py"))
    theirs = Side([options.llama_python, peer, gguf, threads])
    found = compare(ours, theirs, options.rounds)
    memory = ours.ask("memory") / 1e6
    ours.close()
    theirs.close()
    rows = rows_of(name, found, device, f"bench/cpu_vs_llama.py {name} --threads {threads}")
    for row in rows:
        print(f"{row['figure']:<52}{row['value']:>9} {row['peer']['value']:>9} {row['ratio']:>6}x")
    print(f"{name}: our process holds {memory:.0f} MB; load {os.getloadavg()[0]:.1f}")
    held = {"figure": f"{name}, resident memory of the engine process", "value": round(memory)}
    return [*rows, {**rows[0], **held, "unit": "MB", "peer": None, "ratio": None}]


def main() -> None:
    options = parse()
    if options.work:
        work(options.work, options.threads)
        return
    roof = read_bandwidth(options.threads) / 1e9
    load = os.getloadavg()[0]
    device = f"{os.cpu_count()} cores, {simd_best()}, memory {roof:.1f} GB/s, load {load:.1f}"
    print(f"{device}; {options.threads} threads; tokens/s: ours, llama.cpp, ratio")
    rows = [row for spec in options.models for row in bench(options, spec, device)]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
