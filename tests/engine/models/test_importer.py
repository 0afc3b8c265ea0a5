import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hone_engine.formats import FormatError, ModelDirectory, Quantized, TensorSpec
from hone_engine.models.importer import ImportOptions, import_model, plan

TINY = Path(__file__).parent / "golden" / "tiny" / "llama3"
Q_PROJ = "model.layers.0.self_attn.q_proj.weight"
EMBEDDING = "model.embed_tokens.weight"
SHAPE = (64, 576)


def spec(bits: int, *, group: int = 32, minimum: bool = False) -> TensorSpec:
    return TensorSpec(SHAPE, "quantized", bits, group, minimum)


@pytest.mark.parametrize(
    ("given", "options", "wanted"),
    [
        (spec(5), ImportOptions(), spec(5)),
        (spec(4, minimum=True), ImportOptions(4), spec(4, minimum=True)),
        (spec(4), ImportOptions(4), spec(4)),
        (spec(4), ImportOptions(4, group=64), spec(4, group=64, minimum=True)),
        (spec(5), ImportOptions(8), spec(8)),
        (spec(8), ImportOptions(4), spec(4, minimum=True)),
        (spec(8), ImportOptions(4, symmetric=True), spec(4)),
        (spec(4), ImportOptions(16), TensorSpec(SHAPE, "fp16")),
        (TensorSpec(SHAPE, "fp32"), ImportOptions(), TensorSpec(SHAPE, "fp32")),
        (TensorSpec(SHAPE, "fp32"), ImportOptions(16), TensorSpec(SHAPE, "fp16")),
        (TensorSpec(SHAPE, "bf16"), ImportOptions(16), TensorSpec(SHAPE, "bf16")),
        (TensorSpec(SHAPE, "bf16"), ImportOptions(8, group=64), spec(8, group=64)),
        (TensorSpec((576,), "fp32"), ImportOptions(4), TensorSpec((576,), "fp32")),
        (
            TensorSpec((8, 96), "fp16"),
            ImportOptions(8, group=64),
            TensorSpec((8, 96), "quantized", 8, 32),
        ),
        (TensorSpec((8, 40), "fp32"), ImportOptions(8), TensorSpec((8, 40), "fp16")),
    ],
)
def test_a_matrix_is_carried_over_or_brought_to_the_wanted_bits(
    given: TensorSpec, options: ImportOptions, wanted: TensorSpec
) -> None:
    assert plan(Q_PROJ, given, options) == wanted


def test_the_embedding_keeps_8_bits_unless_less_is_asked_for() -> None:
    given = TensorSpec(SHAPE, "fp16")
    assert plan(EMBEDDING, given, ImportOptions(4)) == spec(8)
    assert plan("lm_head.weight", given, ImportOptions(4)) == spec(8)
    assert plan(EMBEDDING, given, ImportOptions(4, head_bits=4)) == spec(4, minimum=True)
    assert plan(EMBEDDING, given, ImportOptions(4, head_bits=16)) == given


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((3,), "bits: got 3"), ((4, 128), "group: got 128"), ((4, 32, 5), "head_bits: got 5")],
)
def test_options_that_cannot_be_are_refused(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ImportOptions(*arguments)


@pytest.mark.parametrize("bits", [None, 4, 8, 16])
def test_an_imported_model_is_close_to_its_source(tmp_path: Path, bits: int | None) -> None:
    import_model(TINY, tmp_path / "out", ImportOptions(bits))
    source, found = ModelDirectory(TINY), ModelDirectory(tmp_path / "out")
    assert set(found.specs) == set(source.specs)
    bound = {4: 0.09, 8: 0.006}.get(bits or 16, 0.0)
    for name in source.specs:
        wanted, got = source.tensor(name).float32(), found.tensor(name).float32()
        assert np.linalg.norm(got - wanted) <= bound * np.linalg.norm(wanted), name
    assert isinstance(found.tensor(Q_PROJ), Quantized) is (bits in (4, 8))


def test_what_is_known_of_the_source_is_written_down(tmp_path: Path) -> None:
    import_model(TINY, tmp_path / "out", ImportOptions(8))
    facts = json.loads((tmp_path / "out" / "hone.json").read_text())
    assert facts == {
        "format": 1,
        "name": "llama3",
        "source": {"format": "huggingface"},
        "bits": 8.5,
    }


def test_an_import_can_be_imported_again(tmp_path: Path) -> None:
    import_model(TINY, tmp_path / "one", ImportOptions(8))
    import_model(tmp_path / "one", tmp_path / "two", ImportOptions(8))
    one, two = (tmp_path / name / "model.safetensors" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_a_model_that_lacks_a_tensor_leaves_nothing_behind(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(TINY, source)
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 9}))
    with pytest.raises(FormatError, match="is missing"):
        import_model(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
