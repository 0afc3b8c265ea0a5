"""Proposals: judged by others, for one content, and published to labels that need it."""

from typing import Any

import pytest

from hone.accounts.core.roles import Role
from hone.accounts.models import Membership, User
from hone.collab.models import Proposal
from hone.collab.selectors import document_of, draft_since
from hone.collab.services import Edit, edits_append
from hone.prompts.models import Label, PromptVersion, VersionApproval

pytestmark = pytest.mark.django_db
PROMPTS = "/api/projects/demo/prompts"
DRAFTS = "/api/projects/demo/drafts"
POLICY = "/api/projects/demo/review-policy"


def typed(draft: Any, text: str, at: int = 0) -> None:
    """Type at a place of the draft, as a client would."""
    document = document_of(draft_since(draft.pk))
    before = document.get_state()
    document["text"].insert(at, text)
    edits_append([Edit(draft.pk, document.get_update(before), None)])


@pytest.fixture
def draft(make_draft, as_alice) -> Any:
    """A draft with one edit, in a project where production needs one approval."""
    assert as_alice.put(POLICY, {"labels": {"production": 1}}).status_code == 200
    made = make_draft()
    typed(made, "Please. ")
    return made


def propose(api: Any, draft: Any, label: str = "production") -> Any:
    body = {"message": "kinder", "label": label}
    answer = api.post(f"{DRAFTS}/{draft.pk}/proposal", body)
    assert answer.status_code == 201, answer.content
    return answer.json()


def judge(api: Any, draft: Any, kind: str = "approved", content_hash: str = "") -> Any:
    address = f"{DRAFTS}/{draft.pk}/proposal"
    known = content_hash or api.get(address).json()["content_hash"]
    return api.post(f"{address}/verdicts", {"kind": kind, "content_hash": known, "note": "ok"})


def publish(api: Any, draft: Any) -> Any:
    return api.post(f"{DRAFTS}/{draft.pk}/proposal/publish")


def test_a_reviewed_label_goes_to_what_somebody_else_approved(as_alice, as_bob, draft) -> None:
    stand = propose(as_bob, draft)
    assert (stand["num_needed"], stand["reasons"]) == (1, ["0 of 1 approvals"])
    refused = publish(as_bob, draft)
    assert (refused.status_code, refused.json()["error"]["field"]) == (403, "label")
    assert PromptVersion.objects.count() == 1, "nothing was made"
    assert judge(as_alice, draft).json()["reasons"] == []
    answer = publish(as_bob, draft)
    assert answer.status_code == 201, answer.content
    assert (answer.json()["version"], answer.json()["status"]) == (2, "published")
    assert Label.objects.get(name="production").version.number == 2
    assert list(VersionApproval.objects.values_list("user_name", flat=True)) == ["Alice"]
    assert as_bob.get(f"{DRAFTS}/{draft.pk}/proposal").status_code == 404, "it is done"
    [past] = as_bob.get(f"{DRAFTS}/{draft.pk}/proposals").json()["data"]
    assert (past["version"], past["message"]) == (2, "kinder")


def test_nobody_judges_a_proposal_of_their_own(as_alice, as_bob, draft) -> None:
    propose(as_bob, draft)
    assert judge(as_bob, draft).status_code == 403
    assert judge(as_alice, draft).status_code == 201


def test_an_edit_makes_an_approval_stale(as_alice, as_bob, draft) -> None:
    propose(as_bob, draft)
    read = as_alice.get(f"{DRAFTS}/{draft.pk}/proposal").json()["content_hash"]
    assert judge(as_alice, draft).json()["num_approvals"] == 1
    typed(draft, "Now. ")
    stand = as_bob.get(f"{DRAFTS}/{draft.pk}/proposal").json()
    assert [verdict["is_stale"] for verdict in stand["verdicts"]] == [True]
    assert stand["reasons"] == ["0 of 1 approvals; 1 given before the latest edits"]
    assert publish(as_bob, draft).status_code == 403
    late = judge(as_alice, draft, content_hash=read)
    assert (late.status_code, late.json()["error"]["field"]) == (409, "content_hash")
    assert judge(as_alice, draft).json()["reasons"] == []


def test_whoever_asks_for_changes_is_heard_until_there_are_some(as_alice, as_bob, draft) -> None:
    propose(as_bob, draft)
    judge(as_alice, draft)
    assert judge(as_alice, draft, "changes").json()["reasons"] == [
        "Alice asks for changes",
        "0 of 1 approvals",
    ]
    assert publish(as_bob, draft).status_code == 403
    assert judge(as_alice, draft).json()["reasons"] == [], "the latest word counts"


def test_a_reviewed_label_is_moved_to_no_version_without_approvals(
    as_alice, as_bob, as_key, draft
) -> None:
    made = as_alice.post(f"{PROMPTS}/greet/versions", {"prompt": "Mine."})
    assert made.status_code == 201
    for api in (as_alice, as_bob):  # an admin, too
        moved = api.put(f"{PROMPTS}/greet/labels/production", {"version": 2})
        assert (moved.status_code, moved.json()["error"]["field"]) == (403, "label")
        body = {"prompt": "At once.", "labels": ["production"]}
        assert api.post(f"{PROMPTS}/greet/versions", body).status_code == 403
    direct = as_bob.post(f"{DRAFTS}/{draft.pk}/publish", {"labels": ["production"]})
    assert direct.status_code in (403, 409)
    assert not Label.objects.filter(name="production").exists()
    assert as_bob.put(f"{PROMPTS}/greet/labels/staging", {"version": 2}).status_code == 200


