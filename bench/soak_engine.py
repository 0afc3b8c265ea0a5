"""Does the engine hold under a crowd that comes and goes? 64 streaming clients, random aborts.

Starts `hone_engine serve` on a model directory, lets clients stream, stop listening midway, send
nonsense and come back for some minutes, and asks afterwards: did every request that was waited for
end as it should, does a sample of answers equal what the same seed gives alone, was /health true
throughout, is the memory flat, is every page of the cache back? Exits 1 when not.

    python bench/soak_engine.py MODEL_DIR --seconds 180 --clients 64
"""

import argparse
import asyncio
import contextlib
import json
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import figures
import httpx

ROOT = Path(__file__).parents[1]
STUCK_S = 120.0
MOST_GROWTH = 0.05  # of the resident memory, from the middle third of the run to its last third
WARM_S = 90  # a run shorter than this ends while the cache still fills; its growth says nothing
PREFIXES = [
    "You are a patient teacher. Answer the question in your own words, with an example. ",
    "Once upon a time, in a small town by the sea, there lived a girl who counted boats. " * 3,
    "def parse(text: str) -> list[int]:\n    ",
    "",
]
NONSENSE: list[dict[str, Any]] = [
    {"temperature": -1},
    {"max_tokens": 0},
    {"prompt": "a " * 20_000},
    {"what": "ever"},
    {"model": "gpt-4"},
]


ADMIN = {"authorization": "Bearer soak"}


class ComeAgainError(Exception):
    """The model is being loaded."""


@dataclass
class Tally:
    """What happened, counted."""

    finished: int = 0
    aborted: int = 0
    refused: int = 0  # nonsense, as it should be
    reloads: int = 0
    waited: int = 0  # told to come again, for the model was being read anew
    lost: int = 0
    stuck: int = 0
    mixed: int = 0
    num_tokens: int = 0
    num_compared: int = 0
    health_checks: int = 0
    health_failures: int = 0
    problems: list[str] = field(default_factory=list)
    first_token_s: list[float] = field(default_factory=list)
    memory_bytes: list[int] = field(default_factory=list)
    answers: list[tuple[dict[str, Any], str, str]] = field(default_factory=list)

    def problem(self, text: str) -> None:
        """Keep the first few for the report."""
        if len(self.problems) < 10:
            self.problems.append(text[:500])


def random_body(draw: random.Random, model: str) -> dict[str, Any]:
    """A request with a seed, so that it can be asked again."""
    body: dict[str, Any] = {
        "model": model,
        "prompt": draw.choice(PREFIXES) + f"Number {draw.randrange(10**6)}:",
        "seed": draw.randrange(2**31),
        "temperature": draw.choice([0, 0.7, 1.0, 1.5]),
        "max_tokens": draw.randrange(1, 120),
        "ignore_eos": draw.random() < 0.5,
    }
    if draw.random() < 0.3:
        body |= {"top_p": 0.9, "top_k": 40, "min_p": 0.02}
    if draw.random() < 0.3:
        body |= {"repetition_penalty": 1.15, "presence_penalty": 0.2, "frequency_penalty": 0.1}
    if draw.random() < 0.3:
        body["stop"] = draw.choice([["\n\n"], ["the end", "."], ["e t"]])
    if draw.random() < 0.1:
        body["logprobs"] = draw.randrange(4)
    return body


async def read_stream(
    client: httpx.AsyncClient, body: dict[str, Any], leave_after: int | None, tally: Tally
) -> tuple[str, str] | None:
    """Stream one answer; None when left after so many pieces. Raises ValueError when it does not
    end as a stream should."""
    text, reason, done, num_pieces = "", None, False, 0
    began = time.monotonic()
    async with client.stream("POST", "/v1/completions", json={**body, "stream": True}) as response:
        if response.status_code != 200:
            said = await response.aread()
            if b"model_loading" in said:
                raise ComeAgainError
            raise ValueError(f"{response.status_code} {said[:200]!r}")
        async for line in response.aiter_lines():
            if line == "data: [DONE]":
                done = True
            elif line.startswith("data: "):
                chunk = json.loads(line[6:])
                if "error" in chunk:
                    reloaded = "another model" in chunk["error"]["message"]
                    raise ComeAgainError if reloaded else ValueError(str(chunk))
                if num_pieces == 0:
                    tally.first_token_s.append(time.monotonic() - began)
                num_pieces += 1
                text += chunk["choices"][0]["text"]
                reason = chunk["choices"][0]["finish_reason"] or reason
            if leave_after is not None and num_pieces >= leave_after:
                return None
    if not done or reason not in ("stop", "length"):
        raise ValueError(f"ended with done={done}, finish_reason={reason}")
    tally.num_tokens += num_pieces
    return text, reason


