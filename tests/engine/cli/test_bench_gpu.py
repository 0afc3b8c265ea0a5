"""The table of `bench` on a GPU, whose times are made up: what is measured, what is said of it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hone_engine.cli import benching, benching_gpu, main
from hone_engine.config import EngineConfig
from hone_engine.kernels.cuda_kernels import ReferenceKernels
from hone_engine.models.shapes import SHAPES
from hone_engine.runner import cuda_bench, cuda_loading, synthetic
from hone_engine.runner.cuda_bench import Decoded, StageTime

SHAPE = replace(
    SHAPES["llama-1b"], hidden_size=256, inner_size=512, num_layers=2, num_heads=4, num_kv_heads=2,
    vocab_size=1000, max_len=2048,
)  # fmt: skip
TIMES = [StageTime("linear", 9, 4e-4), StageTime("attention", 2, 1e-4), StageTime("norm", 5, 1e-5)]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor in the place of a GPU, its times made up."""
    backend = cuda_loading.Backend(torch.device("cpu"), ReferenceKernels())
    monkeypatch.setattr(cuda_loading, "backend", backend)
    monkeypatch.setitem(SHAPES, "tiny", SHAPE)
    monkeypatch.setattr(cuda_bench, "roof", lambda _: (1e12, 1e14))
    monkeypatch.setattr(cuda_bench, "decode", lambda *_: Decoded(6e-4, 2e-4))
    monkeypatch.setattr(cuda_bench, "prefill_s", lambda *_: 0.05)
    monkeypatch.setattr(cuda_bench, "stage_times", lambda *_: TIMES)
    monkeypatch.setattr(cuda_bench, "prompt_stage_times", lambda *_: TIMES)
    config = EngineConfig(page_len=256, max_batch=4, max_step_tokens=64)
    monkeypatch.setattr(benching, "EngineConfig", lambda **more: replace(config, **more))


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("bits", ["4.0", "exl2-3.5", "16"])
def test_a_synthetic_model_is_measured_by_batch_and_context(
    bits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benching_gpu, "CONTEXT", 512)
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "--synthetic", f"tiny:{bits}", "--json", "f.json"]) == 0
    found = json.loads((tmp_path / "f.json").read_text())
    places = [(f["streams"], f["context"]) for f in found["figures"]]
    assert places == [(1, 128), (1, 4096), (16, 128), (64, 128), (64, 4096), (0, 2048), (0, 8192)]
    first = found["figures"][0]
    assert first["value"] == pytest.approx(1 / 6e-4, rel=1e-3)
    assert [stage["name"] for stage in first["stages"]] == ["linear", "attention", "norm"]
    assert (tmp_path / f"bench-tiny-{bits}.html").exists()


@pytest.mark.usefixtures("gpu")
def test_a_model_that_cannot_fit_is_refused_with_its_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cuda_loading.Backend, "free_bytes", lambda _: 1 << 29)
    assert main(["bench", "--synthetic", "tiny:4.0"]) == 1
    assert "the model needs" in capsys.readouterr().err


@pytest.mark.usefixtures("gpu")
def test_the_embedding_goes_to_the_host_where_only_that_makes_it_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = EngineConfig(page_len=256, max_batch=4, max_step_tokens=64)
    sizes = [
        synthetic.synthetic_plan(
            SHAPE, 4, replace(config, device="cuda", cache_tokens=512, host_embedding=host)
        ).total_bytes
        for host in (False, True)
    ]
    assert sizes[0] - sizes[1] == 2 * SHAPE.vocab_size * SHAPE.hidden_size
    seen: list[bool] = []
    make = synthetic.SyntheticSource

    def source(*args: object, host_embedding: bool, **more: object) -> object:
        seen.append(host_embedding)
        return make(*args, host_embedding=host_embedding, **more)

    monkeypatch.setattr(synthetic, "SyntheticSource", source)
    monkeypatch.setattr(cuda_loading.Backend, "free_bytes", lambda _: sizes[1] + 1)
    synthetic.load_synthetic("tiny:4.0", config, cache_tokens=512, context_len=512)
    assert seen[-1]
