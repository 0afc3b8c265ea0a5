"""Small models through the program of a GPU: with its kernels there, by reference anywhere."""

from pathlib import Path

import numpy as np
import pytest
import torch

from hone_engine.config import EngineConfig
from hone_engine.formats import ModelDirectory
from hone_engine.kernels.cuda_kernels import ReferenceKernels
from hone_engine.kernels.cuda_native import why_no_cuda
from hone_engine.models import registry
from hone_engine.runner.cuda_loading import Backend

GOLDEN = Path(__file__).parent / "golden" / "tiny"
REASON = why_no_cuda()
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
BACKENDS = [
    pytest.param(Backend(torch.device("cpu"), ReferenceKernels()), id="by reference"),
    pytest.param(Backend(torch.device("cuda", 0)), marks=ON_GPU, id="gpu"),
]


def logits_of(path: Path, texts: np.ndarray, backend: Backend, chunk_len: int) -> torch.Tensor:
    """Logits after every token of equally long texts, computed `chunk_len` tokens a step."""
    config = EngineConfig(device="cuda", dtype="fp16", page_len=16, cache_tokens=512)
    directory = ModelDirectory(path)
    parsed = registry.check(directory)
    model = registry.load(backend.source(config)(directory), parsed)
    num_texts, text_len = texts.shape
    program = backend.program(config, 96, num_texts, 4, max_logit_rows=96)
    model.record(program, backend.cache(parsed, config))
    pages = np.arange(num_texts * 4, dtype=np.int32).reshape(num_texts, 4)[:, ::-1].copy()
    found = torch.zeros(num_texts, text_len, parsed.vocab_size)
    for start in range(0, text_len, chunk_len):
        stop = min(start + chunk_len, text_len)
        length = stop - start
        logits = program.run(
            texts[:, start:stop].reshape(-1).astype(np.int32),
            np.tile(np.arange(start, stop, dtype=np.int32), num_texts),
            np.repeat(np.arange(num_texts, dtype=np.int32), length),
            pages,
            np.full(num_texts, stop, np.int32),
            np.arange(num_texts * length, dtype=np.int32),
        )
        found[:, start:stop] = torch.from_numpy(logits).view(num_texts, length, -1)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("chunk_len", [24, 5, 1])
@pytest.mark.parametrize("variant", ["llama3", "yarn", "mistral", "qwen2"])
def test_logits_are_those_of_transformers(variant: str, chunk_len: int, backend: Backend) -> None:
    """Within what activations in fp16 allow."""
    golden = np.load(GOLDEN / variant / "golden.npz")
    found = logits_of(GOLDEN / variant, golden["tokens"], backend, chunk_len)
    wanted = torch.from_numpy(golden["logits"])
    error = (found - wanted).abs().max() / wanted.abs().max()
    assert error < 4e-3, error
