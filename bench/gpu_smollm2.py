"""SmolLM2 on a GPU: greedy answers beside transformers', perplexity beside the CPU path's.

    python bench/gpu_smollm2.py MODEL_DIR TEXT --out RESULT.json

MODEL_DIR: `hone import` of the demo's GGUF file. The greedy answers of transformers lie in
tests/engine/models/golden/smollm2.npz (bench/make_golden_smollm2.py made them from that file).
"""

import argparse
import json
from pathlib import Path

import numpy as np

from hone_engine import runner
from hone_engine.config import EngineConfig
from hone_engine.runner import perplexity
from hone_engine.runner.loading import prepare
from hone_engine.tokenizer import Tokenizer
from hone_engine.types import Chunk, SamplingParams, Sequence

GOLDEN = Path(__file__).parents[1] / "tests" / "engine" / "models" / "golden" / "smollm2.npz"
NUM_SCORED = 2048


def greedy(path: Path, device: str) -> list[int]:
    """How many tokens of each answer are those of transformers, from its start."""
    golden = np.load(GOLDEN)
    ends = np.cumsum(golden["prompt_lens"])
    prompts = [part.tolist() for part in np.split(golden["prompts"], ends[:-1])]
    wanted, length = golden["tokens"], golden["tokens"].shape[1]
    config = EngineConfig(device=device, max_batch=20, cache_tokens=20 * 1024)
    model = runner.load(path, config)
    texts, at = [], 0
    for index, prompt in enumerate(prompts):
        most = len(prompt) + length + 1
        text = Sequence(index, prompt, len(prompt), SamplingParams(temperature=0), 0, most)
        count = -(-most // model.runner.page_len)
        text.pages = list(range(at, at + count))
        at += count
        texts.append(text)
    for step in range(length):
        groups = [[text] for text in texts] if step == 0 else [texts]
        for group in groups:
            drawn = model.runner.run([Chunk(s, s.computed_len, s.num_uncomputed) for s in group])
            for text, token in zip(group, drawn, strict=True):
                assert token is not None
                text.computed_len = len(text.token_ids)
                text.token_ids.append(token.token_id)
    model.close()
    found = [text.token_ids[text.prompt_len :] for text in texts]
    differs = [np.flatnonzero(np.array(f) != w) for f, w in zip(found, wanted, strict=True)]
    return [int(d[0]) if len(d) else length for d in differs]


def scored(path: Path, text: str, device: str) -> float:
    config = EngineConfig(device=device)
    prepared = prepare(path, config)
    tokens = Tokenizer.load(path).encode(text, special=False)[:NUM_SCORED]
    found = perplexity(prepared, tokens, config, window_len=1024)
    return float(found.value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cpu", type=float, help="the CPU path's perplexity, if known already")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    same = greedy(options.model, options.device)
    text = options.text.read_text(encoding="utf-8")
    values = {
        "cpu": options.cpu or scored(options.model, text, "cpu"),
        options.device: scored(options.model, text, options.device),
    }
    result = {
        "answers": len(same),
        "wholly_equal": sum(count == max(same) for count in same),
        "equal_tokens_from_the_start": same,
        "perplexity": values,
        "ratio": values[options.device] / values["cpu"],
    }
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