async def one_request(
    client: httpx.AsyncClient, draw: random.Random, model: str, tally: Tally
) -> None:
    """Ask once: properly, leaving midway, or nonsense."""
    body, kind = random_body(draw, model), draw.random()
    if kind < 0.05:
        response = await client.post("/v1/completions", json={**body, **draw.choice(NONSENSE)})
        if b"model_loading" in response.content:
            raise ComeAgainError
        if response.status_code not in (400, 404):
            raise ValueError(f"nonsense was answered with {response.status_code}")
        tally.refused += 1
    elif kind < 0.10:  # not streamed, not waited for
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(draw.random()):
                await client.post("/v1/completions", json=body)
        tally.aborted += 1
    else:
        leave_after = draw.randrange(1, 40) if kind < 0.35 else None
        answer = await read_stream(client, body, leave_after, tally)
        if answer is None:
            tally.aborted += 1
            return
        tally.finished += 1
        tally.answers.append((body, *answer))


async def one_client(url: str, number: int, model: str, until: float, tally: Tally) -> None:
    draw = random.Random(number)
    async with httpx.AsyncClient(base_url=url, timeout=STUCK_S) as client:
        while time.monotonic() < until:
            try:
                async with asyncio.timeout(STUCK_S):
                    await one_request(client, draw, model, tally)
            except (TimeoutError, httpx.TimeoutException):
                tally.stuck += 1
                tally.problem("stuck")
            except ComeAgainError:
                tally.waited += 1
                await asyncio.sleep(0.2)
            except (ValueError, httpx.HTTPError) as error:
                tally.lost += 1
                tally.problem(repr(error))


async def reload(url: str, every_s: float, until: float, tally: Tally) -> None:
    """Have the model read anew every so many seconds, and wait until it answers again."""
    async with httpx.AsyncClient(base_url=url, timeout=STUCK_S, headers=ADMIN) as client:
        while time.monotonic() + every_s < until:
            await asyncio.sleep(every_s)
            response = await client.post("/admin/load", json={})
            if response.status_code != 202:
                tally.problem(f"a reload was answered with {response.text}")
                tally.lost += 1
                continue
            while (state := (await client.get("/admin/load")).json())["status"] == "loading":
                await asyncio.sleep(0.1)
            tally.reloads += state["status"] == "ready"
            if state["error"]:
                tally.lost += 1
                tally.problem(state["error"])


async def watch(url: str, pid: int, until: float, tally: Tally) -> None:
    """Ask for the health and the memory twice a second."""
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        while time.monotonic() < until:
            response = await client.get("/health")
            tally.health_checks += 1
            is_loading = response.json()["status"] == "loading"
            tally.health_failures += response.status_code != 200 and not is_loading
            tally.memory_bytes.append(resident_bytes(pid))
            await asyncio.sleep(0.5)


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


async def compare_alone(url: str, count: int, tally: Tally) -> None:
    """Ask for a sample again, one at a time."""
    sample = random.Random(0).sample(tally.answers, min(count, len(tally.answers)))
    async with httpx.AsyncClient(base_url=url, timeout=STUCK_S) as client:
        for body, text, reason in sample:
            tally.num_compared += 1
            again = await read_stream(client, body, None, Tally())
            if again != (text, reason):
                tally.mixed += 1
                tally.problem(f"{body} gave {text!r} in the crowd, {again!r} alone")


async def until_idle(url: str) -> dict[str, Any]:
    """The health once nothing runs, or after 20 s."""
    deadline = time.monotonic() + 20
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        while True:
            health: dict[str, Any] = (await client.get("/health")).json()
            idle = not (health["running"] or health["waiting"] or health["kv_tokens_used"])
            if idle or time.monotonic() > deadline:
                return health
            await asyncio.sleep(0.1)


