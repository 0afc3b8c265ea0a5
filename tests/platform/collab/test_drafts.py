"""Drafts over REST: made from a version, read, published, kept moments, closed."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from hone.accounts.core.roles import Role
from hone.collab.core.shape import document_open
from hone.collab.models import Draft, DraftMoment
from hone.collab.selectors import document_of, draft_content, draft_since
from hone.collab.services import Edit, Refused, draft_compact, edits_append
from hone.common.errors import NotFoundError

pytestmark = pytest.mark.django_db
PROMPTS = "/api/projects/demo/prompts"
DRAFTS = "/api/projects/demo/drafts"


def typed(draft: Any, text: str, user_id: int | None = None, at: int = 0) -> int:
    """Type at a place of the draft, as a client would; the edit's number."""
    document = document_of(draft_since(draft))
    before = document.get_state()
    document["text"].insert(at, text)
    [seq] = edits_append([Edit(draft, document.get_update(before), user_id)])
    assert isinstance(seq, int)
    return seq


def test_the_main_draft_is_made_once(as_alice, as_bob, make_draft) -> None:
    draft = make_draft()
    for api in (as_alice, as_bob):
        answer = api.post(f"{PROMPTS}/greet/drafts/main")
        assert answer.json()["id"] == str(draft.pk)
    assert as_bob.get(f"{PROMPTS}/greet/drafts").json()["data"][0]["base_version"] == 1


def test_a_draft_starts_with_the_version_it_is_made_of(as_alice, make_draft) -> None:
    make_draft(prompt=[{"role": "user", "content": "Hi {{name}}"}])
    body = {"name": "friendlier", "version": 1}
    made = as_alice.post(f"{PROMPTS}/greet/drafts", body)
    assert made.status_code == 201
    found = as_alice.get(f"{DRAFTS}/{made.json()['id']}").json()
    assert (found["type"], found["content"]) == (
        "chat",
        [{"role": "user", "content": "Hi {{name}}"}],
    )
    again = as_alice.post(f"{PROMPTS}/greet/drafts", body)
    assert (again.status_code, again.json()["error"]["field"]) == (409, "name")
    empty = as_alice.post(f"{PROMPTS}/greet/drafts", {"name": " "})
    assert empty.status_code == 400


def test_publishing_makes_the_next_version_and_goes_on(as_bob, bob, make_draft) -> None:
    draft = make_draft()
    typed(draft.pk, "Please. ", bob.pk)
    answer = as_bob.post(f"{DRAFTS}/{draft.pk}/publish", {"message": "kinder", "labels": ["beta"]})
    assert (answer.status_code, answer.json()) == (201, {"version": 2})
    version = as_bob.get(f"{PROMPTS}/greet/versions/2").json()
    assert version["prompt"] == "Please. Say hello."
    assert set(version["labels"]) == {"beta", "latest"}
    [moment] = as_bob.get(f"{DRAFTS}/{draft.pk}/moments").json()["data"]
    assert (moment["seq"], moment["people"], moment["version"]) == (1, ["Bob"], 2)
    assert as_bob.get(f"{DRAFTS}/{draft.pk}").json()["base_version"] == 2


def test_a_draft_of_an_older_version_is_not_published_over_a_later_one(as_bob, make_draft) -> None:
    draft = make_draft()
    later = as_bob.post(f"{PROMPTS}/greet/versions", {"prompt": "Other words."})
    assert later.status_code == 201
    answer = as_bob.post(f"{DRAFTS}/{draft.pk}/publish", {})
    assert (answer.status_code, answer.json()["error"]["field"]) == (409, "base")


def test_compaction_keeps_what_was_said_and_who_said_it(alice, bob, make_draft) -> None:
    draft = make_draft()
    for number in range(5):
        typed(draft.pk, f"{number}", alice.pk if number < 3 else bob.pk)
    seq, before = draft_content(draft.pk)
    state = document_of(draft_since(draft.pk)).get_update()
    assert draft_compact(draft_id=draft.pk, seq=seq, state=state)
    assert not draft_compact(draft_id=draft.pk, seq=seq, state=state), "done already"
    assert draft_since(draft.pk).updates == (state,), "the log stays for the history only"
    assert draft_content(draft.pk) == (5, before)
    assert DraftMoment.objects.get(draft=draft, seq=5).people == ["Alice", "Bob"]
    assert typed(draft.pk, "!") == 6


def test_whoever_lags_behind_a_compaction_gets_the_whole_state(make_draft) -> None:
    draft = make_draft()
    typed(draft.pk, "a")
    behind = document_of(draft_since(draft.pk))
    typed(draft.pk, "b")
    state = document_of(draft_since(draft.pk)).get_update()
    draft_compact(draft_id=draft.pk, seq=2, state=state)
    typed(draft.pk, "c")
    for update in draft_since(draft.pk, 1).updates:
        behind.apply_update(update)
    assert str(behind["text"]) == "cbaSay hello."


def test_edits_of_many_drafts_are_numbered_apart(make_draft) -> None:
    first, second = make_draft("a"), make_draft("b")
    update = document_open().get_update()
    edits = [Edit(draft.pk, update, None) for draft in (first, second, first)]
    assert edits_append(edits) == [1, 1, 2]


def test_a_closed_draft_takes_no_edit(as_bob, make_draft: Callable[..., Draft]) -> None:
    draft = make_draft()
    assert as_bob.delete(f"{DRAFTS}/{draft.pk}").status_code == 204
    assert edits_append([Edit(draft.pk, b"\x00\x00", None)]) == [Refused.CLOSED]
    assert as_bob.post(f"{DRAFTS}/{draft.pk}/publish", {}).status_code == 409
    assert as_bob.get(f"{PROMPTS}/greet/drafts").json()["data"] == []


def test_moments_are_read_and_missing_ones_are_named(as_bob, make_draft) -> None:
    draft = make_draft()
    typed(draft.pk, "x")
    as_bob.post(f"{DRAFTS}/{draft.pk}/publish", {})
    found = as_bob.get(f"{DRAFTS}/{draft.pk}/moments/1").json()
    assert (found["content"], found["type"]) == ("xSay hello.", "text")
    assert as_bob.get(f"{DRAFTS}/{draft.pk}/moments/9").status_code == 404


def test_a_draft_of_another_project_is_not_there(as_charlie, foreign_project, make_draft) -> None:
    draft = make_draft()
    for path in ("", "/moments", "/moments/1"):
        answer = as_charlie.get(f"/api/projects/elsewhere/drafts/{draft.pk}{path}")
        assert answer.status_code == 404
    for path in ("/publish", "/token"):
        answer = as_charlie.post(f"/api/projects/elsewhere/drafts/{draft.pk}{path}", {})
        assert answer.status_code == 404


def test_a_viewer_may_look_and_get_a_token_but_publish_nothing(as_role, make_draft) -> None:
    draft = make_draft()
    viewer = as_role(Role.VIEWER)
    assert viewer.get(f"{DRAFTS}/{draft.pk}").status_code == 200
    assert viewer.post(f"{DRAFTS}/{draft.pk}/token").status_code == 201
    assert viewer.post(f"{DRAFTS}/{draft.pk}/publish", {}).status_code == 403
    assert viewer.delete(f"{DRAFTS}/{draft.pk}").status_code == 403


def test_a_key_gets_no_token(as_key, make_draft) -> None:
    assert as_key.post(f"{DRAFTS}/{make_draft().pk}/token").status_code == 403


def test_a_draft_that_is_gone_is_named() -> None:
    with pytest.raises(NotFoundError, match="There is no draft"):
        draft_since(uuid.uuid4())
