import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from hone_engine.formats import Dense, FormatError, ModelDirectory, Quantized, write_model
from hone_engine.formats.shards import INDEX


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "llama"}')
    return model


def shards(path: Path, weight_map: dict[str, str]) -> None:
    (path / INDEX).write_text(json.dumps({"weight_map": weight_map}))


def test_tensors_are_found_in_their_shards(path: Path) -> None:
    save_file({"a": torch.ones(2)}, path / "1.safetensors")
    save_file({"b": torch.full((3,), 2.0).bfloat16()}, path / "2.safetensors")
    shards(path, {"a": "1.safetensors", "b": "2.safetensors"})
    found = ModelDirectory(path)
    assert {name: (s.storage, s.shape) for name, s in found.specs.items()} == {
        "a": ("fp32", (2,)),
        "b": ("bf16", (3,)),
    }
    tensor = found.tensor("b")
    assert tensor.float32().tolist() == [2.0, 2.0, 2.0]


def test_a_missing_shard_is_named(path: Path) -> None:
    shards(path, {"a": "1.safetensors"})
    with pytest.raises(FormatError, match=r"1\.safetensors: is missing"):
        ModelDirectory(path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "x/y.safetensors"])
def test_an_index_cannot_lead_out_of_its_directory(path: Path, name: str) -> None:
    shards(path, {"a": name})
    with pytest.raises(FormatError, match="is not a file beside it"):
        ModelDirectory(path)


def test_a_pickle_is_never_opened(path: Path) -> None:
    (path / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    with pytest.raises(FormatError, match=r"pytorch_model\.bin: is a pickle, which can run code"):
        ModelDirectory(path)


def test_a_directory_without_weights_or_config_is_named(path: Path) -> None:
    with pytest.raises(FormatError, match=r"model: has no \*\.safetensors file"):
        ModelDirectory(path)
    (path / "config.json").write_text("{oops")
    with pytest.raises(FormatError, match=r"config\.json: is not JSON"):
        ModelDirectory(path)
    (path / "config.json").write_text("[]")
    with pytest.raises(FormatError, match=r"config\.json: holds list, wanted a JSON object"):
        ModelDirectory(path)
    (path / "config.json").unlink()
    with pytest.raises(FormatError, match=r"config\.json: cannot be read"):
        ModelDirectory(path)


def quantized() -> dict[str, Dense | Quantized]:
    random = np.random.default_rng(1)
    codes = random.integers(0, 256, (6, 32), np.uint8)
    scales = random.random((6, 2)).astype(np.float16)
    high = random.integers(0, 256, (6, 8), np.uint8)
    signed = random.integers(-127, 128, (6, 64)).astype(np.int8)
    return {
        "q4": Quantized(codes, scales, scales + 1, 4, 32),
        "q5": Quantized(codes, scales, None, 5, 32, high),
        "q8": Quantized(signed, scales[:, :1], None, 8, 64),
        "norm": Dense(random.random(5).astype(np.float32), "fp32"),
    }


def written(tmp_path: Path) -> Path:
    tensors = quantized()
    specs = {name: tensor.spec for name, tensor in tensors.items()}
    path = tmp_path / "written"
    write_model(path, config={}, facts={}, sidecars={}, specs=specs, tensor=tensors.__getitem__)
    return path


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    found = ModelDirectory(written(tmp_path))
    for name, wanted in quantized().items():
        tensor = found.tensor(name)
        assert tensor.spec == wanted.spec
        for array, other in zip(tensor.arrays(), wanted.arrays(), strict=True):
            np.testing.assert_array_equal(array, other)


def test_a_directory_is_made_of_one_file_a_purpose(tmp_path: Path) -> None:
    names = {file.name for file in written(tmp_path).iterdir()}
    assert names == {"config.json", "hone.json", "model.safetensors"}


def test_a_quantized_part_that_is_missing_or_misshaped_is_named(path: Path) -> None:
    meta = {"hone": json.dumps({"w": {"bits": 4, "group": 32}})}
    codes = torch.zeros(4, 16, dtype=torch.uint8)
    save_file({"w.codes": codes}, path / "m.safetensors", meta)
    with pytest.raises(FormatError, match=r"tensor w\.scales \[4, 1\] is missing"):
        ModelDirectory(path)
    scales = torch.zeros(4, 2).half()
    save_file({"w.codes": codes, "w.scales": scales}, path / "m.safetensors", meta)
    with pytest.raises(FormatError, match=r"w\.scales is fp16 \[4, 2\], wanted fp16 \[4, 1\]"):
        ModelDirectory(path)
    save_file({"w.scales": scales}, path / "m.safetensors", meta)
    with pytest.raises(FormatError, match=r"tensor w\.codes is missing"):
        ModelDirectory(path)
    meta = {"hone": json.dumps({"w": {"bits": 3, "group": 32}})}
    save_file({"w.codes": codes, "w.scales": scales}, path / "m.safetensors", meta)
    with pytest.raises(FormatError, match="has bits 3, group 32"):
        ModelDirectory(path)


def test_an_integer_tensor_is_refused_when_asked_for(path: Path) -> None:
    save_file({"w": torch.zeros(4, dtype=torch.uint8)}, path / "m.safetensors")
    with pytest.raises(FormatError, match="tensor w is uint8; wanted F32, F16 or BF16"):
        ModelDirectory(path).tensor("w")