def test_a_label_goes_back_to_what_was_approved_once(as_alice, as_bob, draft) -> None:
    propose(as_bob, draft)
    judge(as_alice, draft)
    publish(as_bob, draft)
    typed(draft, "Again. ")
    propose(as_bob, draft)
    judge(as_alice, draft)
    publish(as_bob, draft)
    back = as_bob.put(f"{PROMPTS}/greet/labels/production", {"version": 2})
    assert back.status_code == 200
    words = as_bob.get(f"{PROMPTS}/greet/versions/2").json()["prompt"]
    copy = as_bob.post(f"{PROMPTS}/greet/versions", {"prompt": words, "labels": ["production"]})
    assert copy.status_code == 201, "what it says was approved"


def test_two_approvals_are_of_two_people(as_alice, as_bob, as_role, draft) -> None:
    as_alice.put(POLICY, {"labels": {"production": 2}})
    propose(as_bob, draft)
    judge(as_alice, draft)
    assert judge(as_alice, draft).json()["reasons"] == ["1 of 2 approvals"]
    assert judge(as_role(Role.ADMIN), draft).json()["reasons"] == []
    assert publish(as_bob, draft).status_code == 201
    assert VersionApproval.objects.count() == 2


def test_a_label_without_a_rule_needs_nobody(as_bob, draft) -> None:
    assert propose(as_bob, draft, "beta")["reasons"] == []
    assert publish(as_bob, draft).json()["version"] == 2
    assert Label.objects.get(name="beta").version.number == 2


def test_a_draft_of_an_older_version_says_what_to_do(as_alice, as_bob, draft) -> None:
    propose(as_bob, draft, "")
    as_alice.post(f"{PROMPTS}/greet/versions", {"prompt": "Later."})
    stand = as_bob.get(f"{DRAFTS}/{draft.pk}/proposal").json()
    assert stand["reasons"] == ["Version 2 is newer than what the draft started from; merge it"]
    assert publish(as_bob, draft).status_code == 403


def test_a_proposal_is_changed_and_withdrawn(as_bob, draft) -> None:
    propose(as_bob, draft)
    again = as_bob.post(f"{DRAFTS}/{draft.pk}/proposal", {})
    assert again.status_code == 409
    changed = as_bob.patch(f"{DRAFTS}/{draft.pk}/proposal", {"label": "beta"}).json()
    assert (changed["label"], changed["message"], changed["reasons"]) == ("beta", "kinder", [])
    assert as_bob.patch(f"{DRAFTS}/{draft.pk}/proposal", {"label": "No!"}).status_code == 400
    assert as_bob.delete(f"{DRAFTS}/{draft.pk}/proposal").status_code == 204
    assert Proposal.objects.get().status == "withdrawn"
    propose(as_bob, draft)


def test_only_an_admin_sets_the_policy(as_alice, as_bob, as_role, project) -> None:
    assert as_bob.put(POLICY, {"labels": {"production": 1}}).status_code == 403
    assert as_alice.put(POLICY, {"labels": {"production": 2, "beta": 1}}).status_code == 200
    assert as_role(Role.VIEWER).get(POLICY).json() == {"labels": {"beta": 1, "production": 2}}
    assert as_alice.put(POLICY, {"labels": {"beta": 3}}).json() == {"labels": {"beta": 3}}
    for wrong in ({"beta": 0}, {"beta": 11}, {"Beta!": 1}, {"latest": 1}):
        answer = as_alice.put(POLICY, {"labels": wrong})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid"), wrong


def test_a_viewer_reads_a_proposal_and_decides_nothing(as_bob, as_role, draft) -> None:
    propose(as_bob, draft)
    viewer = as_role(Role.VIEWER)
    address = f"{DRAFTS}/{draft.pk}/proposal"
    assert viewer.get(address).status_code == 200
    assert judge(viewer, draft).status_code == 403
    assert publish(viewer, draft).status_code == 403
    assert viewer.post(address, {}).status_code == 403
    assert viewer.patch(address, {}).status_code == 403
    assert viewer.delete(address).status_code == 403


def test_a_key_proposes_but_does_not_judge(as_key, as_bob, draft) -> None:
    propose(as_bob, draft)
    assert judge(as_key, draft).status_code == 403
    assert publish(as_key, draft).status_code == 403


def test_whoever_left_the_team_judges_no_more(as_alice, as_bob, bob: User, draft) -> None:
    propose(as_alice, draft)
    Membership.objects.filter(user=bob).delete()
    answer = as_bob.post(f"{DRAFTS}/{draft.pk}/proposal/verdicts", {})
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "merge?version=1"),
        ("POST", "merge"),
        ("GET", "comments"),
        ("POST", "comments"),
        ("GET", "proposals"),
        ("GET", "proposal"),
        ("POST", "proposal"),
        ("PATCH", "proposal"),
        ("DELETE", "proposal"),
        ("POST", "proposal/verdicts"),
        ("POST", "proposal/publish"),
        ("PATCH", ""),
    ],
)
def test_charlie_finds_no_draft_of_others_in_his_project(
    as_charlie, foreign_project, as_bob, draft, method: str, path: str
) -> None:
    propose(as_bob, draft)
    address = f"/api/projects/elsewhere/drafts/{draft.pk}/{path}".rstrip("/")
    answer = as_charlie.generic(method, address, {})
    assert answer.status_code in (400, 404)
    assert answer.status_code == 404 or method == "POST", "a body is read first"
    assert Proposal.objects.get().status == "open"
