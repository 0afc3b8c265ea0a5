import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from hone_engine.formats import FormatError
from hone_engine.formats.safetensors_file import SafetensorsFile, header_bytes


def write(path: Path, header: object, data: bytes = b"", length: int | None = None) -> Path:
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    count = len(text) if length is None else length
    path.write_bytes(count.to_bytes(8, "little") + text + data)
    return path


def test_arrays_are_those_of_the_library(tmp_path: Path) -> None:
    tensors = {
        "a": torch.randn(3, 5),
        "b": torch.randn(4).half(),
        "c": torch.randn(2, 2).bfloat16(),
        "d": torch.arange(6, dtype=torch.uint8),
    }
    save_file(tensors, tmp_path / "x.safetensors", {"note": "hi"})
    file = SafetensorsFile(tmp_path / "x.safetensors")
    assert file.metadata == {"note": "hi"}
    np.testing.assert_array_equal(file.array("a"), tensors["a"].numpy())
    np.testing.assert_array_equal(file.array("b"), tensors["b"].numpy())
    bits = tensors["c"].view(torch.int16).numpy().view(np.uint16)
    np.testing.assert_array_equal(file.array("c"), bits)
    file.release("a")
    np.testing.assert_array_equal(file.array("a"), tensors["a"].numpy())


def test_the_library_reads_our_header(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float16)
    head = header_bytes([("x", "fp16", (2, 3)), ("y", "uint8", (4,))], {"k": "v"})
    assert len(head) % 64 == 0
    (tmp_path / "x.safetensors").write_bytes(head + array.tobytes() + b"abcd")
    found = load_file(tmp_path / "x.safetensors")
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert bytes(found["y"].numpy()) == b"abcd"


def entry(dtype: str = "F32", shape: object = (2,), offsets: object = (0, 8)) -> dict[str, object]:
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


@pytest.mark.parametrize(
    ("header", "length", "message"),
    [
        (b"{}", 1 << 40, "the header is said to have"),
        (b"{nope", None, "the header is no JSON object"),
        (b"[1]", None, "the header is no JSON object"),
        (entry(offsets=[0, 80]), None, "tensor w lies at bytes"),
        (entry(offsets=[8, 0]), None, "tensor w lies at bytes"),
        (entry(offsets=[-8, 0]), None, "tensor w lies at bytes"),
        (entry(shape=[3]), None, "tensor w has 8 bytes, fp32 .3. needs 12"),
        (entry(shape="x"), None, "tensor w: bad header entry"),
        (entry(shape=[-1, -2]), None, "tensor w: bad header entry"),
        ({"w": {"dtype": "F32"}}, None, "tensor w: bad header entry"),
    ],
)
def test_a_file_that_lies_is_one_clear_error(
    tmp_path: Path, header: object, length: int | None, message: str
) -> None:
    path = write(tmp_path / "bad.safetensors", header, bytes(8), length)
    with pytest.raises(FormatError, match=message) as error:
        SafetensorsFile(path)
    assert "bad.safetensors" in str(error.value)


def test_a_file_of_a_few_bytes_is_too_short(tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(b"abc")
    with pytest.raises(FormatError, match="3 bytes is too short"):
        SafetensorsFile(tmp_path / "x.safetensors")


def test_a_dtype_that_hone_does_not_know_is_named_when_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "x.safetensors", entry("F8_E4M3", [8], [0, 8]), bytes(8))
    with pytest.raises(FormatError, match="tensor w is F8_E4M3; wanted one of F32"):
        SafetensorsFile(path).array("w")
