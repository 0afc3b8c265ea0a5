"""How the processes are started, here and in docker-compose.yml."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from hone.supervisor import model, services
from hone.supervisor.datadir import DataDir, data_dir_open
from hone.supervisor.errors import StartError
from hone.supervisor.services import Address

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def environment(data: DataDir, host: str = "127.0.0.1", **outer: str) -> dict[str, str]:
    return services.environment_make(
        data=data,
        address=Address(host, 8000),
        database_url="postgresql://d",
        redis_url="unix:///r",
        secret_key="s",
        outer=outer,
    )


def argv_of(service: str) -> list[str]:
    command: Any = COMPOSE["services"][service]["command"]
    return shlex.split(command) if isinstance(command, str) else list(command)


def test_compose_starts_what_the_supervisor_starts() -> None:
    assert argv_of("web") == list(services.web_argv("0.0.0.0", 8000))
    assert argv_of("worker") == list(services.worker_argv())
    assert argv_of("gpu-worker") == list(services.gpu_worker_argv())
    assert argv_of("setup") == list(services.setup_argv())


def test_compose_has_the_five_and_the_set_up_that_they_wait_for() -> None:
    names = {"web", "worker", "gpu-worker", "postgres", "redis", "setup"}
    assert set(COMPOSE["services"]) == names
    for name in ("web", "worker", "gpu-worker"):
        waits = COMPOSE["services"][name]["depends_on"]
        assert waits["setup"] == {"condition": "service_completed_successfully"}


def test_compose_gives_every_process_the_same_stores_and_secret() -> None:
    wanted = {"DATABASE_URL", "REDIS_URL", "HONE_SERVER_SECRET"}
    for name in ("web", "worker", "gpu-worker", "setup"):
        assert wanted <= COMPOSE["services"][name]["environment"].keys()


def test_compose_holds_no_secret() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    assert "${HONE_SERVER_SECRET:?" in text
    assert "${POSTGRES_PASSWORD:?" in text


def test_the_engines_ready_line_is_the_one_it_writes() -> None:
    source = (ROOT / "platform/hone/gateway/local_engine.py").read_text()
    assert "engine answers at " in source


def test_children_import_the_same_sources(tmp_path: Path) -> None:
    env = environment(data_dir_open(tmp_path), PYTHONPATH="/own")
    assert env["PYTHONPATH"].split(":")[-1] == "/own"
    assert str(ROOT / "platform") in env["PYTHONPATH"]


def test_the_settings_are_always_those_of_an_installation(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path)
    env = environment(data, DJANGO_SETTINGS_MODULE="hone.config.settings.test")
    assert env["DJANGO_SETTINGS_MODULE"] == "hone.config.settings.prod"
    assert env["HONE_DATA_DIR"] == str(data.root)


def test_the_inner_network_may_be_called_from_a_loopback_installation_only(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path)
    assert environment(data)["HONE_ALLOW_PRIVATE_CONNECTIONS"] == "1"
    assert environment(data, host="0.0.0.0")["HONE_ALLOW_PRIVATE_CONNECTIONS"] == "0"
    forced = environment(data, host="0.0.0.0", HONE_ALLOW_PRIVATE_CONNECTIONS="1")
    assert forced["HONE_ALLOW_PRIVATE_CONNECTIONS"] == "1"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("10.0.0.5", "http://10.0.0.5:8000"),
    ],
)
def test_the_printed_address_can_be_opened(host: str, url: str) -> None:
    assert Address(host, 8000).url == url


# Which model --------------------------------------------------------------------------------


def model_folder(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")
    return path


def test_a_folder_is_hosted_as_it_is_and_remembered(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path / "d")
    folder = model_folder(tmp_path / "small")
    assert model.model_plan(data, str(folder)) == model.ModelPlan(folder, None)
    assert model.model_plan(data, None) == model.ModelPlan(folder, None)


def test_a_gguf_file_is_imported_once(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path / "d")
    file = tmp_path / "My model.Q4_1.gguf"
    file.write_text("")
    plan = model.model_plan(data, str(file))
    assert plan == model.ModelPlan(data.models / "My-model.Q4_1", file)
    assert plan is not None
    command = model.import_command(plan, {})
    assert command.argv[1:5] == ("-m", "hone_engine", "import", str(file))
    model_folder(model.unfinished(plan))
    model.import_finish(plan)
    assert model.model_plan(data, str(file)) == model.ModelPlan(plan.folder, None)


def test_a_model_that_is_not_there_is_told(tmp_path: Path) -> None:
    data = data_dir_open(tmp_path / "d")
    with pytest.raises(StartError, match="There is no model"):
        model.model_plan(data, str(tmp_path / "x.gguf"))
    with pytest.raises(StartError, match=r"config\.json"):
        model.model_plan(data, str(tmp_path))


def test_without_any_model_hone_starts_without_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "demo_model", lambda: None)
    assert model.model_plan(data_dir_open(tmp_path), None) is None


def test_without_the_engines_packages_hone_starts_without_an_engine_or_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "HOSTING_MODULES", ("a_module_nobody_has",))
    data = data_dir_open(tmp_path / "d")
    assert model.model_plan(data, None) is None
    assert "pip install 'hone-llm[engine]'" in model.advice()
    with pytest.raises(StartError, match="pip install"):
        model.model_plan(data, str(model_folder(tmp_path / "small")))
