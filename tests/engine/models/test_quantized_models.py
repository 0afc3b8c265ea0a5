"""Whole models in other programs' formats, beside plain ones of the same values.

Logits of the plain model by the references are the truth: the native kernels may differ from it by
what rounding activations to int8 costs, or by nothing where they hold 16 bits.
"""

import json
import logging
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from hone_engine.config import EngineConfig
from hone_engine.formats import FormatError, ModelDirectory
from hone_engine.kernels.cuda_kernels import ReferenceKernels
from hone_engine.kernels.cuda_native import why_no_cuda
from hone_engine.layers import WeightSource
from hone_engine.models import registry
from hone_engine.models.importer import ImportOptions, import_model
from hone_engine.runner import MemoryPlanError, loading
from hone_engine.runner.cuda_loading import Backend, weight_bytes
from hone_engine.runner.loading import make_cache, make_program, prepare

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))

from formats import load
from quantized_models import EMBEDDING, KINDS, make

HIDDEN, INNER, HEADS, KV_HEADS, HEAD_DIM, VOCAB, LAYERS = 128, 192, 4, 2, 32, 100, 2
CONFIG = EngineConfig(page_len=16, cache_tokens=64, kv_dtype="fp32")
TOKENS = np.arange(24, dtype=np.int32) * 7 % VOCAB


@pytest.fixture(scope="session")
def plain_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random llama in 16 bits; its 100 outputs are no multiple of EXL2's padding."""
    path = tmp_path_factory.mktemp("models") / "plain"
    path.mkdir()
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "vocab_size": VOCAB,
        "max_position_embeddings": 64,
        "tie_word_embeddings": True,
    }
    (path / "config.json").write_text(json.dumps(config))
    random = np.random.default_rng(11)
    shapes = registry.ARCHITECTURES["LlamaForCausalLM"].tensor_shapes(
        registry.config.parse(path, config)
    )
    tensors = {
        name: np.ones(shape) if len(shape) == 1 else random.standard_normal(shape) / shape[1] ** 0.5
        for name, shape in shapes.items()
    }
    save_file({n: t.astype(np.float16) for n, t in tensors.items()}, path / "model.safetensors")
    return path


