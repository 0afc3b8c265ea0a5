"""Unmodified Langfuse SDKs of every generation, from the registries, against the running product.

Each drives tracing, prompts, scores, datasets and reads in an environment of its own; what it then
reads through its own API is compared, and what arrived is read back through ours.
"""

import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SCRIPTS = {
    "python-2.60.10": "python_2.py",
    "python-3.15.0": "python_3_to_5.py",
    "python-4.18.0": "python_3_to_5.py",
    "python-5.0.4": "python_3_to_5.py",
    "js-3.39.2": "drive.mjs",
    "js-5.11.1": "drive.mjs",
}
OTEL = ["python-3.15.0", "python-4.18.0", "python-5.0.4"]
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def run(command: list[object], **more: Any) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    return done.stdout.strip()


def prepared(name: str) -> list[object]:
    """The command that drives an SDK; its environment is made where it is missing."""
    scripts = ROOT / "scripts"
    if name.startswith("python"):
        pins = HERE / f"{name}.txt"
        python = run([sys.executable, scripts / "client_env.py", pins]).splitlines()[-1]
        return [python, HERE / SCRIPTS[name]]
    folder = run([sys.executable, scripts / "client_node.py", HERE / name]).splitlines()[-1]
    return ["node", Path(folder) / SCRIPTS[name]]


