"""Comments on ranges of a draft: made by whoever reads, settled by whoever writes."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycrdt import Assoc, StickyIndex

from hone.accounts.core.roles import Role
from hone.collab.core.anchor import AnchorError, anchor_check
from hone.collab.models import DraftComment
from hone.collab.selectors import document_of, draft_since

pytestmark = pytest.mark.django_db
DRAFTS = "/api/projects/demo/drafts"


def anchors(draft: Any, start: int, end: int) -> dict[str, str]:
    """A range of the draft's text as a client sends it."""
    text = document_of(draft_since(draft.pk))["text"]
    ends = (("start", start, Assoc.AFTER), ("end", end, Assoc.BEFORE))
    return {
        name: b64encode(text.sticky_index(at, assoc).encode()).decode() for name, at, assoc in ends
    }


def comment(api: Any, draft: Any, **body: Any) -> Any:
    return api.post(f"{DRAFTS}/{draft.pk}/comments", {"body": "Why?", **body})


def listed(api: Any, draft: Any) -> Any:
    return api.get(f"{DRAFTS}/{draft.pk}/comments").json()["data"]


def test_a_viewer_comments_on_a_range_and_others_reply(as_bob, as_role, make_draft) -> None:
    draft = make_draft()
    viewer = as_role(Role.VIEWER)
    made = comment(viewer, draft, quote="hello", **anchors(draft, 4, 9))
    assert made.status_code == 201, made.content
    thread = made.json()
    reply = comment(as_bob, draft, body="Because.", parent=thread["id"])
    assert reply.status_code == 201
    found = listed(viewer, draft)
    assert [(row["body"], row["is_own"], row["parent"]) for row in found] == [
        ("Why?", True, None),
        ("Because.", False, thread["id"]),
    ]
    assert (found[0]["quote"], found[0]["start"], found[0]["author"]) == (
        "hello",
        thread["start"],
        "Some-viewer",
    )
    nested = comment(as_bob, draft, parent=reply.json()["id"])
    assert (nested.status_code, nested.json()["error"]["field"]) == (400, "parent")


def test_a_range_moves_with_the_text(as_bob, make_draft) -> None:
    draft = make_draft()
    comment(as_bob, draft, **anchors(draft, 4, 9))
    row = DraftComment.objects.get()
    document = document_of(draft_since(draft.pk))
    text = document["text"]
    text.insert(0, "Please: ")
    places = [StickyIndex.decode(bytes(end), text).get_index() for end in (row.start, row.end)]
    assert str(text)[slice(*places)] == "hello"


def test_threads_are_settled_and_taken_up_again(as_alice, as_bob, as_role, make_draft) -> None:
    draft = make_draft()
    viewer = as_role(Role.VIEWER)
    own, other = comment(viewer, draft).json()["id"], comment(as_bob, draft).json()["id"]
    address = f"{DRAFTS}/{draft.pk}/comments"
    settled = viewer.patch(f"{address}/{own}", {"is_resolved": True})
    assert settled.json()["resolved_by"] == "Some-viewer"
    assert viewer.patch(f"{address}/{other}", {"is_resolved": True}).status_code == 403
    assert as_alice.patch(f"{address}/{other}", {"is_resolved": True}).status_code == 200
    again = as_alice.patch(f"{address}/{other}", {"is_resolved": False}).json()
    assert (again["resolved_at"], again["resolved_by"]) == (None, "")
    reply = comment(as_bob, draft, parent=own).json()["id"]
    assert as_bob.patch(f"{address}/{reply}", {"is_resolved": True}).status_code == 400


def test_people_change_and_delete_their_own_comments_only(as_alice, as_bob, make_draft) -> None:
    draft = make_draft()
    made = comment(as_bob, draft).json()["id"]
    comment(as_alice, draft, parent=made)
    address = f"{DRAFTS}/{draft.pk}/comments/{made}"
    assert as_alice.patch(address, {"body": "mine"}).status_code == 403
    assert as_alice.delete(address).status_code == 403
    assert as_bob.patch(address, {"body": "What for?"}).json()["body"] == "What for?"
    assert as_bob.delete(address).status_code == 204
    assert listed(as_bob, draft) == [], "replies go with their thread"
    assert as_bob.delete(address).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"body": " "}, "body"),
        ({"body": "x" * 10_001}, "body"),
        ({"start": "AAAA"}, "start"),
        ({"start": "!", "end": "!"}, "start"),
        ({"start": "CQ==", "end": "CQ=="}, "start"),
        ({"quote": "x" * 2001}, "quote"),
        ({"parent": "x"}, "parent"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_what_is_no_comment_is_refused_by_name(as_bob, make_draft, body: Any, field: str) -> None:
    draft = make_draft()
    answer = comment(as_bob, draft, **body)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field
    assert not DraftComment.objects.exists()


def test_a_parent_of_another_draft_is_not_there(as_bob, make_draft) -> None:
    first, second = make_draft("a"), make_draft("b")
    made = comment(as_bob, first).json()["id"]
    assert comment(as_bob, second, parent=made).status_code == 404
    answer = as_bob.patch(f"{DRAFTS}/{second.pk}/comments/{made}", {"body": "x"})
    assert answer.status_code == 404


def test_charlie_comments_on_nothing(as_charlie, as_bob, foreign_project, make_draft) -> None:
    draft = make_draft()
    made = comment(as_bob, draft).json()["id"]
    for base in (DRAFTS, "/api/projects/elsewhere/drafts"):
        address = f"{base}/{draft.pk}/comments"
        assert as_charlie.get(address).status_code == 404
        assert as_charlie.post(address, {"body": "Hi"}).status_code == 404
        assert as_charlie.patch(f"{address}/{made}", {"body": "Hi"}).status_code == 404
        assert as_charlie.delete(f"{address}/{made}").status_code == 404
    assert DraftComment.objects.get().body == "Why?"


@given(st.binary(max_size=40))
def test_an_anchor_is_read_or_refused(data: bytes) -> None:
    is_good = True
    try:
        anchor_check(data)
    except AnchorError:
        is_good = False
    assert not is_good or not data or data[0] in (0, 1, 2)
