"""A draft's history: any number that is still there, who wrote it, and saying it again."""

import base64
from typing import Any

import pytest

from hone.accounts.core.roles import Role
from hone.collab.core.people import color_of
from hone.collab.core.shape import document_open, document_read
from hone.collab.models import Draft, DraftUpdate
from hone.collab.selectors import document_of, draft_content, draft_since
from hone.collab.services import Edit, draft_compact, edits_append
from hone.collab.services.log import KEPT_UPDATES

pytestmark = pytest.mark.django_db
DRAFTS = "/api/projects/demo/drafts"


def typed(draft: Any, text: str, user_id: int | None = None) -> int:
    """One person's browser types at the start; the client it has as a Yjs client."""
    document = document_of(draft_since(draft))
    before = document.get_state()
    document["text"].insert(0, text)
    edits_append([Edit(draft, document.get_update(before), user_id)])
    return int(document.client_id)


def compact(draft: Any) -> None:
    since = draft_since(draft)
    state = document_of(since).get_update()
    assert draft_compact(draft_id=draft, seq=since.seq, state=state)


def said(api: Any, draft: Draft, seq: int) -> Any:
    answer = api.get(f"{DRAFTS}/{draft.pk}/states/{seq}")
    if answer.status_code != 200:
        return answer.status_code
    return document_read(document_open(base64.b64decode(answer.json()["state"]))).prompt


def test_every_number_of_the_log_can_be_looked_at(as_bob, make_draft) -> None:
    draft = make_draft(prompt="!")
    for letter in "abc":
        typed(draft.pk, letter)
    assert [said(as_bob, draft, seq) for seq in range(5)] == ["!", "a!", "ba!", "cba!", 404]
    compact(draft.pk)
    typed(draft.pk, "d")
    assert [said(as_bob, draft, seq) for seq in range(5)] == ["!", "a!", "ba!", "cba!", "dcba!"]


def test_what_the_log_let_go_is_there_as_moments(as_bob, make_draft) -> None:
    draft = make_draft(prompt="!")
    typed(draft.pk, "a")
    typed(draft.pk, "b")
    compact(draft.pk)
    DraftUpdate.objects.filter(draft=draft, seq__lte=2).delete()
    typed(draft.pk, "c")
    assert [said(as_bob, draft, seq) for seq in range(4)] == ["!", 404, "ba!", "cba!"]
    history = as_bob.get(f"{DRAFTS}/{draft.pk}/history").json()
    assert [moment["seq"] for moment in history["moments"]] == [0, 2]
    assert [(s["first"], s["latest"]) for s in history["strokes"]] == [(3, 3)]


def test_it_says_who_wrote_what_before_and_after_a_compaction(
    as_bob, alice, bob, make_draft
) -> None:
    draft = make_draft()
    hers = typed(draft.pk, "alice ", alice.pk)
    compact(draft.pk)
    his = typed(draft.pk, "bob ", bob.pk)
    history = as_bob.get(f"{DRAFTS}/{draft.pk}/history").json()
    writers = {row["client"]: row["person"] for row in history["writers"]}
    assert writers[hers] == {
        "id": f"u{alice.pk}",
        "name": "Alice",
        "color": color_of(f"u{alice.pk}"),
    }
    assert writers[his]["name"] == "Bob"
    assert [s["person"]["name"] for s in history["strokes"]] == ["Alice", "Bob"]
    assert history["seq"] == 2


def test_whoever_sent_a_client_first_keeps_it(as_bob, alice, bob, make_draft) -> None:
    draft = make_draft()
    hers = typed(draft.pk, "a", alice.pk)
    update = DraftUpdate.objects.get(draft=draft).update
    edits_append([Edit(draft.pk, bytes(update), bob.pk)])
    for _ in range(2):
        [row] = as_bob.get(f"{DRAFTS}/{draft.pk}/history").json()["writers"]
        assert (row["client"], row["person"]["name"]) == (hers, "Alice")
        if draft_since(draft.pk).updates[1:]:
            compact(draft.pk)


def test_restoring_is_an_edit_of_now(as_bob, bob, make_draft) -> None:
    draft = make_draft(prompt=[{"role": "system", "content": "Be brief."}])
    document = document_of(draft_since(draft.pk))
    before = document.get_state()
    content = document["messages"][0]["content"]
    content += " Please."
    document["config"]["temperature"] = 1
    edits_append([Edit(draft.pk, document.get_update(before), None)])
    answer = as_bob.post(f"{DRAFTS}/{draft.pk}/restore", {"seq": 0})
    assert (answer.status_code, answer.json()) == (201, {"seq": 2})
    seq, shape = draft_content(draft.pk)
    assert (seq, shape.prompt) == (2, [{"role": "system", "content": "Be brief."}])
    assert shape.config == {}
    assert DraftUpdate.objects.get(draft=draft, seq=2).user_id == bob.pk
    again = as_bob.post(f"{DRAFTS}/{draft.pk}/restore", {"seq": 0})
    assert again.json() == {"seq": 2}, "it says that already"
    assert said(as_bob, draft, 1) == [{"role": "system", "content": "Be brief. Please."}]


def test_restoring_what_is_not_kept_or_into_a_closed_draft_is_refused(as_bob, make_draft) -> None:
    draft = make_draft()
    assert as_bob.post(f"{DRAFTS}/{draft.pk}/restore", {"seq": 9}).status_code == 404
    assert as_bob.post(f"{DRAFTS}/{draft.pk}/restore", {"seq": -1}).status_code == 400
    typed(draft.pk, "a")
    as_bob.delete(f"{DRAFTS}/{draft.pk}")
    assert as_bob.post(f"{DRAFTS}/{draft.pk}/restore", {"seq": 0}).status_code == 409


def test_a_long_log_is_let_go_but_for_its_newest_part(make_draft) -> None:
    draft = make_draft(prompt="")
    update = document_open().get_update()
    edits_append([Edit(draft.pk, update, None)] * (KEPT_UPDATES + 10))
    compact(draft.pk)
    assert DraftUpdate.objects.filter(draft=draft).count() == KEPT_UPDATES


def test_a_large_log_is_let_go_but_for_its_newest_part(make_draft) -> None:
    draft = make_draft(prompt="")
    for _ in range(3):
        typed(draft.pk, "x" * 2_000_000)
    compact(draft.pk)
    assert DraftUpdate.objects.filter(draft=draft).count() == 2


@pytest.mark.parametrize("path", ["/history", "/states/0"])
def test_history_is_for_the_project_only(
    as_charlie, as_role, foreign_project, make_draft, path: str
) -> None:
    draft = make_draft()
    for slug in ("elsewhere", "demo"):
        assert as_charlie.get(f"/api/projects/{slug}/drafts/{draft.pk}{path}").status_code == 404
    assert as_role(Role.VIEWER).get(f"{DRAFTS}/{draft.pk}{path}").status_code == 200


def test_a_viewer_and_a_stranger_restore_nothing(
    as_charlie, as_role, foreign_project, make_draft
) -> None:
    draft = make_draft()
    assert as_role(Role.VIEWER).post(f"{DRAFTS}/{draft.pk}/restore", {"seq": 0}).status_code == 403
    for slug in ("elsewhere", "demo"):
        path = f"/api/projects/{slug}/drafts/{draft.pk}/restore"
        assert as_charlie.post(path, {"seq": 0}).status_code == 404