@pytest.fixture(scope="module")
def said(hone_server: Any) -> dict[str, Any]:
    """What each SDK saw, by its name; two run at once."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {
        **{k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        "PATH": path,
        "LANGFUSE_PUBLIC_KEY": hone_server.public_key,
        "LANGFUSE_SECRET_KEY": hone_server.secret_key,
        "LANGFUSE_HOST": hone_server.url,
        "LANGFUSE_BASE_URL": hone_server.url,
        "LANGFUSE_BASEURL": hone_server.url,
        "LANGFUSE_TIMEOUT": "30",
    }

    def driven(name: str) -> Any:
        lines = run([*prepared(name), name], env=environment, timeout=240).splitlines()
        return json.loads(lines[-1])

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(SCRIPTS, pool.map(driven, SCRIPTS), strict=True))


@pytest.fixture
def public(hone_server: Any) -> Callable[..., Any]:
    """`public("traces/ID")`: the JSON of a public read."""

    def read(path: str) -> Any:
        status, body = hone_server.get(f"/api/public/{path}")
        assert status == 200, (path, body)
        return body

    return read


@pytest.mark.parametrize("name", OTEL)
def test_prompts_of_python(said: dict[str, Any], name: str) -> None:
    assert said[name]["auth"] is True
    assert said[name]["prompts"] == {
        "served": [1, "Rate Dune.", {"temperature": 0.2}, ["t"]],
        "staging": "Rate v2 {{movie}}.",
        "version": "Rate {{movie}}.",
        "latest": ["latest", "prod-b", "staging"],
        "chat": [
            {"role": "system", "content": "You are a clerk"},
            {"role": "user", "content": "hi"},
            {"role": "user", "content": "?"},
        ],
        "fallback": [True, "local y"],
    }


@pytest.mark.parametrize("name", OTEL)
def test_a_decorated_call(said: dict[str, Any], public: Any, hone_server: Any, name: str) -> None:
    seen = said[name]["tracing"]
    assert seen["url"] == f"{hone_server.url}/project/demo/traces/{seen['trace_id']}"
    trace = public(f"traces/{seen['trace_id']}")
    assert (trace["name"], trace["userId"]) == (f"{name}-trace", f"{name}-user")
    assert (trace["sessionId"], trace["tags"]) == (f"{name}-session", ["a", "b"])
    assert (trace["environment"], trace["release"], trace["version"]) == ("staging", "v1.2.3", "9")
    by_name = {o["name"]: o for o in trace["observations"]}
    assert by_name.keys() == {"root", "search", "answer", "broken"}
    answer = by_name["answer"]
    assert (answer["type"], answer["model"], answer["output"]) == ("GENERATION", "gpt-4o-mini", 42)
    assert answer["usageDetails"] == {"input": 11, "output": 3, "total": 14}
    assert answer["costDetails"]["total"] == pytest.approx(11 * 0.15e-6 + 3 * 0.6e-6)
    assert (answer["promptName"], answer["promptVersion"]) == (f"{name}/movie critic", 1)
    kept = answer["metadata"]
    assert (kept["word"], int(kept["n"]), kept["tier"]) == ("v", 3, "gold")
    assert (by_name["search"]["type"], by_name["search"]["output"]) == ("TOOL", ["doc1", "doc2"])
    assert (by_name["broken"]["level"], by_name["broken"]["statusMessage"]) == ("ERROR", "boom")
    assert by_name["root"]["parentObservationId"] is None
    assert answer["parentObservationId"] == by_name["root"]["id"]
    assert "@@@langfuseMedia:type=image/png" in json.dumps(by_name["root"]["metadata"])
    scores = {score["name"]: score for score in trace["scores"]}
    assert scores["relevance"]["observationId"] == by_name["root"]["id"]
    assert (scores["relevance"]["value"], scores["relevance"]["comment"]) == (0.9, "good")
    assert (scores["helpful"]["stringValue"], scores["tone"]["stringValue"]) == ("True", "calm")


@pytest.mark.parametrize("name", OTEL)
def test_observations_of_every_type(said: dict[str, Any], public: Any, name: str) -> None:
    seen = said[name]["manual"]
    found = public(f"v2/observations?traceId={seen['trace_id']}&fields=core,basic,io&limit=50")
    types = {o["name"]: o["type"] for o in found["data"]}
    root = types.pop(f"{name}-manual")
    assert root == "SPAN"
    assert sorted(types.values()) == sorted(kind.upper() for kind in seen["types"])
    [made] = [o for o in found["data"] if o["name"] == f"{name}-manual"]
    assert (made["output"], made["level"], made["statusMessage"]) == (
        "manual out",
        "WARNING",
        "careful",
    )
    assert made["isRootObservation"] is True


@pytest.mark.parametrize("name", [*OTEL, "js-5.11.1"])
def test_an_experiment(said: dict[str, Any], public: Any, name: str) -> None:
    seen = said[name]["experiment"]
    assert (seen["items"], seen["outputs"], seen["scores"]) == (2, ["A", "B"], [1, 1])
    found = public("experiments?fromStartTime=2020-01-01T00:00:00Z&limit=100")["data"]
    [run] = [e for e in found if e["name"] == f"{name} run"]
    assert run["itemCount"] == 2
    for trace_id in seen["traces"][1:]:  # Python deletes the first afterwards
        assert "right" in {score["name"] for score in public(f"traces/{trace_id}")["scores"]}


@pytest.mark.parametrize("name", OTEL)
def test_reads_through_the_sdks_own_types(said: dict[str, Any], name: str) -> None:
    seen = dict(said[name]["reads"])
    assert seen.pop("pages") == [2, 2]
    assert seen.pop("scores") == ["helpful", "relevance", "tone"]
    assert seen.pop("tokens") == {"GENERATION": 14, "SPAN": None, "TOOL": None}
    assert seen.pop("prompts") == [f"{name}/chat"]
    assert (seen.pop("models"), seen.pop("health")) == (0, "OK")
    if name.startswith("python-5"):  # it has no other reads
        assert seen == {}
        return
    assert seen == {
        "trace": [f"{name}-trace", f"{name}-user", 4, 3],
        "listed": [f"{name}-trace"],
        "session": [f"{name}-session", 1],
        "v1": [["answer", 14, "gpt-4o-mini"]],
    }


@pytest.mark.parametrize("name", OTEL)
def test_an_image_comes_back_as_it_was(said: dict[str, Any], name: str) -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"hone"
    assert said[name]["picture"] == f"data:image/png;base64,{b64encode(png).decode()}"


@pytest.mark.parametrize("name", OTEL)
def test_a_deleted_trace_is_gone(said: dict[str, Any], hone_server: Any, name: str) -> None:
    assert said[name]["deletion"] == "Trace deleted"
    trace_id = said[name]["experiment"]["traces"][0]
    assert hone_server.get(f"/api/public/traces/{trace_id}")[0] == 404


def test_python_2(said: dict[str, Any]) -> None:
    name = "python-2.60.10"
    seen = said[name]
    assert seen["auth"] is True
    assert seen["prompts"] == {"served": [1, "Hi you", {"a": 1}], "fallback": [True, "local"]}
    reads, ids = seen["reads"], seen["tracing"]
    assert reads["trace"] == [ids["trace_id"], f"{name}-trace", "in", "out", ["a", "b"], True]
    assert reads["parents"] == {"sp": None, "g": ids["span_id"], "e": ids["span_id"]}
    assert [pair[0] for pair in reads["scores"]] == ["helpful", "tone"]
    assert reads["traces"] == [f"{name}-decorated", f"{name}-trace"]
    assert reads["observations"] == ["e", "g", "sp"]
    assert reads["generation"] == ["gpt-4o-mini", "o", 14]
    assert reads["cost"] == pytest.approx(11 * 0.15e-6 + 3 * 0.6e-6)
    assert f"{name}-session" in reads["sessions"]
    assert seen["dataset"]["items"] == [[{"q": 1}, 2]]


def test_the_old_javascript(said: dict[str, Any]) -> None:
    name = "js-3.39.2"
    seen = said[name]
    assert seen["prompts"] == {"served": [1, "Hi you"], "fallback": [True, "local"]}
    reads, ids = seen["reads"], seen["tracing"]
    assert reads["trace"] == [ids["traceId"], f"{name}-trace", "in", "out", ["a", "b"]]
    assert reads["parents"] == {"sp": None, "g": ids["spanId"], "e": ids["spanId"]}
    assert reads["scores"] == [["helpful", "True"], ["tone", "calm"]]
    assert reads["traces"] == [f"{name}-trace"]
    assert seen["page"] == [[1, "from a page"]]
    assert seen["dataset"]["items"] == [[{"q": 1}, 2]]


def test_the_new_javascript(said: dict[str, Any], public: Any, hone_server: Any) -> None:
    name = "js-5.11.1"
    seen = said[name]
    assert seen["prompts"] == {
        "served": [1, "Hi you", {"a": 1}, ["b", "latest", "production"]],
        "chat": [
            {"role": "system", "content": "You are a clerk"},
            {"role": "user", "content": "hi"},
        ],
        "fallback": [True, "local"],
    }
    assert seen["url"] == f"{hone_server.url}/project/demo/traces/{seen['traceId']}"
    trace = public(f"traces/{seen['traceId']}")
    assert (trace["name"], trace["userId"]) == (f"{name}-trace", f"{name}-user")
    by_name = {o["name"]: o for o in trace["observations"]}
    assert by_name.keys() == {f"{name}-root", "gen", "look"}
    assert by_name["gen"]["usageDetails"] == {"input": 11, "output": 3, "total": 14}
    assert by_name["gen"]["promptName"] == f"{name}/p js"
    assert (by_name["look"]["type"], by_name["look"]["level"]) == ("TOOL", "ERROR")
    assert {score["name"] for score in trace["scores"]} == {"helpful", "tone"}


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_our_own_api_shows_the_same(said: dict[str, Any], hone_server: Any, name: str) -> None:
    status, found = hone_server.get(f"/api/projects/demo/traces?user={name}-user")
    assert status == 200
    assert f"{name}-trace" in {row["name"] for row in found["data"]}
    [row] = [row for row in found["data"] if row["name"] == f"{name}-trace"]
    assert (row["session_id"], row["tags"]) == (f"{name}-session", ["a", "b"])
    assert (row["input_tokens"], row["output_tokens"]) == (11, 3)
    assert "gpt-4o-mini" in row["models"]