@pytest.fixture(scope="session")
def made(plain_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    out = tmp_path_factory.mktemp("quantized")
    return {kind: make(plain_dir, out, kind) for kind in KINDS}


def logits(path: Path, kernels: str = "native") -> torch.Tensor:
    """Of every token of one text, (tokens, vocab)."""
    directory = ModelDirectory(path)
    parsed = registry.check(directory)
    model = registry.load(WeightSource(directory), parsed)
    config = EngineConfig(page_len=16, cache_tokens=64, kv_dtype="fp32", kernels=kernels)
    rows = len(TOKENS)
    program = make_program(config, max_rows=rows, max_seqs=1, max_pages=4, max_logit_rows=rows)
    model.record(program, make_cache(parsed, config))
    places = np.arange(rows, dtype=np.int32)
    found = program.run(
        TOKENS,
        places,
        np.zeros(rows, np.int32),
        np.arange(4, dtype=np.int32)[None],
        np.array([rows], np.int32),
        places,
    )
    return torch.from_numpy(np.array(found))


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_formats_reference(
    made: dict[str, tuple[Path, Path]], kind: str
) -> None:
    quantized, plain = made[kind]
    truth = logits(plain, "reference")
    # weights that only the format rounds to fp16; and minimums that are rounded instead of them
    bound = 1e-2 if kind in ("awq-4", "gptq-4-actorder", "gptq-8") else 4e-3
    torch.testing.assert_close(logits(quantized, "reference"), truth, rtol=0, atol=bound)
    torch.testing.assert_close(logits(quantized), truth, rtol=0, atol=0.12)


REASON = why_no_cuda()
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
BACKENDS = [
    pytest.param(Backend(torch.device("cpu"), ReferenceKernels()), id="by reference"),
    pytest.param(Backend(torch.device("cuda", 0)), marks=ON_GPU, id="gpu"),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpus_program_agrees_and_takes_no_more_than_planned(
    made: dict[str, tuple[Path, Path]], kind: str, backend: Backend
) -> None:
    quantized, plain = made[kind]
    config = EngineConfig(device="cuda", dtype="fp16", page_len=16, cache_tokens=64)
    directory = ModelDirectory(quantized)
    parsed = registry.check(directory)
    model = registry.load(backend.source(config)(directory), parsed)
    planned = weight_bytes(directory.specs, parsed, config)
    assert model.num_bytes <= planned
    rows = len(TOKENS)
    program = backend.program(config, rows, 1, 4, max_logit_rows=rows)
    model.record(program, backend.cache(parsed, config))
    places = np.arange(rows, dtype=np.int32)
    pages, one = np.arange(4, dtype=np.int32)[None], np.zeros(rows, np.int32)
    found = program.run(TOKENS, places, one, pages, np.array([rows], np.int32), places)
    truth = logits(plain, "reference")
    assert np.abs(found - truth.numpy()).max() < 2e-2 * float(truth.abs().max())


def test_the_plan_is_what_the_weights_take(made: dict[str, tuple[Path, Path]]) -> None:
    for quantized, _ in made.values():
        prepared = prepare(quantized, CONFIG)
        model = registry.load(WeightSource(prepared.directory), prepared.config)
        vectors = 4 * HIDDEN * (2 * LAYERS + 1)
        assert prepared.plan.weight_bytes == model.num_bytes + vectors, quantized.name


def test_weights_that_cannot_fit_are_refused_with_the_figures(
    made: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = prepare(made["exl2-mixed"][0], CONFIG).plan
    assert plan.peak_bytes == plan.weight_bytes + plan.passing_bytes > plan.total_bytes
    monkeypatch.setattr(loading, "available_bytes", lambda: plan.peak_bytes - 1)
    with pytest.raises(MemoryPlanError) as error:
        prepare(made["exl2-mixed"][0], CONFIG)
    for part in ("weights 0 MB", "cache 0 MB", "workspace ", "and for a while to read them 17 MB"):
        assert part in str(error.value)


def test_loading_takes_no_more_memory_than_planned(plain_dir: Path, tmp_path: Path) -> None:
    """A head of 32,768 outputs, in a process of its own; 10 MB are the allocator's."""
    config = json.loads((plain_dir / "config.json").read_text())
    tensors = load_file(plain_dir / "model.safetensors")
    random = np.random.default_rng(3)
    table = random.standard_normal((1 << 15, HIDDEN), np.float32).astype(np.float16)
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "config.json").write_text(json.dumps(config | {"vocab_size": len(table)}))
    save_file(tensors | {EMBEDDING: table}, tmp_path / "large" / "model.safetensors")
    found = load(make(tmp_path / "large", tmp_path, "exl2-4.1")[0])
    assert found["planned_bytes"] > 12e6
    assert found["peak_bytes"] < found["planned_peak_bytes"] + 10e6


@pytest.mark.parametrize("kind", ["exl2-mixed", "gptq-4-actorder", "awq-4"])
def test_an_import_carries_the_format_over(
    made: dict[str, tuple[Path, Path]], tmp_path: Path, kind: str
) -> None:
    quantized, _ = made[kind]
    import_model(quantized, tmp_path / "imported")
    assert torch.equal(logits(tmp_path / "imported"), logits(quantized))
    stored: dict[str, np.ndarray] = {}
    for file in quantized.glob("*.safetensors"):
        stored |= load_file(file)
    found = load_file(tmp_path / "imported" / "model.safetensors")
    assert found.keys() == stored.keys()
    assert all(np.array_equal(found[name], stored[name]) for name in stored)
    facts = json.loads((tmp_path / "imported" / "hone.json").read_text())
    assert facts["source"]["format"] == kind.split("-")[0]


@pytest.mark.parametrize("kind", ["exl2-mixed", "gptq-4-actorder", "awq-4"])
def test_an_import_to_16_bits_is_the_plain_model(
    made: dict[str, tuple[Path, Path]], tmp_path: Path, kind: str
) -> None:
    quantized, plain = made[kind]
    import_model(quantized, tmp_path / "imported", ImportOptions(16))
    assert torch.equal(logits(tmp_path / "imported"), logits(plain))
    assert "quantization_config" not in json.loads(
        (tmp_path / "imported" / "config.json").read_text()
    )


def test_an_import_to_other_bits_rounds_the_values(
    made: dict[str, tuple[Path, Path]], tmp_path: Path
) -> None:
    quantized, plain = made["gptq-8"]
    import_model(quantized, tmp_path / "imported", ImportOptions(8))
    specs = ModelDirectory(tmp_path / "imported").specs
    assert specs["model.layers.0.mlp.up_proj.weight"].storage == "quantized"
    torch.testing.assert_close(
        logits(tmp_path / "imported"), logits(plain, "reference"), rtol=0, atol=0.15
    )


def test_what_is_widened_is_said_once(
    made: dict[str, tuple[Path, Path]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        logits(made["gptq-4-own-orders"][0])
    (record,) = caplog.records
    assert "quantized matrices (model.layers.0.self_attn.q_proj.weight, ...) run from 16-bit" in (
        record.getMessage()
    )
    assert "orders of the same input" in record.getMessage()
    caplog.clear()
    logits(made["exl2-mixed"][0])
    assert not caplog.records


def test_a_shard_that_is_corrupt_or_gone_is_named(
    made: dict[str, tuple[Path, Path]], tmp_path: Path
) -> None:
    path = tmp_path / "model"
    shutil.copytree(made["gptq-4-sym"][0], path)
    last = path / "model-00002-of-00002.safetensors"
    content = last.read_bytes()
    last.write_bytes(content[: len(content) // 2])
    with pytest.raises(
        FormatError, match=r"model-00002-of-00002\.safetensors: tensor .* cut short"
    ):
        prepare(path, CONFIG)
    last.write_bytes(b"\xff" * 64)
    with pytest.raises(FormatError, match=r"model-00002-of-00002\.safetensors: the header is said"):
        prepare(path, CONFIG)
    last.unlink()
    with pytest.raises(FormatError, match=r"tensor .* is missing"):
        prepare(path, CONFIG)


def test_codes_are_widened_only_where_that_fits(
    made: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = ModelDirectory(made["exl2-mixed"][0])
    parsed = registry.check(directory)
    config = EngineConfig(device="cuda", dtype="fp16", page_len=16, cache_tokens=64)
    backend = Backend(torch.device("cpu"), ReferenceKernels())
    wide, widened = backend.plan(directory, parsed, config)
    kept, _ = backend.plan(directory, parsed, replace(config, keep_widths=True))
    assert not widened.keep_widths
    assert kept.total_bytes < wide.total_bytes
    for free, keeps in ((wide.total_bytes, False), (wide.total_bytes - 1, True)):
        monkeypatch.setattr(Backend, "free_bytes", lambda _, free=free: free)
        plan, chosen = backend.plan(directory, parsed, config)
        assert (chosen.keep_widths, plan) == (keeps, kept if keeps else wide)