async def soak(url: str, pid: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run it all; returns the row for the results."""
    tally = Tally()
    model = (await until_idle(url))["model"]
    until = time.monotonic() + options.seconds
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        group.create_task(watch(url, pid, until, tally))
        if options.reload_every:
            group.create_task(reload(url, options.reload_every, until, tally))
        for number in range(options.clients):
            group.create_task(one_client(url, number, model, until, tally))
    elapsed = time.monotonic() - began
    health = await until_idle(url)
    metrics = httpx.get(url + "/metrics").text
    await compare_alone(url, options.compare, tally)
    counted = asdict(tally)
    for name in ("first_token_s", "memory_bytes", "answers"):
        del counted[name]
    third = len(tally.memory_bytes) // 3
    first_s = sorted(tally.first_token_s)
    middle, end = tally.memory_bytes[third : 2 * third], tally.memory_bytes[2 * third :]
    return {
        **counted,
        "seconds": round(elapsed, 1),
        "clients": options.clients,
        "cache_tokens": options.cache_tokens,
        "tokens_per_second": round(tally.num_tokens / elapsed, 1),
        "first_token_median_s": round(statistics.median(first_s), 3),
        "first_token_p95_s": round(
            sorted(tally.first_token_s)[len(tally.first_token_s) * 95 // 100], 3
        ),
        "memory_start_mb": round(tally.memory_bytes[0] / 1e6, 1),
        "memory_middle_mb": round(max(middle) / 1e6, 1),
        "memory_end_mb": round(max(end) / 1e6, 1),
        "preemptions": int(float(metrics.split("\nhone_engine_preemptions_total ")[1].split()[0])),
        "left_running": health["running"] + health["waiting"],
        "left_kv_tokens": health["kv_tokens_used"],
    }


def verdict(row: dict[str, Any], *, alike: bool) -> list[str]:
    """What is wrong; [] for a good run. alike: the crowd may not change an answer."""
    none = ["lost", "stuck", "health_failures", "left_running", "left_kv_tokens"]
    bad = [f"{name} is {row[name]}, wanted 0" for name in none + ["mixed"] * alike if row[name]]
    most = row["memory_middle_mb"] * (1 + MOST_GROWTH)
    if row["seconds"] >= WARM_S and row["memory_end_mb"] > most:
        bad.append(f"memory grew from {row['memory_middle_mb']} to {row['memory_end_mb']} MB")
    if not (row["finished"] and row["aborted"] and row["num_compared"]):
        bad.append("too little happened")
    return bad


@contextlib.contextmanager
def served(options: argparse.Namespace) -> Any:
    """The engine as a process: (address, process id)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", options.port))
        port = probe.getsockname()[1]
    words = ["serve", str(options.model.resolve()), "--port", str(port)]
    words += ["--cache-tokens", str(options.cache_tokens)]
    words += ["--batch-invariant"] * options.batch_invariant + ["--admin-key", "soak"]
    command = [sys.executable, "-m", "hone_engine", *words]
    process = subprocess.Popen(command, cwd=ROOT / "inference", stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(url + "/health")
                break
            time.sleep(0.1)
        yield url, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def measured(row: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    """The figures of one run, named by its crowd."""
    crowd = f"{row['clients']} clients, {row['seconds']:.0f} s, {row['cache_tokens']} cache tokens"
    units = {"memory_start_mb": "MB", "memory_middle_mb": "MB", "memory_end_mb": "MB"}
    units |= {"tokens_per_second": "tokens/s", "first_token_median_s": "s"}
    names = ("finished", "aborted", "lost", "stuck", "mixed", "num_compared", "health_checks")
    names += (
        "reloads",
        "waited",
        "health_failures",
        "preemptions",
        "left_running",
        "left_kv_tokens",
        *units,
    )
    return {f"{name}, {crowd}": (row[name], units.get(name, "count")) for name in names}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument(
        "--reload-every", type=float, default=0, help="seconds; the model is read anew under load"
    )
    parser.add_argument("--compare", type=int, default=60, help="answers asked for again alone")
    parser.add_argument("--cache-tokens", type=int, default=4096, help="small: pages run out")
    parser.add_argument(
        "--batch-invariant", action="store_true", help="as `serve` takes it, for a GPU"
    )
    parser.add_argument(
        "--company-counts",
        action="store_true",
        help="the crowd may change answers, as on a GPU without --batch-invariant",
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a file for the whole report, as JSON")
    options = parser.parse_args()
    with served(options) as (url, pid):
        row = asyncio.run(soak(url, pid, options))
    row["batch_invariant"] = options.batch_invariant
    row["verdict"] = verdict(row, alike=not options.company_counts) or "good"
    print(json.dumps(row, indent=1))
    if options.out:
        options.out.write_text(json.dumps([row], indent=1) + "\n")
    else:
        figures.write("soak", figures.rows(measured(row)), keep=True)
    return int(row["verdict"] != "good")


if __name__ == "__main__":
    sys.exit(main())
