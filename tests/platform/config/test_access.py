"""Every address of /api, walked: nobody gets in without signing in, Charlie into no project."""

import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from hone.common import clock
from hone.traces.services.legacy import legacy_write

sys.path.insert(0, str(Path(__file__).parent))
from url_table import ENDPOINTS, OF_A_PROJECT, OPEN, PUBLIC, Endpoint


def call(api: Any, endpoint: Endpoint, headers: dict[str, str] | None = None) -> Any:
    answer = api.generic(endpoint.method, f"/{endpoint.path}", {}, headers=headers)
    if answer.status_code == 405 and not endpoint.is_certain:
        pytest.skip("the view has no such method")
    return answer


def test_the_walk_sees_the_house() -> None:
    assert {"api/projects", "api/projects/<slug:project>/prompts"} <= {e.route for e in ENDPOINTS}
    assert all(e.route.startswith("api/") for e in ENDPOINTS)
    mentions = [e.route for e in ENDPOINTS if "project" in e.path and e.path.count("/") > 1]
    assert set(mentions) - {e.route for e in PUBLIC} == {e.route for e in OF_A_PROJECT}


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.route not in OPEN], ids=str)
def test_nobody_gets_in_without_signing_in(as_nobody, project, endpoint: Endpoint) -> None:
    answer = call(as_nobody, endpoint)
    assert answer.status_code == 401, answer.content
    error = answer.json()["error"]
    assert (
        error == "UnauthorizedError" if endpoint in PUBLIC else error["code"] == "unauthenticated"
    )


@pytest.mark.parametrize("endpoint", PUBLIC, ids=str)
def test_the_public_api_is_for_keys_only(as_alice, foreign_project, endpoint: Endpoint) -> None:
    assert call(as_alice, endpoint).status_code == 401


@pytest.mark.parametrize("endpoint", PUBLIC, ids=str)
def test_a_wrong_pair_opens_nothing(as_nobody, api_key, foreign_key, endpoint: Endpoint) -> None:
    pair = f"{foreign_key.row.public_key}:{api_key.secret}".encode()
    headers = {"authorization": f"Basic {b64encode(pair).decode()}"}
    assert call(as_nobody, endpoint, headers).status_code == 401


@pytest.fixture
def filled_project(project, as_alice) -> None:
    """Prompts, traces, observations and scores under the names that the walk asks for."""
    for name in ("x", "x/y"):
        body = {"name": name, "type": "text", "prompt": "alice-only", "labels": ["production"]}
        assert as_alice.post("/api/projects/demo/prompts", body).status_code == 201
        trace = {"id": name, "name": "alice-only", "sessionId": name, "input": "alice-only"}
        span = {"id": name, "traceId": name, "name": "alice-only"}
        score = {"id": name, "traceId": name, "name": "alice-only", "value": 1}
        outcomes = legacy_write(
            project.pk,
            [
                {"id": kind, "type": kind, "timestamp": clock.now().isoformat(), "body": body}
                for kind, body in (
                    ("trace-create", trace),
                    ("span-create", span),
                    ("score-create", score),
                )
            ],
        )
        assert [outcome.error for outcome in outcomes] == [None] * 3


@pytest.mark.parametrize("endpoint", [e for e in PUBLIC if e.method == "GET"], ids=str)
def test_the_objects_are_where_the_walk_looks(as_key, filled_project, endpoint: Endpoint) -> None:
    """Else the next test would prove nothing."""
    found = {
        "api/public/traces",
        "api/public/traces/<path:trace>",
        "api/public/observations",
        "api/public/observations/<path:observation>",
        "api/public/v2/observations",
        "api/public/sessions/<path:session>",
        "api/public/v2/prompts/<path:name>",
        "api/public/v2/scores",
    }
    if endpoint.route in found:
        assert b"alice-only" in call(as_key, endpoint).content


@pytest.mark.parametrize("endpoint", [e for e in PUBLIC if e.method == "GET"], ids=str)
def test_a_public_read_with_another_key_finds_nothing(
    as_nobody, filled_project, foreign_key, endpoint: Endpoint
) -> None:
    """What Alice's project holds is under the names and ids that the walk asks for."""
    answer = call(as_nobody, endpoint, foreign_key.bearer)
    assert b"alice-only" not in answer.content


@pytest.mark.parametrize("endpoint", OF_A_PROJECT, ids=str)
def test_charlie_sees_no_project_of_others(as_charlie, project, endpoint: Endpoint) -> None:
    answer = call(as_charlie, endpoint)
    assert answer.status_code == 404, answer.content
    assert answer.json()["error"]["message"] == "There is no project 'demo'"


@pytest.mark.parametrize("endpoint", OF_A_PROJECT, ids=str)
def test_a_key_sees_no_project_of_others(project, foreign_key, as_nobody, endpoint) -> None:
    answer = call(as_nobody, endpoint, foreign_key.bearer)
    assert answer.status_code == 404, answer.content


def test_no_public_write_with_another_key_changes_anything(
    as_nobody, as_key, filled_project, foreign_key
) -> None:
    """Every write is tried on the ids of Alice's objects; hers read as before."""

    def read() -> dict[str, bytes]:
        paths = ("traces/x", "observations/x", "sessions/x", "v2/prompts/x/y", "v2/scores/x")
        return {path: as_key.get(f"/api/public/{path}").content for path in paths}

    before = read()
    assert all(b"alice-only" in body for body in before.values())
    writes = [endpoint for endpoint in PUBLIC if endpoint.method != "GET"]
    assert {"DELETE", "PATCH", "POST"} <= {endpoint.method for endpoint in writes}
    for endpoint in writes:
        call(as_nobody, endpoint, foreign_key.bearer)
    body = {"traceIds": ["x", "x/y"], "newLabels": ["theirs"], "name": "x", "prompt": "theirs"}
    for method, path in (("DELETE", "traces"), ("POST", "v2/prompts"), ("DELETE", "v2/prompts/x")):
        as_nobody.generic(method, f"/api/public/{path}", body, headers=foreign_key.bearer)
    assert read() == before


def test_whoever_is_outside_is_told_so(as_nobody, project) -> None:
    assert as_nobody.get("/api/auth/me").status_code == 401
    assert as_nobody.post("/api/auth/logout").status_code == 204
    assert as_nobody.post("/api/auth/login", {}).status_code == 400
