from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest

from hone_engine.formats import FormatError, open_checkpoint
from hone_engine.formats.gguf.checkpoint import GGUFCheckpoint
from hone_engine.formats.gguf.header import GGUFFile
from hone_engine.formats.gguf.names import hf_name

Make = Callable[..., Path]
CARRIED = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"]
PLAIN = ["F32", "F16", "BF16"]


def halves(values: np.ndarray, num_heads: int) -> np.ndarray:
    """Rows as Hugging Face has them, from rows in which partners are neighbors."""
    rows, cols = values.shape
    pairs = values.reshape(num_heads, rows // num_heads // 2, 2, cols)
    return pairs.swapaxes(1, 2).reshape(rows, cols)


@pytest.mark.parametrize("kind", PLAIN + CARRIED)
def test_every_type_gives_the_values_of_the_library(make_gguf: Make, kind: str) -> None:
    path = make_gguf(kind)
    checkpoint = open_checkpoint(path)
    seen = 0
    for tensor in gguf.GGUFReader(path).tensors:
        name = hf_name(tensor.name)
        assert name is not None
        wanted = gguf.dequantize(tensor.data, tensor.tensor_type)
        wanted = wanted.reshape(tuple(reversed(tensor.shape.tolist())))
        if "q_proj" in name or "k_proj" in name:
            wanted = halves(wanted, 4 if "q_proj" in name else 2)
        found = checkpoint.tensor(name)
        assert found.spec == checkpoint.specs[name]
        np.testing.assert_array_equal(found.float32(), wanted)
        seen += 1
    assert seen == len(checkpoint.specs) == 21


def test_the_q_rows_of_qwen2_are_left_where_they_are(make_gguf: Make) -> None:
    path = make_gguf("Q8_0", arch="qwen2", pre="qwen2")
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    wanted = gguf.dequantize(tensors["blk.0.attn_q.weight"].data, gguf.GGMLQuantizationType.Q8_0)
    found = GGUFCheckpoint(path).tensor("model.layers.0.self_attn.q_proj.weight")
    np.testing.assert_array_equal(found.float32(), wanted)


def test_keys_are_those_that_the_library_reads(make_gguf: Make) -> None:
    path = make_gguf("F16")
    wanted = {
        key: field.contents()
        for key, field in gguf.GGUFReader(path).fields.items()
        if not key.startswith("GGUF.")
    }
    assert GGUFFile(path).values == wanted


def test_config_has_hugging_faces_names(make_gguf: Make) -> None:
    config = GGUFCheckpoint(make_gguf("F16", skip=("output",))).config
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["tie_word_embeddings"] is True
    assert (config["hidden_size"], config["head_dim"], config["num_key_value_heads"]) == (64, 16, 2)
    assert config["rms_norm_eps"] == 1e-05
    assert config["vocab_size"] == 300
    assert config["rope_scaling"] is None


def test_rotary_factors_become_a_scaling(make_gguf: Make) -> None:
    path = make_gguf("F16", extra={"rope_freqs.weight": np.arange(1, 9, dtype=np.float32)})
    scaling = GGUFCheckpoint(path).config["rope_scaling"]
    assert scaling == {"rope_type": "factors", "factors": [float(n) for n in range(1, 9)]}


def test_yarn_keys_become_a_scaling(make_gguf: Make) -> None:
    def settings(writer: gguf.GGUFWriter) -> None:
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(4.0)
        writer.add_rope_scaling_orig_ctx_len(64)

    scaling = GGUFCheckpoint(make_gguf("F16", settings=settings)).config["rope_scaling"]
    assert scaling == {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 64,
    }


def test_an_unknown_architecture_is_refused_by_name(make_gguf: Make) -> None:
    with pytest.raises(FormatError, match=r"gguf: the architecture is 'mamba'; Hone reads llama"):
        open_checkpoint(make_gguf("F16", arch="mamba"))


def test_a_tensor_that_would_be_left_out_is_refused(make_gguf: Make) -> None:
    extra = {"blk.0.ffn_gate_inp.weight": np.zeros((4, 64), np.float32)}
    with pytest.raises(
        FormatError, match=r"tensor blk\.0\.ffn_gate_inp\.weight is none of a Llama"
    ):
        open_checkpoint(make_gguf("F16", extra=extra))


def test_a_type_that_hone_does_not_read_is_named(make_gguf: Make) -> None:
    extra = {"output.weight": np.zeros((300, 64), np.float64)}
    with pytest.raises(
        FormatError, match=r"tensor output.weight \[300, 64\] is F64; Hone reads F32"
    ):
        open_checkpoint(make_gguf("F16", skip=("output",), extra=extra))


def test_a_file_cut_anywhere_is_one_clear_error(make_gguf: Make) -> None:
    path = make_gguf("Q4_1")
    whole = path.read_bytes()
    cut = path.with_name("cut.gguf")
    ends = [*range(0, 200, 7), *range(200, len(whole), len(whole) // 60), len(whole) - 33]
    for end in ends:
        cut.write_bytes(whole[:end])
        with pytest.raises(FormatError, match=r"cut\.gguf"):
            open_checkpoint(cut)


def test_damaged_bytes_never_raise_anything_else(make_gguf: Make) -> None:
    path = make_gguf("Q8_0")
    whole = bytearray(path.read_bytes())
    random = np.random.default_rng(3)
    told: list[str] = []
    num_read = 0
    for _ in range(150):
        damaged = whole.copy()
        for at in random.integers(4, 8000, 4):
            damaged[at] = random.integers(256)
        path.write_bytes(damaged)
        try:
            open_checkpoint(path).sidecars()
            num_read += 1
        except FormatError as error:
            told.append(str(error))
    assert num_read > 0
    assert told
    assert all(str(path) in message for message in told)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no GGUF file"),
        (b"PK\x03\x04" + bytes(60), "is no GGUF file"),
        (b"GGUF" + (1).to_bytes(4, "little") + bytes(60), "is GGUF version 1; wanted 2 or 3"),
        (b"GGUF" + (3).to_bytes(4, "big") + bytes(60), "wanted 2 or 3, little-endian"),
    ],
    ids=["empty", "zip", "version 1", "big-endian"],
)
def test_what_is_no_gguf_is_told_apart(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        open_checkpoint(path)


def test_only_known_kinds_of_files_are_opened(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is not there"):
        open_checkpoint(tmp_path / "nothing.gguf")
    (tmp_path / "model.bin").write_bytes(b"x")
    with pytest.raises(FormatError, match=r"wanted a directory or one of \.gguf"):
        open_checkpoint(tmp_path / "model.bin")


@pytest.mark.parametrize("kind", ["Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"])
def test_k_quants_become_the_halves_that_the_library_gives(make_gguf: Make, kind: str) -> None:
    quant = gguf.GGMLQuantizationType[kind]
    block_bytes = gguf.GGML_QUANT_SIZES[quant][1]
    raw = np.random.default_rng(2).integers(0, 60, (300, block_bytes), np.uint8)
    path = make_gguf("F16", skip=("output",), raw={"output.weight": (raw, quant)})
    checkpoint = GGUFCheckpoint(path)
    found = checkpoint.tensor("lm_head.weight")
    assert found.spec == checkpoint.specs["lm_head.weight"]
    assert (found.spec.storage, found.spec.shape) == ("fp16", (300, 256))
    wanted = gguf.dequantize(raw, quant).astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(found.float32(), wanted)
