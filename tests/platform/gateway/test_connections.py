"""Connections: who may store them, what is kept secret, where they may lead."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hone.accounts.core.roles import Role
from hone.accounts.models import Project
from hone.common import clock
from hone.gateway.core.addresses import is_public
from hone.gateway.models import Connection, Kind
from hone.gateway.services import connections, engines

pytestmark = pytest.mark.django_db
PATH = "/api/projects/demo/connections"
SECRET = "sk-of-somebody-else-1234"


def body(**more: Any) -> dict[str, Any]:
    given = {"name": "openai", "base_url": "https://api.example.com/v1/", "models": ["m-1"]}
    return {**given, "api_key": SECRET, **more}


def test_alice_stores_a_connection_and_its_secret_never_comes_back(as_alice: Any) -> None:
    answer = as_alice.post(PATH, body())
    assert answer.status_code == 201
    made = answer.json()
    assert made["base_url"] == "https://api.example.com/v1"
    assert (made["has_api_key"], made["api_key_hint"]) == (True, "…1234")
    assert made["kind"] == "remote"
    listed = as_alice.get(PATH)
    assert listed.json()["data"] == [made]
    assert SECRET.encode() not in answer.content + listed.content
    assert SECRET not in Connection.objects.get().sealed_api_key


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a/b"}, "name"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "https://u:p@x/v1"}, "base_url"),
        ({"base_url": "https://x/?q=1"}, "base_url"),
        ({"base_url": "http://[::1"}, "base_url"),
        ({"base_url": 3}, "base_url"),
        ({"models": ["m"] * 501}, "models"),
        ({"models": [""]}, "models"),
        ({"models": "m"}, "models"),
        ({"api_key": "ä"}, "api_key"),
        ({"api_key": "a\nb"}, "api_key"),
        ({"extra": 1}, "extra"),
    ],
)
def test_what_is_wrong_is_named(as_alice: Any, wrong: dict[str, Any], field: str) -> None:
    answer = as_alice.post(PATH, body(**wrong))
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field


def test_two_connections_cannot_have_one_name(as_alice: Any) -> None:
    as_alice.post(PATH, body())
    assert as_alice.post(PATH, body()).status_code == 409


def test_a_new_address_forgets_the_key_that_was_meant_for_the_old_one(as_alice: Any) -> None:
    pk = as_alice.post(PATH, body()).json()["id"]
    same = as_alice.patch(f"{PATH}/{pk}", {"models": ["m-2"]}).json()
    assert (same["models"], same["has_api_key"]) == (["m-2"], True)
    moved = as_alice.patch(f"{PATH}/{pk}", {"base_url": "https://evil.example.com"}).json()
    assert moved["has_api_key"] is False


def test_a_connection_is_deleted(as_alice: Any) -> None:
    pk = as_alice.post(PATH, body()).json()["id"]
    assert as_alice.delete(f"{PATH}/{pk}").status_code == 204
    assert as_alice.delete(f"{PATH}/{pk}").status_code == 404


@pytest.fixture
def stored(project: Project) -> Connection:
    return connections.connection_create(
        project=project, name="far", base_url="https://far.example.com", models=["m"]
    )


def test_bob_reads_connections_and_changes_none(as_bob: Any, stored: Connection) -> None:
    assert as_bob.get(PATH).status_code == 200
    assert as_bob.post(PATH, body()).status_code == 403
    assert as_bob.patch(f"{PATH}/{stored.pk}", {"name": "x"}).status_code == 403
    assert as_bob.delete(f"{PATH}/{stored.pk}").status_code == 403
    assert as_bob.post(f"{PATH}/{stored.pk}/test").status_code == 403


def test_charlie_is_refused_everywhere(as_charlie: Any, stored: Connection) -> None:
    assert as_charlie.get(PATH).status_code == 404
    assert as_charlie.post(PATH, body()).status_code == 404
    assert as_charlie.patch(f"{PATH}/{stored.pk}", {"name": "x"}).status_code == 404
    assert as_charlie.delete(f"{PATH}/{stored.pk}").status_code == 404
    assert as_charlie.post(f"{PATH}/{stored.pk}/test").status_code == 404
    assert as_charlie.get("/api/projects/demo/models").status_code == 404
    assert as_charlie.get("/api/projects/demo/engine").status_code == 404


def test_nobody_is_told_to_sign_in(as_nobody: Any, project: Project) -> None:
    assert as_nobody.get(PATH).status_code == 401


def test_another_projects_connection_is_not_found(as_alice: Any, foreign_project: Project) -> None:
    theirs = connections.connection_create(
        project=foreign_project, name="x", base_url="https://x.example.com", models=["m"]
    )
    assert as_alice.patch(f"{PATH}/{theirs.pk}", {"name": "y"}).status_code == 404


def test_a_connection_is_tried_out(as_alice: Any, far_connection: Connection) -> None:
    answer = as_alice.post(f"{PATH}/{far_connection.pk}/test")
    assert answer.json() == {"ok": True, "models": ["far", "farther"], "error": None}


def test_a_dead_address_is_told_in_words(as_alice: Any, stored: Connection) -> None:
    connections.connection_update(connection=stored, changes={"base_url": "http://127.0.0.1:9"})
    tried = as_alice.post(f"{PATH}/{stored.pk}/test").json()
    assert tried["ok"] is False
    assert tried["error"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_inner_network_is_not_called_unless_allowed(
    as_alice: Any, far_connection: Connection, settings: Any, host: str
) -> None:
    settings.HONE_ALLOW_PRIVATE_CONNECTIONS = False
    url = far_connection.base_url.replace("127.0.0.1", host)
    connections.connection_update(connection=far_connection, changes={"base_url": url})
    tried = as_alice.post(f"{PATH}/{far_connection.pk}/test").json()
    assert tried["ok"] is False
    assert "inner network" in tried["error"]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("192.168.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("100.64.0.1", False),
    ],
)
def test_public_addresses_are_told_from_others(address: str, public: bool) -> None:
    assert is_public(address) is public


# Local engines ----------------------------------------------------------------------------


def beat(owner: str = "elsewhere:1", model: str = "small") -> None:
    info = {"device": "cpu", "context_length": 2048, "running": 1, "tokens_per_second": 9.5}
    engines.engine_beat(owner=owner, base_url="http://127.0.0.1:9/v1", model=model, info=info)


def age(seconds: float) -> None:
    old = clock.now() - timedelta(seconds=seconds)
    Connection.objects.filter(kind=Kind.LOCAL).update(heartbeat_at=old)


def test_a_local_engine_is_listed_read_only_and_its_model_first(
    as_bob: Any, stored: Connection
) -> None:
    beat()
    first = as_bob.get(PATH).json()["data"][0]
    assert (first["kind"], first["read_only"], first["status"]) == ("local", True, "ready")
    rows = as_bob.get("/api/projects/demo/models").json()["data"]
    assert [row["id"] for row in rows] == ["small", "m"]
    assert rows[0] == {
        "id": "small",
        "connection": "local engine",
        "kind": "local",
        "context_length": 2048,
        "status": "ready",
    }


def test_the_engines_state_is_told(as_bob: Any) -> None:
    assert as_bob.get("/api/projects/demo/engine").json()["state"] == "down"
    engines.engine_announce(owner="elsewhere:1", model="small")
    assert as_bob.get("/api/projects/demo/engine").json()["state"] == "starting"
    beat()
    told = as_bob.get("/api/projects/demo/engine").json()
    assert (told["state"], told["model"], told["tokens_per_second"]) == ("ready", "small", 9.5)
    age(60)
    assert as_bob.get("/api/projects/demo/engine").json()["state"] == "down"


def test_a_silent_engine_is_not_called(project: Project) -> None:
    beat()
    assert [u.is_local for u in connections.upstreams_for(project.pk, "small")] == [True]
    age(60)
    assert connections.upstreams_for(project.pk, "small") == []


def test_a_restarted_engine_takes_the_place_of_its_dead_self(
    project: Project, dead_owner: str
) -> None:
    beat(dead_owner)
    engines.engine_announce(owner="host:2", model="small")
    assert [row.owner for row in Connection.objects.all()] == ["host:2"]


def test_an_engine_of_another_host_stays(project: Project) -> None:
    beat("elsewhere:1")
    engines.engine_announce(owner="host:2", model="small")
    assert Connection.objects.count() == 2


def test_an_engine_that_stops_is_gone(as_role: Callable[[Role], Any]) -> None:
    beat("host:1")
    engines.engine_remove(owner="host:1")
    assert as_role(Role.VIEWER).get("/api/projects/demo/models").json()["data"] == []
