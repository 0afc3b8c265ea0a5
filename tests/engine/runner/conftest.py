"""A tiny random model with a tokenizer of single characters."""

import json
import shutil
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

TINY = Path(__file__).parents[1] / "models" / "golden" / "tiny"
VOCAB_LEN = 64


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny"
    shutil.copytree(TINY / "llama3", path)
    vocabulary = {chr(64 + index): index for index in range(VOCAB_LEN)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="@"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.save(str(path / "tokenizer.json"))
    (path / "generation_config.json").write_text(json.dumps({"eos_token_id": [63]}))
    return path
