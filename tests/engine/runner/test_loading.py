import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hone_engine import runner
from hone_engine.config import EngineConfig
from hone_engine.formats import FormatError, Progress
from hone_engine.runner import MemoryPlan, MemoryPlanError, perplexity
from hone_engine.runner.loading import load_weights, prepare
from hone_engine.runner.memory import available_bytes

CONFIG = EngineConfig(page_len=16, cache_tokens=128, max_batch=4, max_step_tokens=32)
GOLDEN = Path(__file__).parents[1] / "models" / "golden" / "tiny"


def test_a_loaded_model_says_what_it_is(tiny: Path) -> None:
    seen: list[Progress] = []
    model = runner.load(tiny, CONFIG, on_progress=seen.append)
    assert model.name == "tiny"
    assert model.eos_token_ids == (63,)
    assert model.runner.vocab_size == 64
    assert (model.runner.num_pages, model.runner.page_len) == (8, 16)
    assert model.device.startswith("cpu, ")
    assert seen[-1].num_bytes == seen[-1].total_bytes
    model.close()


@pytest.mark.parametrize(
    ("changes", "context_len"),
    [
        ({}, 128),  # the cache is smaller than the model's 256
        ({"cache_tokens": 1024}, 256),
        ({"cache_tokens": 1024, "context_len": 100}, 100),
        ({"cache_tokens": 1024, "context_len": 1000}, 256),
    ],
)
def test_the_context_is_the_least_of_model_cache_and_setting(
    tiny: Path, changes: dict[str, int], context_len: int
) -> None:
    assert prepare(tiny, replace(CONFIG, **changes)).context_len == context_len


def test_a_name_can_be_given(tiny: Path) -> None:
    model = runner.load(tiny, replace(CONFIG, name="my-model"))
    assert model.name == "my-model"
    model.close()


def test_a_cache_beyond_all_memory_is_refused_with_the_figures(tiny: Path) -> None:
    with pytest.raises(MemoryPlanError) as error:
        prepare(tiny, replace(CONFIG, cache_tokens=10**12))
    assert "the model needs 256,000,000 MB" in str(error.value)
    assert "cache 256,000,000 MB" in str(error.value)
    assert "of memory is free" in str(error.value)


def test_a_plan_that_fits_is_not_refused() -> None:
    plan = MemoryPlan(weight_bytes=60, cache_bytes=30, workspace_bytes=10)
    plan.check(100)
    with pytest.raises(MemoryPlanError):
        plan.check(99)


def test_the_memory_that_is_free_is_known() -> None:
    assert 10**6 < available_bytes() < 10**15


def test_the_plan_counts_what_is_packed(tiny: Path) -> None:
    prepared = prepare(tiny, CONFIG)
    vectors = [s.shape[0] for s in prepared.directory.specs.values() if len(s.shape) == 1]
    packed = load_weights(prepared).num_bytes
    assert prepared.plan.weight_bytes == packed + 4 * sum(vectors)
    assert prepared.plan.cache_bytes == 128 * 2 * 2 * 2 * 16 * 2


def test_a_file_is_told_from_a_model_directory(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(FormatError, match=r"x\.gguf: is a file; import it first"):
        prepare(tmp_path / "x.gguf", CONFIG)
    with pytest.raises(FormatError, match="is not there; wanted a model directory"):
        prepare(tmp_path / "nothing", CONFIG)


def test_a_page_that_the_kernels_cannot_take_is_refused(tiny: Path) -> None:
    with pytest.raises(ValueError, match="page_len is 24; wanted a power of two, 16 or more"):
        prepare(tiny, replace(CONFIG, page_len=24))


@pytest.mark.parametrize("kv_dtype", ["q8", "q4"])
def test_a_cache_that_the_device_cannot_keep_is_refused(tiny: Path, kv_dtype: str) -> None:
    with pytest.raises(
        ValueError, match=f"kv_dtype is {kv_dtype}; on device cpu wanted fp16, fp32"
    ):
        prepare(tiny, replace(CONFIG, kv_dtype=kv_dtype, device="cpu"))


def test_weights_cut_short_are_refused_before_they_are_read(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "cut")
    file = tmp_path / "cut" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(FormatError, match=r"model\.safetensors: tensor .* cut short"):
        runner.load(tmp_path / "cut", CONFIG)


def test_perplexity_is_the_mean_over_windows(tiny: Path) -> None:
    golden = np.load(GOLDEN / "llama3" / "golden.npz")
    texts, logits = torch.from_numpy(golden["tokens"]).long(), torch.from_numpy(golden["logits"])
    losses = [
        torch.nn.functional.cross_entropy(row[:-1], text[1:], reduction="none")
        for row, text in zip(logits, texts, strict=True)
    ]
    wanted = float(torch.cat(losses).double().mean())
    prepared = prepare(tiny, CONFIG)
    seen: list[tuple[int, int]] = []
    found = perplexity(
        prepared,
        texts.reshape(-1).tolist(),
        CONFIG,
        window_len=24,
        on_window=lambda done, total, _: seen.append((done, total)),
    )
    assert found.nll == pytest.approx(wanted, abs=1e-3)
    assert found.num_scored == 3 * 23
    assert seen == [(24, 72), (48, 72), (72, 72)]


def test_perplexity_of_a_single_token_is_refused(tiny: Path) -> None:
    with pytest.raises(ValueError, match="tokens: got 1, wanted at least 2"):
        perplexity(prepare(tiny, CONFIG), [1], CONFIG)
