"""Saved views: one's own, and shared ones."""

from collections.abc import Callable
from typing import Any

import pytest

from hone.accounts.core.roles import Role
from hone.accounts.models import Project

URL = "/api/projects/demo/views"


def body(name: str = "Failures", **more: Any) -> dict[str, Any]:
    return {"page": "traces", "name": name, "search": "status=error&range=7d", **more}


def test_a_view_is_its_owners_until_shared(project: Project, as_alice: Any, as_bob: Any) -> None:
    made = as_alice.post(URL, body())
    assert made.status_code == 201, made.content
    assert made.json()["is_own"] is True
    assert as_bob.get(URL).json() == []
    one = f"{URL}/{made.json()['id']}"
    assert as_bob.generic("PATCH", one, {"name": "Mine"}).status_code == 404
    assert as_alice.generic("PATCH", one, {"shared": True}).status_code == 200
    [seen] = as_bob.get(f"{URL}?page=traces").json()
    assert (seen["name"], seen["search"], seen["is_own"]) == (
        "Failures", "status=error&range=7d", False,
    )  # fmt: skip
    assert as_bob.get(f"{URL}?page=users").json() == []
    assert as_bob.generic("DELETE", one).status_code == 403
    assert as_alice.generic("DELETE", one).status_code == 204
    assert as_bob.get(URL).json() == []


def test_an_admin_tidies_shared_views(project: Project, as_bob: Any, as_alice: Any) -> None:
    made = as_bob.post(URL, body(shared=True)).json()
    assert as_alice.generic("DELETE", f"{URL}/{made['id']}").status_code == 204


def test_viewers_save_for_themselves_only(project: Project, as_role: Callable[..., Any]) -> None:
    viewer = as_role(Role.VIEWER)
    assert viewer.post(URL, body(shared=True)).status_code == 403
    assert viewer.post(URL, body()).status_code == 201
    assert viewer.post(URL, body()).status_code == 409


@pytest.mark.parametrize(
    "wrong", [{"page": "settings"}, {"name": ""}, {"name": "x" * 101}, {"color": "red"}]
)
def test_bad_views_are_400(project: Project, as_bob: Any, wrong: dict[str, Any]) -> None:
    assert as_bob.post(URL, body() | wrong).status_code == 400


def test_a_program_has_no_views(project: Project, as_key: Any) -> None:
    assert as_key.get(URL).status_code == 403


def test_charlie_is_refused(project: Project, as_alice: Any, as_charlie: Any) -> None:
    made = as_alice.post(URL, body(shared=True)).json()
    one = f"{URL}/{made['id']}"
    assert as_charlie.get(URL).status_code == 404
    assert as_charlie.post(URL, body()).status_code == 404
    assert as_charlie.generic("PATCH", one, {"name": "x"}).status_code == 404
    assert as_charlie.generic("DELETE", one).status_code == 404
