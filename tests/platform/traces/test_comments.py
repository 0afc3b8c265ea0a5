"""Comments: who wrote them, who may change them, where they are found."""

import base64
from typing import Any

import pytest

from hone.accounts.core.roles import Role
from hone.traces.models import Comment
from hone.traces.services import trace_delete

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
COMMENTS = "/api/projects/demo/comments"


@pytest.fixture
def public(as_nobody, api_key):
    def call(method: str, path: str, body: Any = None, key: Any = api_key) -> Any:
        pair = base64.b64encode(f"{key.row.public_key}:{key.secret}".encode()).decode()
        headers = {"authorization": f"Basic {pair}"}
        return as_nobody.generic(method, f"/api/public{path}", body or b"", headers=headers)

    return call


def say(api: Any, content: str = "so", **more: Any) -> Any:
    body = {"object_type": "TRACE", "object_id": TRACE, "content": content, **more}
    return api.post(COMMENTS, body)


def test_a_thread_of_a_trace_and_its_observations(as_alice, as_bob, public, make_trace) -> None:
    make_trace(TRACE, span_id=SPAN)
    say(as_alice, "first")
    say(as_bob, "second", object_type="OBSERVATION", object_id=SPAN, trace_id=TRACE)
    loose = {"objectType": "OBSERVATION", "objectId": SPAN, "content": "third"}
    assert public("POST", "/comments", loose).json().keys() == {"id"}
    say(as_bob, "elsewhere", object_id="e" * 32)
    rows = as_alice.get(f"{COMMENTS}?trace_id={TRACE}").json()["data"]
    said = [(row["content"], row["author"], row["is_own"]) for row in rows]
    assert said == [
        ("first", "Alice", True),
        ("second", "Bob", False),
        ("third", "key test", False),
    ]


def test_only_who_wrote_it_changes_it(as_alice, as_bob, as_charlie, as_role) -> None:
    path = f"{COMMENTS}/{say(as_bob).json()['id']}"
    assert as_bob.patch(path, {"content": "changed"}).json()["content"] == "changed"
    assert as_alice.patch(path, {"content": "no"}).status_code == 403
    assert as_role(Role.VIEWER).delete(path).status_code == 403
    assert as_charlie.delete(path).status_code == 404
    assert as_alice.delete(path).status_code == 204  # an owner may take it away
    assert not Comment.objects.exists()


@pytest.mark.parametrize(
    "change",
    [{"content": "  "}, {"content": "x" * 10_001}, {"object_type": "DREAM"}, {"object_id": ""}],
)
def test_what_is_no_comment_is_refused(as_bob, change) -> None:
    assert say(as_bob, **change).status_code == 400


def test_comments_in_the_public_api(public, foreign_key) -> None:
    body = {"projectId": "demo", "objectType": "PROMPT", "objectId": "a/b@3", "content": "hm"}
    key = public("POST", "/comments", body).json()["id"]
    found = public("GET", f"/comments/{key}").json()
    assert found["objectId"] == "a/b@3"
    assert (found["projectId"], found["authorUserId"]) == ("demo", None)
    listed = public("GET", "/comments?objectType=PROMPT&objectId=a/b@3").json()
    assert listed["meta"]["totalItems"] == 1
    assert public("GET", "/comments?objectId=x").status_code == 400
    assert public("POST", "/comments", {**body, "projectId": "other"}).status_code == 400
    assert public("GET", f"/comments/{key}", key=foreign_key).status_code == 404
    assert public("GET", "/comments", key=foreign_key).json()["data"] == []


def test_a_deleted_trace_takes_its_comments_along(as_bob, project, make_trace) -> None:
    make_trace(TRACE, span_id=SPAN)
    say(as_bob)
    say(as_bob, object_type="OBSERVATION", object_id=SPAN, trace_id=TRACE)
    say(as_bob, object_type="SESSION", object_id="s")
    trace_delete(project_id=project.pk, trace_id=TRACE)
    assert [c.object_type for c in Comment.objects.all()] == ["SESSION"]
