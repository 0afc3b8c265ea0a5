"""Make a plain 16-bit model directory into an EXL2, GPTQ or AWQ one, and a plain one of its values.

    python bench/quantized_models.py SOURCE_DIR OUT_DIR KIND ...

OUT_DIR/KIND is the quantized directory, in two shards; OUT_DIR/KIND-plain holds in 16 bits what
the format's reference dequantization yields, for a peer that knows nothing of the format.
"""

import argparse
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from quantizers import Array, Mixture, Stored, awq, energy_order, exl2, gptq
from safetensors.numpy import load_file, save_file

HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
SIDECARS = ("tokenizer.json", "tokenizer_config.json", "generation_config.json")
SIDECARS += ("chat_template.jinja",)
HEAD_MIXTURE = [(8, 64, 0.15), (6, 64, 1.0)]
FOUR_BITS = [(5, 64, 0.1), (4, 64, 1.0)]
TWO_AND_A_HALF = [(4, 32, 0.1), (3, 32, 0.25), (2, 32, 1.0)]
EVERY_WIDTH = [(8, 32, 0.06), (6, 32, 0.2), (5, 32, 0.2), (4, 32, 0.2), (3, 32, 0.2), (2, 32, 1.0)]

Quantize = Callable[[Array, Array | None], tuple[Stored, NDArray[np.float16]]]
SIBLINGS = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))  # over the same input


@dataclass(frozen=True, slots=True)
class Kind:
    """order: of the inputs: as they are, by energy over all that share them, or each its own."""

    settings: dict[str, Any]
    quantize: Quantize
    order: Literal["none", "shared", "own"] = "none"


def _gptq(order: Literal["none", "shared", "own"], **options: Any) -> Kind:
    settings = {
        "quant_method": "gptq",
        "bits": options["bits"],
        "group_size": options["group"],
        "desc_act": order != "none",
        "sym": options["symmetric"],
        "checkpoint_format": "gptq_v2" if options["v2"] else "gptq",
    }
    return Kind(settings, lambda weight, by: gptq(weight, by, **options), order)


def _awq(group: int) -> Kind:
    settings = {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True}
    return Kind(settings | {"version": "gemm"}, lambda weight, _: awq(weight, group=group))


def _exl2(mixture: Mixture) -> Kind:
    return Kind({"quant_method": "exl2"}, lambda weight, by: exl2(weight, by, mixture), "shared")


KINDS = {
    "exl2-4.1": _exl2(FOUR_BITS),
    "exl2-2.5": _exl2(TWO_AND_A_HALF),
    "exl2-mixed": _exl2(EVERY_WIDTH),
    "gptq-4-sym": _gptq("none", bits=4, group=32, symmetric=True, v2=False),
    "gptq-4-actorder": _gptq("shared", bits=4, group=64, symmetric=False, v2=False),
    "gptq-4-own-orders": _gptq("own", bits=4, group=64, symmetric=True, v2=True),
    "gptq-3-v2": _gptq("none", bits=3, group=32, symmetric=False, v2=True),
    "gptq-2-v2": _gptq("shared", bits=2, group=32, symmetric=False, v2=True),
    "gptq-8": _gptq("none", bits=8, group=64, symmetric=False, v2=False),
    "awq-4": _awq(group=64),
}


def _order(kind: Kind, tensors: Stored, name: str) -> Array | None:
    if kind.order == "none":
        return None
    stem, _, last = name.removesuffix(".weight").rpartition(".")
    parts = next((found for found in SIBLINGS if last in found), (last,))
    if kind.order == "own" or name == HEAD:
        parts = (last,)
    together = [tensors[f"{stem}.{part}.weight" if stem else f"{part}.weight"] for part in parts]
    return energy_order(np.concatenate(together).astype(np.float32))


def make(source: Path, out: Path, kind: str) -> tuple[Path, Path]:
    """Write both directories of a kind; the quantized one and the plain one."""
    how = KINDS[kind]
    config = json.loads((source / "config.json").read_text())
    plain: Stored = {}
    stored: Stored = {}
    for file in sorted(source.glob("*.safetensors")):
        plain |= load_file(file)
    heads = {HEAD} if how.settings["quant_method"] == "exl2" else set()
    for head in heads:
        plain.setdefault(head, plain[EMBEDDING])
    source_tensors = dict(plain)
    for name in sorted(plain):
        if name not in heads and not name.endswith("_proj.weight"):
            stored[name] = plain[name]
            continue
        weight = plain[name].astype(np.float32)
        order = _order(how, source_tensors, name)
        if name == HEAD:
            parts, values = exl2(weight, order, HEAD_MIXTURE)
        else:
            parts, values = how.quantize(weight, order)
        stored |= {name.removesuffix("weight") + part: parts[part] for part in parts}
        plain[name] = np.ascontiguousarray(values)
    directories = out / kind, out / f"{kind}-plain"
    config["tie_word_embeddings"] = config.get("tie_word_embeddings", False)
    _write(directories[0], source, {**config, "quantization_config": how.settings}, stored, 2)
    _write(directories[1], source, {**config, "tie_word_embeddings": HEAD not in plain}, plain, 1)
    return directories


def _write(
    path: Path, source: Path, config: dict[str, Any], tensors: Stored, num_shards: int
) -> None:
    path.mkdir(parents=True, exist_ok=True)
    for name in SIDECARS:
        if (source / name).exists():
            shutil.copy(source / name, path / name)
    (path / "config.json").write_text(json.dumps(config, indent=2))
    names = sorted(tensors)
    for shard in range(num_shards):
        kept = {name: np.ascontiguousarray(tensors[name]) for name in names[shard::num_shards]}
        part = f"-{shard + 1:05}-of-{num_shards:05}" if num_shards > 1 else ""
        save_file(kept, path / f"model{part}.safetensors", {"format": "pt"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("kinds", nargs="+", choices=KINDS, metavar="KIND")
    options = parser.parse_args()
    for kind in options.kinds:
        print(*make(options.source, options.out, kind))


if __name__ == "__main__":
    main()
