"""Every golden vector of EXL2, GPTQ and AWQ, read from a safetensors file, must match exactly."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from hone_engine.formats import ModelDirectory, Segments, exl2
from hone_engine.formats.shards import Shards
from hone_engine.formats.tensors import Foreign

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.npz"))
PARTS = ("qweight", "qzeros", "scales", "g_idx")
PARTS += ("q_weight", "q_invperm", "q_scale", "q_scale_max", "q_groups")


def settings(golden: dict[str, Any], method: str) -> str:
    if method == "exl2":
        return '{"model_type": "llama"}'
    layout = str(golden.get("checkpoint_format", "gptq"))
    return (
        f'{{"quantization_config": {{"quant_method": "{method}", "checkpoint_format": "{layout}", '
        f'"group_size": {int(golden["group_size"])}}}}}'
    )


def directory(path: Path, golden: dict[str, Any], method: str) -> ModelDirectory:
    parts = {f"w.{name}": golden[name] for name in PARTS if name in golden}
    save_file(parts, path / "m.safetensors")
    (path / "config.json").write_text(settings(golden, method))
    return ModelDirectory(path)


def meaning(path: Path, golden: dict[str, Any], method: str) -> Segments:
    found = directory(path, golden, method)
    if "prescale" in golden:
        return exl2.read(
            Shards(path), "w", found.specs["w.weight"], found.how, float(golden["prescale"])
        )
    tensor = found.tensor("w.weight")
    assert isinstance(tensor, Foreign)
    return tensor.segments()


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_a_golden_vector_matches_exactly(file: Path, tmp_path: Path) -> None:
    golden = dict(np.load(file))
    found = meaning(tmp_path, golden, file.stem.split("_")[0])
    values = found.dequantize()
    assert values.dtype == np.float16
    np.testing.assert_array_equal(values.astype(np.float32).T, golden["expected"])
    if "codes" in golden:
        order = slice(None) if found.perm is None else found.perm
        np.testing.assert_array_equal(found.segments[0].codes(), golden["codes"][order])
    if "loader_q_perm" in golden:
        order = np.arange(found.cols) if found.perm is None else found.perm
        np.testing.assert_array_equal(order, golden["loader_q_perm"])


def test_there_are_golden_vectors_of_every_kind() -> None:
    kinds = [file.stem.split("_")[0] for file in GOLDEN]
    assert {kind: kinds.count(kind) for kind in kinds} == {"awq": 1, "exl2": 13, "gptq": 24}
