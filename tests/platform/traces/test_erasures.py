"""A user's traces, all traces or a project deleted for good, and told when."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from hone.accounts.core.roles import Role
from hone.accounts.models import Project
from hone.accounts.services import key_resolve
from hone.common import clock, jobs
from hone.traces.models import Comment, Erasure, Score
from hone.traces.services import erasing, erasures_run, spans_ingest
from hone.traces.services.search import search_refresh

# They hold numbers only, which nobody asks for once the project is gone.
COUNTERS = ("prompts_change", "prompts_changedname", "common_event_counter")
URL = "/api/projects/demo/erasures"
Make = Callable[..., Any]

pytestmark = pytest.mark.django_db


def ids(table: str) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT encode(trace_id, 'hex') FROM {table}")
        return {trace_id for (trace_id,) in cursor.fetchall()}


def left(project_id: int) -> dict[str, int]:
    """Rows of a project in every table that names projects, where there are any."""
    found = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
            " AND a.attname = 'project_id' AND c.relname <> ALL(%s)",
            [list(COUNTERS)],
        )
        for (table,) in cursor.fetchall():
            cursor.execute(f"SELECT count(*) FROM {table} WHERE project_id = %s", [project_id])
            [number] = cursor.fetchone()
            if number:
                found[table] = number
    return found


@pytest.fixture
def traces(project: Any, foreign_project: Any, make_span: Make) -> dict[str, str]:
    """Traces of u1, of u2, of both, of nobody, and u1's in Charlie's project, by id."""
    named = {name: f"{number:032x}" for number, name in enumerate(("u1", "u2", "both", "none"), 1)}
    spans = [
        make_span(0, trace_id=named["u1"], user_id="u1", input="a secret of u1"),
        make_span(1, trace_id=named["u1"]),
        make_span(0, trace_id=named["u2"], user_id="u2"),
        make_span(0, trace_id=named["both"], user_id="a1"),
        make_span(1, trace_id=named["both"], user_id="u1"),
        make_span(0, trace_id=named["none"]),
    ]
    spans_ingest(project_id=project.pk, spans=spans)
    named["foreign"] = f"{9:032x}"
    other = [make_span(0, trace_id=named["foreign"], user_id="u1")]
    spans_ingest(project_id=foreign_project.pk, spans=other)
    search_refresh()
    return named


def asked(api: Any, **body: str) -> dict[str, Any]:
    answer = api.post(URL, body)
    assert answer.status_code == 202, answer.content
    found: dict[str, Any] = answer.json()
    assert (found["state"], found["done_at"]) == ("queued", None)
    return found


def test_a_users_traces_go_and_it_says_when(as_alice: Any, traces: dict[str, str]) -> None:
    before = clock.now()
    erasure = asked(as_alice, what="user", user_id="u1")
    assert erasures_run() == 1
    done = as_alice.get(f"/api/erasures/{erasure['id']}").json()
    assert (done["state"], done["trace_count"], done["user_id"]) == ("done", 2, "u1")
    assert before.isoformat() <= done["done_at"].replace("Z", "+00:00")
    stay = {traces["u2"], traces["none"], traces["foreign"]}
    assert ids("traces_trace") == ids("traces_observation") == stay
    assert as_alice.get(URL).json()["data"][0]["id"] == erasure["id"]


def test_the_newest_wish_stands_first(as_alice: Any, traces: dict[str, str]) -> None:
    made = [asked(as_alice, what="user", user_id=user)["id"] for user in ("u1", "u2", "u3")]
    page = as_alice.get(URL, {"limit": 2}).json()
    rest = as_alice.get(URL, {"limit": 2, "cursor": page["next_cursor"]}).json()
    assert [row["id"] for row in (*page["data"], *rest["data"])] == made[::-1]


def test_words_of_a_users_traces_leave_the_index(as_alice: Any, traces: dict[str, str]) -> None:
    asked(as_alice, what="user", user_id="u1")
    erasures_run()
    search_refresh()
    found = as_alice.get("/api/projects/demo/traces", {"q": "secret"}).json()
    assert found["data"] == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM traces_search_segment WHERE stale")
        assert cursor.fetchone() == (0,)


def test_all_traces_go_in_portions_and_the_project_stays(
    as_alice: Any, project: Any, traces: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "PORTION", 1)
    erasure = asked(as_alice, what="traces")
    assert erasures_run() == 1
    assert as_alice.get(f"/api/erasures/{erasure['id']}").json()["trace_count"] == 4
    assert ids("traces_trace") == ids("traces_observation") == {traces["foreign"]}
    assert as_alice.get("/api/projects/demo").status_code == 200


def test_a_project_goes_with_all_that_it_holds(
    as_alice: Any, project: Any, api_key: Any, traces: dict[str, str]
) -> None:
    body = {"name": "x", "type": "text", "prompt": "p"}
    assert as_alice.post("/api/projects/demo/prompts", body).status_code == 201
    said = {"name": "q", "number": 1, "trace_id": traces["u2"]}
    assert as_alice.post("/api/projects/demo/scores", said).status_code == 201
    erasure = asked(as_alice, what="project")
    assert key_resolve(api_key.secret) is None  # at once, before anything is deleted
    assert erasures_run() == 1
    assert as_alice.get("/api/projects/demo").status_code == 404
    done = as_alice.get(f"/api/erasures/{erasure['id']}").json()
    assert (done["state"], done["project"], done["trace_count"]) == ("done", "demo", 4)
    assert not Project.objects.filter(pk=project.pk).exists()
    assert left(project.pk) == {}
    assert Score.objects.count() == Comment.objects.count() == 0
    assert ids("traces_trace") == {traces["foreign"]}


def test_whatever_names_a_project_goes_with_it() -> None:
    kept = [
        field
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if field.many_to_one and field.related_model is Project and model is not Erasure
    ]
    assert kept
    for field in kept:
        assert field.remote_field.on_delete.__name__ == "CASCADE", field


def test_a_worker_that_died_is_replaced(
    as_alice: Any, traces: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    erasure = asked(as_alice, what="traces")
    jobs.claim(Erasure.objects.all(), owner="dead", limit=1, lease=erasing.LEASE, now=clock.now())
    assert erasures_run() == 0
    later = clock.now() + erasing.LEASE + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert erasures_run() == 1
    assert as_alice.get(f"/api/erasures/{erasure['id']}").json()["state"] == "done"


def test_members_erase_nothing(as_bob: Any, as_key: Any, traces: dict[str, str]) -> None:
    for api in (as_bob, as_key):
        assert api.post(URL, {"what": "traces"}).status_code == 403
        assert api.get(URL).status_code == 403
    assert not Erasure.objects.exists()


def test_admins_erase_traces_and_only_owners_the_project(as_role: Any, as_alice: Any) -> None:
    admin = as_role(Role.ADMIN)
    assert admin.post(URL, {"what": "project"}).status_code == 403
    assert admin.post(URL, {"what": "traces"}).status_code == 202
    assert as_alice.post(URL, {"what": "project"}).status_code == 202


def test_only_who_administers_the_organization_sees_it(
    as_alice: Any, as_bob: Any, as_charlie: Any, as_key: Any, project: Any
) -> None:
    address = f"/api/erasures/{asked(as_alice, what='traces')['id']}"
    assert as_alice.get(address).status_code == 200
    assert as_bob.get(address).status_code == 404
    assert as_charlie.get(address).status_code == 404
    assert as_key.get(address).status_code == 403
    assert as_charlie.post(URL, {"what": "traces"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"what": "user"}, "user_id"),
        ({"what": "traces", "user_id": "u1"}, "user_id"),
        ({"what": "everything"}, "what"),
        ({"what": "retention"}, "what"),
        ({}, "what"),
    ],
)
def test_what_cannot_be_meant_is_refused(as_alice: Any, body: dict[str, str], field: str) -> None:
    answer = as_alice.post(URL, body)
    assert answer.status_code == 400, answer.content
    assert field in answer.content.decode()
