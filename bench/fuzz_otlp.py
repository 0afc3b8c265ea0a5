"""Does any body break the decoders, or make the native one and its reference differ?

    python bench/fuzz_otlp.py --seconds 300             # all targets
    python bench/fuzz_otlp.py --replay FOLDER           # only judge what lies in a folder
    python bench/fuzz_otlp.py --wire PATH --replay …    # with another build of the extension

Coverage-guided where `pip install atheris` has been done, else by plain mutation of the seeds. What
breaks is left as a file in --corpus and named; the exit status is then 1. `cov` counts the branches
of hone.traces.core that were reached.
"""

import argparse
import importlib
import importlib.util
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "platform")]
RESULTS = Path(__file__).parent / "results" / "fuzz.json"
NAMES = ("protobuf", "json", "events")
MODULE = "hone.traces.core.wire._wire"


def main() -> int:
    """Fuzz or replay; 1 where something broke."""
    given = arguments()
    if given.wire:
        load_wire(given.wire)
    if given.child:
        return guided(given.child, given.corpus, given.seconds)
    if given.replay:
        return replayed(given.replay)
    found = {name: fuzzed(name, given) for name in given.targets.split(",")}
    print(json.dumps(found, indent=2))
    if given.json:
        before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(before | found, indent=2) + "\n")
    return int(any(one["broken"] for one in found.values()))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60, help="for all targets together")
    parser.add_argument("--targets", default=",".join(NAMES))
    parser.add_argument("--corpus", type=Path, default=Path(tempfile.gettempdir()) / "hone-fuzz")
    parser.add_argument("--replay", type=Path)
    parser.add_argument("--wire", type=Path, help="another build of the extension")
    parser.add_argument("--json", action="store_true", help=f"keep the figures in {RESULTS.name}")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def load_wire(path: Path) -> None:
    """Have everybody use this build of the extension."""
    spec = importlib.util.spec_from_file_location(MODULE, path)
    assert spec
    assert spec.loader
    sys.modules[MODULE] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def fuzzed(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """The figures of one target."""
    seconds = given.seconds // len(given.targets.split(","))
    corpus = given.corpus / name
    corpus.mkdir(parents=True, exist_ok=True)
    if importlib.util.find_spec("atheris") is None:
        return mutated(name, corpus, seconds)
    command = [sys.executable, __file__, "--child", name, "--corpus", corpus]
    began = time.monotonic()
    done = subprocess.run(
        [*command, "--seconds", str(seconds)], stderr=subprocess.PIPE, text=True, check=False
    )
    stats = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
    covered = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", done.stderr) or [("0", "0", "0")]
    broken = sorted(str(path) for path in corpus.parent.glob(f"{name}-broken-*"))
    if done.returncode:
        print(done.stderr[-4000:], file=sys.stderr)
    return {
        "guided": True,
        "seconds": round(time.monotonic() - began),
        "executions": int(stats.get("number_of_executed_units", 0)),
        "branches_reached": int(covered[-1][0]),
        "features": int(covered[-1][1]),
        "corpus": int(covered[-1][2]),
        "broken": broken,
    }


def guided(name: str, corpus: Path, seconds: int) -> int:
    """Run libFuzzer in this process, which ends with it."""
    # An editable install finds modules in a way that keeps the counters out of them.
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if "editable" not in type(finder).__module__
    ]
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["hone"]):
        target = importlib.import_module("fuzz_judges").TARGETS[name]
    for number, body in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(body)

    def change(body: bytes, max_len: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.2:
            return bytes(atheris.Mutate(body, max_len))
        return target.changed(body, rng)[:max_len]

    flags = [f"-max_total_time={seconds}", "-max_len=20000", "-timeout=20", "-rss_limit_mb=2048"]
    flags += ["-print_final_stats=1", f"-artifact_prefix={corpus.parent}/{name}-broken-"]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], target.judge, custom_mutator=change)
    atheris.Fuzz()
    return 0


def mutated(name: str, corpus: Path, seconds: int) -> dict[str, Any]:
    """As `guided`, without guidance: seeds changed a few times over."""
    target = importlib.import_module("fuzz_judges").TARGETS[name]
    seeds, executions, broken = target.seeds(), 0, []
    rng = random.Random(int(time.time()))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        body = rng.choice(seeds)
        for _ in range(rng.randrange(1, 6)):
            body = target.changed(body, rng)
        executions += 1
        try:
            target.judge(body)
        except Exception as error:
            path = corpus.parent / f"{name}-broken-{executions}"
            path.write_bytes(body)
            broken.append(str(path))
            print(f"{path}: {type(error).__name__}: {error}"[:500], file=sys.stderr)
    figures = {"seconds": seconds, "executions": executions, "broken": broken}
    return {"guided": False, **figures}


def replayed(folder: Path) -> int:
    """Judge each file below `folder`; its name or its folder's begins with its target's."""
    judges = importlib.import_module("fuzz_judges").TARGETS
    counted = dict.fromkeys(NAMES, 0)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        for name in NAMES:
            if path.name.startswith(name) or path.parent.name.startswith(name):
                judges[name].judge(path.read_bytes())
                counted[name] += 1
    print(json.dumps({"replayed": counted}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
