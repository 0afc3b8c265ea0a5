"""What is wrong with a directory of another program is told by file, tensor, got and wanted."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

from hone_engine.formats import Dense, Foreign, FormatError, ModelDirectory, check_tensors

GOLDEN = Path(__file__).parent / "golden"
Change = Callable[[dict[str, np.ndarray]], None]


def parts(file: str) -> dict[str, np.ndarray]:
    """The stored tensors of a golden vector, as layer "w"."""
    golden = np.load(GOLDEN / f"{file}.npz")
    names = ("qweight", "qzeros", "scales", "g_idx")
    names += ("q_weight", "q_invperm", "q_scale", "q_scale_max", "q_groups")
    return {f"w.{name}": golden[name] for name in names if name in golden}


def write(path: Path, tensors: dict[str, np.ndarray], **settings: object) -> ModelDirectory:
    config = {"quantization_config": settings} if settings else {}
    (path / "config.json").write_text(json.dumps(config))
    save_file(tensors, path / "m.safetensors")
    return ModelDirectory(path)


def drop(name: str) -> Change:
    def change(tensors: dict[str, np.ndarray]) -> None:
        del tensors[name]

    return change


def put(name: str, index: int, value: int) -> Change:
    def change(tensors: dict[str, np.ndarray]) -> None:
        tensors[name] = tensors[name].copy()
        tensors[name][index] = value

    return change


def cut(name: str, stop: int) -> Change:
    def change(tensors: dict[str, np.ndarray]) -> None:
        tensors[name] = tensors[name][:stop]

    return change


def cast(name: str, dtype: str) -> Change:
    def change(tensors: dict[str, np.ndarray]) -> None:
        tensors[name] = tensors[name].astype(dtype)

    return change


EXL2 = [
    (drop("w.q_invperm"), "tensor w.q_invperm is missing"),
    (drop("w.q_scale_max"), r"tensor w.q_scale_max \[6\] is missing"),
    (cast("w.q_weight", "int16"), r"tensor w.q_weight is int16 .*, wanted a matrix of int32"),
    (cut("w.q_scale_max", 5), r"w.q_scale_max is fp16 \[5\], wanted fp16 \[6\]"),
    (cut("w.q_groups", 10), r"w.q_groups is int16 \[10\], wanted int16 \[12\]"),
    (put("w.q_groups", 0, 7), r"w.q_groups has a group of 7 bits, wanted one of \(2, 3, 4, 5, 6"),
    (put("w.q_groups", 1, 1), "w.q_groups gives .* inputs in 6 groups, wanted 192"),
    (put("w.q_groups", 3, -1), "w.q_groups gives .* inputs in 6 groups, wanted 192"),
    (cut("w.q_weight", 20), "w.q_groups gives .* inputs in 6 groups, wanted 192"),
]


@pytest.mark.parametrize(("change", "message"), EXL2)
def test_exl2_that_does_not_hold_together_is_refused(
    tmp_path: Path, change: Change, message: str
) -> None:
    tensors = parts("exl2_mix_all")
    change(tensors)
    with pytest.raises(FormatError, match=message) as error:
        write(tmp_path, tensors)
    assert str(tmp_path) in str(error.value)


def test_exl2_widths_must_fall(tmp_path: Path) -> None:
    tensors = parts("exl2_mix_multi_group")
    groups = tensors["w.q_groups"].copy()
    groups[0], groups[4] = groups[4], groups[0]
    with pytest.raises(FormatError, match="q_groups"):
        write(tmp_path, tensors | {"w.q_groups": groups})


def test_exl2_with_an_order_that_is_no_permutation_is_refused(tmp_path: Path) -> None:
    tensors = parts("exl2_4bit")
    tensors["w.q_invperm"] = tensors["w.q_invperm"].copy()
    tensors["w.q_invperm"][3] = tensors["w.q_invperm"][4]
    found = write(tmp_path, tensors).tensor("w.weight")
    assert isinstance(found, Foreign)
    with pytest.raises(FormatError, match=r"w\.q_invperm is no permutation of its 64 inputs"):
        found.segments()


def test_exl2_outputs_are_cut_to_those_wanted(tmp_path: Path) -> None:
    directory = write(tmp_path, parts("exl2_wide_tile"))
    whole = directory.tensor("w.weight").float32()
    assert whole.shape == (160, 64)
    check_tensors(directory, {"w.weight": (131, 64)})
    np.testing.assert_array_equal(directory.tensor("w.weight").float32(), whole[:131])
    for rows in (128, 161):
        with pytest.raises(FormatError, match=rf"has shape .*, wanted \[{rows}, 64\]"):
            check_tensors(write(tmp_path, parts("exl2_wide_tile")), {"w.weight": (rows, 64)})


def test_a_quantized_head_is_never_tied(tmp_path: Path) -> None:
    tensors = {k.replace("w.", "lm_head."): v for k, v in parts("exl2_4bit").items()}
    (tmp_path / "config.json").write_text('{"tie_word_embeddings": true}')
    save_file(tensors, tmp_path / "m.safetensors")
    directory = ModelDirectory(tmp_path)
    assert directory.config["tie_word_embeddings"] is False
    assert set(directory.specs) == {"lm_head.weight"}


GPTQ = [
    (drop("w.scales"), r"tensor w.scales \[3, 32\] is missing"),
    (drop("w.qzeros"), "tensor w.qzeros is missing"),
    (cast("w.scales", "int32"), r"w.scales is int32 \[3, 32\], wanted fp16 or bf16 or fp32"),
    (cast("w.g_idx", "int16"), r"w.g_idx is int16 \[96\], wanted int32 \[96\]"),
    (cut("w.g_idx", 95), r"w.g_idx is int32 \[95\], wanted int32 \[96\]"),
    (put("w.g_idx", 7, 3), "w.g_idx names group 3, wanted 0 to 2"),
    (put("w.g_idx", 7, -1), "w.g_idx names group -1, wanted 0 to 2"),
    (cut("w.qweight", 11), r"w.g_idx is int32 \[96\], wanted int32 \[88\]"),
]


@pytest.mark.parametrize(("change", "message"), GPTQ)
def test_gptq_that_does_not_hold_together_is_refused(
    tmp_path: Path, change: Change, message: str
) -> None:
    tensors = parts("gptq_4bit_actorder_asym_v1")
    change(tensors)
    with pytest.raises(FormatError, match=message) as error:
        write(tmp_path, tensors, quant_method="gptq", bits=4, group_size=32)
    assert str(tmp_path) in str(error.value)


def test_gptq_groups_of_different_lengths_are_refused(tmp_path: Path) -> None:
    tensors = parts("gptq_4bit_actorder_asym_v1")
    index = tensors["w.g_idx"].copy()
    index[int(np.argmax(index == 0))] = 1
    with pytest.raises(FormatError, match=r"w\.g_idx gives group 0 31 inputs, wanted 33"):
        write(tmp_path, tensors | {"w.g_idx": index}, quant_method="gptq", group_size=32)


def test_a_width_that_gptq_has_not_is_refused(tmp_path: Path) -> None:
    tensors = parts("gptq_4bit_seq_sym_v1")
    tensors["w.qzeros"] = np.zeros((3, 5), np.int32)
    with pytest.raises(FormatError, match=r"5 bits, wanted one of \(2, 3, 4, 8\)"):
        write(tmp_path, tensors, quant_method="gptq", group_size=32)


def test_a_group_that_no_settings_tell_is_read_off_the_index(tmp_path: Path) -> None:
    tensors = parts("gptq_4bit_seq_sym_v1")
    tensors["w.g_idx"] = (np.arange(96) // 40).astype(np.int32)
    found = write(tmp_path, tensors, quant_method="gptq").tensor("w.weight")
    assert isinstance(found, Foreign)
    (segment,) = found.segments().segments
    assert (segment.group, found.spec.order) == (40, 0)
    golden = np.load(GOLDEN / "gptq_4bit_seq_sym_v1.npz")
    scales = golden["scales"].astype(np.float32)[np.arange(96) // 40]
    wanted = ((golden["codes"].astype(np.float32) - 8) * scales).astype(np.float16)
    np.testing.assert_array_equal(found.float32().T, wanted)


@pytest.mark.parametrize("index", [None, np.zeros(96, np.int32)])
def test_gptq_without_an_index_is_in_order(tmp_path: Path, index: np.ndarray | None) -> None:
    golden = np.load(GOLDEN / "gptq_3bit_seq_asym_v2.npz")
    tensors = parts("gptq_3bit_seq_asym_v2")
    tensors.pop("w.g_idx")
    if index is not None:
        tensors["w.g_idx"] = index
    found = write(tmp_path, tensors, quant_method="gptq", format="gptq_v2", group_size=32)
    np.testing.assert_array_equal(found.tensor("w.weight").float32().T, golden["expected"])


@pytest.mark.parametrize("group", [-1, None, 96])
def test_gptq_of_one_group_takes_all_inputs(tmp_path: Path, group: int | None) -> None:
    tensors = parts("gptq_4bit_seq_sym_v1")
    tensors["w.g_idx"] = np.zeros(96, np.int32)
    tensors["w.qzeros"], tensors["w.scales"] = tensors["w.qzeros"][:1], tensors["w.scales"][:1]
    found = write(tmp_path, tensors, quant_method="gptq", group_size=group).tensor("w.weight")
    assert isinstance(found, Foreign)
    (segment,) = found.segments().segments
    assert (segment.group, segment.cols, segment.zeros) == (96, 96, None)


@pytest.mark.parametrize("kind", ["bf16", "fp32"])
def test_scales_of_other_kinds_are_read(tmp_path: Path, kind: str) -> None:
    golden = np.load(GOLDEN / "gptq_4bit_seq_sym_v1.npz")
    tensors = parts("gptq_4bit_seq_sym_v1")
    # scales that both kinds hold exactly
    exact = (tensors["w.scales"].astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
    codes = golden["codes"].astype(np.float32) - 8
    wanted = (codes * exact[golden["g_idx"]]).astype(np.float16)
    if kind == "fp32":
        tensors["w.scales"] = exact
        found = write(tmp_path, tensors, quant_method="gptq", group_size=32)
    else:
        save_bf16(tmp_path, tensors, exact)
        found = ModelDirectory(tmp_path)
    np.testing.assert_array_equal(found.tensor("w.weight").float32().T, wanted)


def save_bf16(path: Path, tensors: dict[str, np.ndarray], scales: np.ndarray) -> None:
    (path / "config.json").write_text('{"quantization_config": {"group_size": 32}}')
    given = {name: torch.from_numpy(array.copy()) for name, array in tensors.items()}
    save_torch(given | {"w.scales": torch.from_numpy(scales).bfloat16()}, path / "m.safetensors")


def test_awq_that_does_not_hold_together_is_refused(tmp_path: Path) -> None:
    tensors = parts("awq_gemm_4bit")
    settings = {"quant_method": "awq", "group_size": 32}
    with pytest.raises(FormatError, match=r"w.qzeros is \[2, 4\], wanted \[3, 4\]"):
        write(tmp_path, tensors | {"w.qzeros": tensors["w.qzeros"][:2]}, **settings)
    with pytest.raises(FormatError, match=r"w.scales is fp16 \[2, 32\], wanted fp16 or"):
        write(tmp_path, tensors | {"w.scales": tensors["w.scales"][:2]}, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"quant_method": "aqlm"}, "quantized as 'aqlm', which Hone does not read; wanted one of"),
        ({"quant_method": "exl3"}, "quantized as 'exl3'"),
        ({"quant_method": "awq", "version": "gemv"}, "version is 'gemv'; wanted 'gemm'"),
        ({"checkpoint_format": "marlin"}, "checkpoint_format is 'marlin'; wanted 'gptq' or"),
        ({"is_marlin_format": True, "bits": 4}, "checkpoint_format is 'marlin'"),
        ({"quant_method": "gptq", "pack_dtype": "int16"}, "pack_dtype is 'int16'; wanted 'int32'"),
        ({"quant_method": "gptq", "group_size": 0}, "group_size is 0; wanted a number above 0"),
        ({}, r"has tensors \*.qweight, but no quantization_config says how to read them"),
    ],
)
def test_a_layout_that_is_not_read_is_named(
    tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(FormatError, match=message) as error:
        write(tmp_path, parts("gptq_4bit_seq_sym_v1"), **settings)
    assert str(tmp_path) in str(error.value)


def test_settings_are_found_beside_the_config(tmp_path: Path) -> None:
    settings = {"w_bit": 4, "q_group_size": 32, "zero_point": True, "version": "GEMM"}
    (tmp_path / "quant_config.json").write_text(json.dumps(settings))
    found = write(tmp_path, parts("awq_gemm_4bit"))
    assert found.how.method == "awq"
    assert found.config["quantization_config"] == settings
    golden = np.load(GOLDEN / "awq_gemm_4bit.npz")
    np.testing.assert_array_equal(found.tensor("w.weight").float32().T, golden["expected"])


def test_a_file_cut_short_is_named(tmp_path: Path) -> None:
    write(tmp_path, parts("exl2_4bit"))
    file = tmp_path / "m.safetensors"
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(FormatError, match=r"m\.safetensors: tensor w\..* cut short"):
        ModelDirectory(tmp_path)


@pytest.mark.parametrize(
    ("file", "name", "method"),
    [
        ("exl2_mix_all", "w.q_scale_max", None),
        ("gptq_4bit_seq_asym_v1", "w.scales", "gptq"),
        ("awq_gemm_4bit", "w.scales", "awq"),
    ],
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_scale_that_is_no_number_is_named(
    tmp_path: Path, file: str, name: str, method: str | None, value: float
) -> None:
    tensors = parts(file)
    tensors[name] = tensors[name].copy()
    tensors[name].reshape(-1)[2] = value
    settings = {"quant_method": method, "group_size": 32} if method else {}
    found = write(tmp_path, tensors, **settings).tensor("w.weight")
    assert isinstance(found, Foreign)
    with pytest.raises(FormatError, match=rf"tensor {name} has {value} at \[.*2\], wanted finite"):
        found.segments()


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    tensors = parts("exl2_4bit")
    write(tmp_path, tensors)
    save_file({"w.q_scale": tensors["w.q_scale"]}, tmp_path / "n.safetensors")
    with pytest.raises(FormatError, match=r"n\.safetensors: tensor w\.q_scale is also in .*/m\."):
        ModelDirectory(tmp_path)


def test_layers_left_alone_stay_plain(tmp_path: Path) -> None:
    tensors = parts("gptq_8bit_seq_sym_v1") | {"v.weight": np.ones((4, 4), np.float16)}
    found = write(tmp_path, tensors, quant_method="gptq", group_size=32)
    assert isinstance(found.tensor("v.weight"), Dense)
    assert set(found.specs) == {"w.weight", "v.weight"}


def test_a_bias_that_nothing_adds_is_refused_unless_it_is_zero(tmp_path: Path) -> None:
    tensors = parts("gptq_4bit_seq_sym_v1") | {"w.bias": np.zeros(32, np.float16)}
    settings = {"quant_method": "gptq", "group_size": 32}
    check_tensors(write(tmp_path, tensors, **settings), {"w.weight": (32, 96)})
    tensors["w.bias"][5] = 1
    with pytest.raises(FormatError, match=r"tensor w\.bias .* is not zero, and nothing adds it"):
        check_tensors(write(tmp_path, tensors, **settings), {"w.weight": (32, 96)})
