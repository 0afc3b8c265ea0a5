"""What the engine's loop costs a step beside the model: scheduling, sampling's book-keeping, text.

A device that computes nothing stands in for the model (tokenizer, scheduler, answers, streams are
the real ones), so the time of a step is the loop's own. Two figures a batch size: `step` (schedule,
commit, detokenize, stop strings) and `turn` (the same on the engine's thread, its pieces handed to
as many asyncio readers: processor time of both threads).

    python bench/loop_overhead.py MODEL_DIR
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import figures

from hone_engine.config import EngineConfig
from hone_engine.engine import Engine, EngineThread
from hone_engine.tokenizer import Tokenizer
from hone_engine.types import Chunk, Request, Sampled, SamplingParams

NAMES = {
    "step_us": "Python of a step",
    "step_with_2_stops_us": "Python of a step with 2 stop strings",
    "turn_cpu_us": "CPU of a turn with its stream",
}
TEXT = "The quick brown fox jumps over the lazy dog, and the dog does not mind. " * 40
WANTED_US = {1: 150.0, 64: 1500.0}


class NoDevice:
    """Draws the tokens of a fixed text, at once."""

    def __init__(self, tokenizer: Tokenizer, config: EngineConfig):
        self.num_pages = config.num_pages
        self.page_len = config.page_len
        self.context_len = 4096
        self.vocab_size = tokenizer.vocab_size
        self._drawn = [Sampled(token_id) for token_id in tokenizer.encode(TEXT)]

    def run(self, chunks: Sequence[Chunk]) -> list[Sampled | None]:
        drawn = self._drawn
        return [drawn[(c.start + c.length) % len(drawn)] if c.samples else None for c in chunks]


class Model:
    """`hone_engine.engine.Model` without weights."""

    def __init__(self, tokenizer: Tokenizer, config: EngineConfig):
        self.runner = NoDevice(tokenizer, config)
        self.tokenizer = tokenizer
        self.name = "none"
        self.eos_token_ids = tokenizer.eos_token_ids
        self.memory_bytes = 0
        self.device = "none"

    def close(self) -> None:
        pass


def new_engine(tokenizer: Tokenizer, batch: int) -> Engine:
    config = EngineConfig(max_batch=batch, cache_tokens=batch * 2048, max_step_tokens=512)
    return Engine(Model(tokenizer, config), config)


def requests_of(batch: int, max_tokens: int, stop: tuple[str, ...]) -> list[Request]:
    params = SamplingParams(max_tokens=max_tokens, ignore_eos=True, stop=stop, seed=1)
    return [Request([n + 10] * 20, params) for n in range(batch)]


def step_us(tokenizer: Tokenizer, batch: int, stop: tuple[str, ...] = ()) -> float:
    """Median microseconds of a decode step with `batch` sequences."""
    engine = new_engine(tokenizer, batch)
    for request in requests_of(batch, 1000, stop):
        engine.add(request)
    for _ in range(20 + batch // 16):
        engine.step()
    times = []
    for _ in range(600):
        began = time.perf_counter()
        engine.step()
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2] * 1e6


async def turn_cpu_us(tokenizer: Tokenizer, batch: int) -> float:
    """Processor time in microseconds a step, both threads together, with every piece read by an
    asyncio task of its own."""
    engine = EngineThread(new_engine(tokenizer, batch))
    num_tokens = 1500

    async def read(request: Request) -> int:
        return len([delta async for delta in engine.stream(request)])

    began = time.process_time()
    await asyncio.gather(*[read(r) for r in requests_of(batch, num_tokens, ())])
    elapsed = time.process_time() - began
    engine.close()
    return elapsed / num_tokens * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="a model directory, for its tokenizer")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    tokenizer = Tokenizer.load(options.model)
    rows = []
    for batch in (1, 8, 64):
        steps = [step_us(tokenizer, batch) for _ in range(options.repeats)]
        stops = [step_us(tokenizer, batch, ("###", "User:")) for _ in range(options.repeats)]
        turns = [asyncio.run(turn_cpu_us(tokenizer, batch)) for _ in range(options.repeats)]
        row = {
            "batch": batch,
            "step_us": round(min(steps), 1),
            "step_with_2_stops_us": round(min(stops), 1),
            "turn_cpu_us": round(min(turns), 1),
            "wanted_us": WANTED_US.get(batch),
        }
        rows.append(row)
        print(json.dumps(row))
    measured = {
        f"{name}, batch {row['batch']}": (row[key], "us")
        for row in rows
        for key, name in NAMES.items()
    }
    figures.write("loop", figures.rows(measured))
    return int(any(row["wanted_us"] and row["step_us"] > row["wanted_us"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
