import pytest
from django.core.management import call_command

from hone.accounts import services
from hone.accounts.core.names import slug_numbered, slug_of
from hone.accounts.models import ApiKey, Project, User


def test_a_project_gets_a_slug_of_its_name(as_alice) -> None:
    first = as_alice.post("/api/projects", {"name": "Große Übung!"})
    second = as_alice.post("/api/projects", {"name": "Grosse Übung"})
    assert (first.status_code, first.json()["slug"]) == (201, "grosse-ubung")
    assert second.json()["slug"] == "grosse-ubung-2"
    assert [p["slug"] for p in as_alice.get("/api/projects").json()["data"]] == [
        "demo",
        "grosse-ubung",
        "grosse-ubung-2",
    ]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"name": "x", "slug": "demo"}, 409, "slug"),
        ({"name": "x", "slug": "Not A Slug"}, 400, "slug"),
        ({"name": "  "}, 400, "name"),
        ({"name": "x" * 121}, 400, "name"),
        ({"name": "x", "organization": "other"}, 404, "organization"),
        ({}, 400, "name"),
        ([1], 400, None),
        ({"name": None}, 400, "name"),
    ],
)
def test_a_bad_project_is_refused(as_alice, body, status, field) -> None:
    answer = as_alice.post("/api/projects", body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (status, field)


def test_a_member_makes_projects_only_at_home(as_bob) -> None:
    assert as_bob.post("/api/projects", {"name": "Mine"}).status_code == 403
    home = as_bob.post("/api/organizations", {"name": "Bob's house"})
    assert (home.status_code, home.json()["slug"]) == (201, "bob-s-house")
    made = as_bob.post("/api/projects", {"name": "Mine", "organization": "bob-s-house"})
    assert (made.status_code, made.json()["role"]) == (201, "owner")
    assert [o["role"] for o in as_bob.get("/api/organizations").json()["data"]] == [
        "member",
        "owner",
    ]


def test_a_renamed_project_keeps_its_slug(as_alice) -> None:
    assert as_alice.patch("/api/projects/demo", {"name": "Other"}).json()["slug"] == "demo"
    assert as_alice.get("/api/projects/demo").json()["name"] == "Other"


def test_a_new_key_shows_its_secret_once(as_alice, as_bob) -> None:
    made = as_alice.post("/api/projects/demo/keys", {"name": "ci"})
    secret = made.json()["secret_key"]
    assert secret.startswith("sk-hone-")
    assert made.json()["public_key"].startswith("pk-hone-")
    assert services.key_resolve(secret) is not None
    listed = as_bob.get("/api/projects/demo/keys").json()["data"]
    assert [row["name"] for row in listed] == ["ci"]
    assert secret not in str(listed)


def test_a_key_of_another_project_cannot_be_revoked(as_alice, foreign_key) -> None:
    assert as_alice.delete(f"/api/projects/demo/keys/{foreign_key.row.pk}").status_code == 404
    assert ApiKey.objects.get(pk=foreign_key.row.pk).revoked_at is None


@pytest.mark.parametrize(
    ("name", "slug"),
    [("Hello World", "hello-world"), ("--", "project"), ("日本", "project"), ("x" * 80, "x" * 50)],
)
def test_slugs(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_a_numbered_slug_stays_within_its_length() -> None:
    assert slug_numbered("x" * 50, 12) == "x" * 47 + "-12"


@pytest.mark.django_db
def test_bootstrap_makes_the_first_of_everything_and_nothing_more() -> None:
    first = services.bootstrap(email="Me@Example.com", project="Demo")
    assert first.created
    assert (first.email, first.project) == ("me@example.com", "demo")
    assert services.key_resolve(first.secret_key or "") is not None
    assert User.objects.get().check_password(first.password or "")
    assert services.bootstrap(email="you@example.com") == services.Bootstrapped(created=False)
    assert (User.objects.count(), Project.objects.count()) == (1, 1)


@pytest.mark.django_db
def test_the_bootstrap_command_prints_one_line_of_json(capsys, monkeypatch) -> None:
    monkeypatch.setenv("HONE_BOOTSTRAP_PASSWORD", "given by the operator")
    call_command("bootstrap")
    (line,) = capsys.readouterr().out.splitlines()
    assert '"created":true' in line
    assert '"password":"given by the operator"' in line
    call_command("bootstrap")
    (line,) = capsys.readouterr().out.splitlines()
    assert '"secret_key":null' in line
