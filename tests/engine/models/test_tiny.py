import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from hone_engine.config import EngineConfig
from hone_engine.formats import FormatError, ModelDirectory
from hone_engine.layers import WeightSource
from hone_engine.models import registry
from hone_engine.runner.loading import make_cache, make_program

GOLDEN = Path(__file__).parent / "golden" / "tiny"
VARIANTS = ["llama3", "yarn", "mistral", "qwen2"]


def logits_of(path: Path, texts: np.ndarray, kernels: str, chunk_len: int) -> torch.Tensor:
    """Logits after every token of equally long texts, computed `chunk_len` tokens a step."""
    directory = ModelDirectory(path)
    parsed = registry.check(directory)
    model = registry.load(WeightSource(directory), parsed)
    num_texts, text_len = texts.shape
    config = EngineConfig(kernels=kernels, page_len=16, cache_tokens=512, kv_dtype="fp32")
    program = make_program(config, max_rows=96, max_seqs=num_texts, max_pages=4, max_logit_rows=96)
    model.record(program, make_cache(parsed, config))
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


@pytest.mark.parametrize("kernels", ["native", "reference"])
@pytest.mark.parametrize("chunk_len", [24, 5, 1])
@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_are_those_of_transformers(variant: str, chunk_len: int, kernels: str) -> None:
    golden = np.load(GOLDEN / variant / "golden.npz")
    found = logits_of(GOLDEN / variant, golden["tokens"], kernels, chunk_len)
    torch.testing.assert_close(found, torch.from_numpy(golden["logits"]), rtol=2e-3, atol=2e-3)


def edited(tmp_path: Path, **changes: object) -> Path:
    shutil.copytree(GOLDEN / "llama3", tmp_path / "model")
    file = tmp_path / "model" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return tmp_path / "model"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"architectures": ["GPT2LMHeadModel"]},
            "the architecture is 'GPT2LMHeadModel'; Hone runs",
        ),
        ({"architectures": []}, "architectures is []"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'; wanted 'silu'"),
        ({"num_hidden_layers": 3}, "tensor model.layers.2.input_layernorm.weight [32] is missing"),
        ({"intermediate_size": 96}, "has shape [64, 32], wanted [96, 32]"),
        ({"num_hidden_layers": "two"}, "num_hidden_layers is 'two'; wanted a whole number above 0"),
        ({"num_key_value_heads": 3}, "num_key_value_heads is 3; wanted a divisor"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        (
            {"quantization_config": {"quant_method": "gptq"}},
            "is quantized as 'gptq', but no tensor *.q_weight or *.qweight is there",
        ),
        (
            {"quantization_config": {"quant_method": "aqlm"}},
            "is quantized as 'aqlm', which Hone does not read; wanted one of exl2, gptq, awq",
        ),
    ],
)
def test_a_config_that_does_not_fit_is_refused_by_name(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    path = edited(tmp_path, **changes)
    with pytest.raises(FormatError) as error:
        registry.check(ModelDirectory(path))
    assert message in str(error.value)
    assert str(path) in str(error.value)
