import pytest

from hone.accounts.core.roles import Role

KEYS, MEMBERS, PROJECT = (
    "/api/projects/demo/keys",
    "/api/projects/demo/members",
    "/api/projects/demo",
)
PROMPT = {"name": "hello", "type": "text", "prompt": "Hi {{name}}"}

# method, path, body, the least role that may
RIGHTS = [
    ("GET", PROJECT, None, Role.VIEWER),
    ("PATCH", PROJECT, {"name": "New name"}, Role.ADMIN),
    ("GET", KEYS, None, Role.MEMBER),
    ("POST", KEYS, {"name": "k"}, Role.ADMIN),
    ("GET", MEMBERS, None, Role.VIEWER),
    ("POST", MEMBERS, {"email": "new@example.com", "role": "viewer"}, Role.ADMIN),
    ("GET", f"{PROJECT}/prompts", None, Role.VIEWER),
    ("POST", f"{PROJECT}/prompts", PROMPT, Role.MEMBER),
]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(("method", "path", "body", "least"), RIGHTS)
def test_a_role_may_what_it_covers(as_role, role, method, path, body, least) -> None:
    answer = as_role(role).generic(method, path, b"" if body is None else body)
    expected = {200, 201} if role.covers(least) else {403}
    assert answer.status_code in expected


@pytest.mark.parametrize(("method", "path", "body", "least"), RIGHTS)
def test_charlie_finds_no_project(as_charlie, method, path, body, least) -> None:
    answer = as_charlie.generic(method, path, b"" if body is None else body)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_a_foreign_project_looks_like_one_that_is_not_there(as_charlie) -> None:
    there = as_charlie.get("/api/projects/demo").json()["error"]["message"]
    nowhere = as_charlie.get("/api/projects/nowhere").json()["error"]["message"]
    assert there.replace("demo", "nowhere") == nowhere


def test_a_key_is_a_member_of_its_own_project_only(as_key, foreign_project) -> None:
    assert as_key.get("/api/projects/demo").status_code == 200
    assert as_key.post("/api/projects/demo/prompts", PROMPT).status_code == 201
    assert as_key.post("/api/projects/demo/keys", {"name": "more"}).status_code == 403
    assert as_key.get("/api/projects/elsewhere").status_code == 404
    assert as_key.get("/api/organizations").status_code == 403


def test_a_revoked_key_is_nobody(
    as_alice, as_key, api_key, django_capture_on_commit_callbacks
) -> None:
    assert as_key.get("/api/projects/demo").status_code == 200
    with django_capture_on_commit_callbacks(execute=True):
        revoked = as_alice.delete(f"/api/projects/demo/keys/{api_key.row.pk}")
    assert revoked.status_code == 200
    assert revoked.json()["revoked_at"] is not None
    assert as_key.get("/api/projects/demo").status_code == 401


@pytest.mark.parametrize("header", ["Bearer sk-hone-wrong", "Basic !!!", "Bearer ", "Basic Og=="])
def test_a_wrong_key_is_refused_and_not_taken_for_anonymous(as_alice, header: str) -> None:
    answer = as_alice.get("/api/auth/me", headers={"Authorization": header})
    assert answer.status_code == 401
    assert "WWW-Authenticate" in answer.headers


def test_a_removed_member_loses_access_at_once(as_alice, as_bob) -> None:
    (bob,) = [m for m in as_alice.get(MEMBERS).json()["data"] if m["email"] == "bob@example.com"]
    assert as_alice.delete(f"{MEMBERS}/{bob['id']}").status_code == 204
    assert as_bob.get("/api/projects/demo").status_code == 404
    assert as_bob.get("/api/auth/me").json()["projects"] == []
