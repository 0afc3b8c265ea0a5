"""Several drafts of a prompt: listed, renamed, closed, merged with each other and with versions."""

from base64 import b64decode
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from rooms import until

from hone.accounts.core.roles import Role
from hone.collab.consumers import relay
from hone.collab.core import relayed
from hone.collab.core.change import document_change
from hone.collab.core.resolve import Resolved
from hone.collab.core.shape import Shape, document_made, document_open, document_read
from hone.collab.models import DraftMoment, DraftUpdate
from hone.collab.selectors import document_of, draft_content, draft_since
from hone.collab.services import Edit, edits_append

pytestmark = pytest.mark.django_db
PROMPTS = "/api/projects/demo/prompts"
DRAFTS = "/api/projects/demo/drafts"


def written(draft: Any, content: Any, user_id: int | None = None) -> None:
    """Let the draft say something else, by edits."""
    document = document_of(draft_since(draft))
    shape = document_read(document)
    origins = [n if n < len(shape.prompt) else None for n in range(len(content))]
    wanted = Resolved(Shape(shape.type, content, shape.config, shape.variables), origins)
    edits_append([Edit(draft, document_change(document, wanted), user_id)])


def said(draft: Any) -> Any:
    return draft_content(draft)[1].prompt


def branch(api: Any, name: str, version: int | None = None) -> str:
    body = {"name": name} | ({"version": version} if version else {})
    answer = api.post(f"{PROMPTS}/greet/drafts", body)
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


def merge(api: Any, into: Any, **body: Any) -> Any:
    return api.post(f"{DRAFTS}/{into}/merge", body)


def test_drafts_are_listed_with_who_wrote_in_them(as_bob, alice, bob, make_draft) -> None:
    main = make_draft()
    other = branch(as_bob, "friendlier")
    written(main.pk, "Say hello!", alice.pk)
    written(other, "Say hello, please.", bob.pk)
    rows = as_bob.get(f"{PROMPTS}/greet/drafts").json()["data"]
    assert [(row["name"], row["people"], row["base_version"]) for row in rows] == [
        ("friendlier", ["Bob"], 1),
        ("main", ["Alice"], 1),
    ]


def test_a_closed_draft_is_read_and_opened_again(as_bob, make_draft) -> None:
    make_draft()
    draft = branch(as_bob, "friendlier")
    written(draft, "Hi.")
    assert as_bob.patch(f"{DRAFTS}/{draft}", {"status": "closed"}).json()["status"] == "closed"
    rows = as_bob.get(f"{PROMPTS}/greet/drafts").json()["data"]
    assert [row["name"] for row in rows] == ["main"]
    closed = as_bob.get(f"{PROMPTS}/greet/drafts?closed=1").json()["data"]
    assert {row["name"] for row in closed} == {"main", "friendlier"}
    assert as_bob.get(f"{DRAFTS}/{draft}").json()["content"] == "Hi."
    branch(as_bob, "friendlier")
    taken = as_bob.patch(f"{DRAFTS}/{draft}", {"status": "open"})
    assert (taken.status_code, taken.json()["error"]["field"]) == (409, "name")
    body = {"status": "open", "name": "older"}
    assert as_bob.patch(f"{DRAFTS}/{draft}", body).json()["name"] == "older"
    assert said(draft) == "Hi."


def test_a_draft_is_renamed_but_the_main_one_is_not(as_bob, as_role, make_draft) -> None:
    main = make_draft()
    draft = branch(as_bob, "a")
    assert as_bob.patch(f"{DRAFTS}/{draft}", {"name": "b"}).json()["name"] == "b"
    for body in ({"name": " "}, {"name": "x" * 81}, {"status": "gone"}):
        assert as_bob.patch(f"{DRAFTS}/{draft}", body).status_code == 400
    assert as_bob.patch(f"{DRAFTS}/{main.pk}", {"name": "b"}).status_code == 400
    assert as_role(Role.VIEWER).patch(f"{DRAFTS}/{draft}", {"name": "c"}).status_code == 403


def test_a_draft_takes_in_another_without_a_conflict(as_bob, make_draft) -> None:
    main = make_draft(prompt="One.\nTwo.\nThree.\n")
    other = branch(as_bob, "other")
    written(main.pk, "One!\nTwo.\nThree.\n")
    written(other, "One.\nTwo.\nThree, four.\n")
    found = as_bob.get(f"{DRAFTS}/{main.pk}/merge?draft={other}").json()
    assert (found["source"], found["base_version"], found["conflicts"]) == ("draft other", 1, [])
    assert "".join(piece["text"] for piece in found["text"]) == "One!\nTwo.\nThree, four.\n"
    assert found["is_changed"] is True
    answer = merge(as_bob, main.pk, draft=other)
    assert answer.status_code == 200, answer.content
    assert said(main.pk) == "One!\nTwo.\nThree, four.\n"
    logged = DraftUpdate.objects.get(draft=main, seq=answer.json()["seq"])
    assert b64decode(answer.json()["update"]) == bytes(logged.update), "the edit, to be undone"
    assert said(other) == "One.\nTwo.\nThree, four.\n"
    assert DraftMoment.objects.filter(draft=main, seq=1).exists(), "what it said before is kept"
    again = as_bob.get(f"{DRAFTS}/{main.pk}/merge?draft={other}").json()
    assert (again["is_changed"], again["conflicts"]) == (False, [])


def test_what_was_merged_once_is_no_conflict_later(as_bob, make_draft) -> None:
    main = make_draft(prompt="Say hello.")
    other = branch(as_bob, "other")
    written(other, "Say hello, friend.")
    merge(as_bob, main.pk, draft=other)
    written(other, "Say hello, colleague.")
    found = as_bob.get(f"{DRAFTS}/{main.pk}/merge?draft={other}").json()
    assert found["conflicts"] == []
    assert as_bob.get(f"{DRAFTS}/{other}/merge?draft={main.pk}").json()["conflicts"] == []
    merge(as_bob, main.pk, draft=other)
    assert said(main.pk) == "Say hello, colleague."


def test_a_conflict_is_decided_or_the_merge_is_refused(as_bob, make_draft) -> None:
    main = make_draft(prompt="Be kind.")
    other = branch(as_bob, "other")
    written(main.pk, "Be brief.")
    written(other, "Be precise.")
    [conflict] = as_bob.get(f"{DRAFTS}/{main.pk}/merge?draft={other}").json()["conflicts"]
    assert (conflict["kind"], conflict["where"], conflict["base"]["value"]) == (
        "text",
        "text",
        "kind",
    )
    refused = merge(as_bob, main.pk, draft=other)
    assert (refused.status_code, refused.json()["error"]["field"]) == (409, "choices")
    choices = {conflict["id"]: {"take": "edit", "value": "brief and precise"}}
    assert merge(as_bob, main.pk, draft=other, choices=choices).status_code == 200
    assert said(main.pk) == "Be brief and precise."


def test_a_draft_that_moved_meanwhile_is_merged_unless_the_piece_changed(
    as_bob, make_draft
) -> None:
    main = make_draft(prompt="Be kind.\n\nEnd.")
    other = branch(as_bob, "other")
    written(main.pk, "Be brief.\n\nEnd.")
    written(other, "Be precise.\n\nEnd.")
    [conflict] = as_bob.get(f"{DRAFTS}/{main.pk}/merge?draft={other}").json()["conflicts"]
    choices = {conflict["id"]: {"take": "theirs"}}
    written(main.pk, "Be very brief indeed.\n\nEnd.")
    stale = merge(as_bob, main.pk, draft=other, choices=choices)
    assert stale.status_code == 409
    assert said(main.pk) == "Be very brief indeed.\n\nEnd."
    written(main.pk, "Be brief.\n\nThe end.")
    assert merge(as_bob, main.pk, draft=other, choices=choices).status_code == 200
    assert said(main.pk) == "Be precise.\n\nThe end."


def test_a_draft_is_brought_up_to_a_later_version_and_published(as_bob, make_draft) -> None:
    main = make_draft(prompt="One.\nTwo.\n")
    as_bob.post(f"{PROMPTS}/greet/versions", {"prompt": "One.\nTwo, later.\n"})
    written(main.pk, "One, mine.\nTwo.\n")
    assert as_bob.post(f"{DRAFTS}/{main.pk}/publish", {}).status_code == 409
    answer = merge(as_bob, main.pk, version=2)
    assert answer.json()["base_version"] == 2
    published = as_bob.post(f"{DRAFTS}/{main.pk}/publish", {})
    assert (published.status_code, published.json()) == (201, {"version": 3})
    words = as_bob.get(f"{PROMPTS}/greet/versions/3").json()
    assert (words["prompt"], words["parent"]) == ("One, mine.\nTwo, later.\n", 2)


def test_chats_are_merged_message_by_message(as_bob, make_draft) -> None:
    system, user = {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}
    main = make_draft(prompt=[system, user])
    other = branch(as_bob, "other")
    answer = {"role": "assistant", "content": "Hello!"}
    written(main.pk, [{"role": "system", "content": "Be kind to all."}, user])
    written(other, [system, user, answer])
    document = document_of(draft_since(main.pk))
    ids = [message["content"] for message in document["messages"]]
    assert len(ids) == 2
    assert merge(as_bob, main.pk, draft=other).status_code == 200
    assert said(main.pk) == [{"role": "system", "content": "Be kind to all."}, user, answer]
    since = draft_since(main.pk, 1)
    document.apply_update(since.updates[-1])
    assert str(ids[0]) == "Be kind to all.", "what stays is the same shared text"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "draft"),
        ({"version": 1, "draft": "00000000-0000-0000-0000-000000000000"}, "draft"),
        ({"version": "x"}, "version"),
        ({"version": 1, "choices": {"a": {"take": "ours"}}}, None),
        ({"version": 1, "choices": 3}, "choices"),
    ],
)
def test_a_merge_of_what_is_no_source_is_refused(
    as_bob, make_draft, body: Any, field: str | None
) -> None:
    answer = merge(as_bob, make_draft().pk, **body)
    assert answer.status_code == 400
    assert field is None or answer.json()["error"]["field"] == field


def test_a_draft_is_not_merged_with_itself_nor_with_another_prompt(as_bob, make_draft) -> None:
    main, foreign = make_draft(), make_draft("other")
    assert merge(as_bob, main.pk, draft=str(main.pk)).status_code == 400
    assert merge(as_bob, main.pk, draft=str(foreign.pk)).status_code == 400
    assert merge(as_bob, main.pk, version=9).status_code == 404
    for query in ("", "?version=x", "?version=0", "?draft=x"):
        answer = as_bob.get(f"{DRAFTS}/{main.pk}/merge{query}")
        assert answer.status_code in (400, 404), query
    as_bob.patch(f"{DRAFTS}/{foreign.pk}", {"status": "closed"})
    assert merge(as_bob, foreign.pk, version=1).status_code == 409


def test_a_viewer_looks_at_a_merge_and_does_none(as_role, make_draft) -> None:
    main = make_draft()
    viewer = as_role(Role.VIEWER)
    assert viewer.get(f"{DRAFTS}/{main.pk}/merge?version=1").status_code == 200
    assert merge(viewer, main.pk, version=1).status_code == 403


def test_the_graph_has_versions_with_their_parents_and_drafts(
    as_bob, as_charlie, make_draft
) -> None:
    make_draft()
    as_bob.post(f"{PROMPTS}/greet/versions", {"prompt": "Two.", "labels": ["beta"]})
    as_bob.post(f"{PROMPTS}/greet/versions", {"prompt": "Three.", "parent": 1})
    branch(as_bob, "side", 2)
    found = as_bob.get(f"{PROMPTS}/greet/drafts/graph").json()
    assert [(row["version"], row["parent"]) for row in found["versions"]] == [
        (3, 1),
        (2, 1),
        (1, None),
    ]
    assert found["versions"][1]["labels"] == ["beta"]
    assert {(row["name"], row["base_version"]) for row in found["drafts"]} == {
        ("main", 1),
        ("side", 2),
    }
    assert as_charlie.get(f"{PROMPTS}/greet/drafts/graph").status_code == 404


def test_rooms_understand_what_is_told_beside_them() -> None:
    head = relay._HEAD if hasattr(relay, "_HEAD") else relayed.HEAD
    data = relayed.pack_edit(b"somebody", 7, b"update")
    assert head.unpack_from(data) == (relay.EDIT, b"somebody", 7)
    assert data[head.size :] == b"update"
    assert relayed.pack_edit(b"somebody", 7, b"u" * 100_000)[head.size :] == b""


def test_a_document_is_changed_by_few_edits() -> None:
    document = document_open(document_made(Shape("text", "Grüße 🙂, Welt! Ende.", {"a": 1}, {})))
    copy = document_open(document.get_update())
    wanted = Shape("text", "Viele Grüße 🙂🙂, schöne Welt. Ende.", {"b": [1]}, {"x": {"type": "s"}})
    update = document_change(document, Resolved(wanted, []))
    copy.apply_update(update)
    assert document_read(copy) == document_read(document) == wanted
    assert len(update) < 200


def test_messages_change_in_place_and_move(make_draft) -> None:
    chat = [{"role": "user", "content": letter} for letter in "abcd"]
    document = document_open(document_made(Shape("chat", chat, {}, {})))
    wanted = [
        {"role": "user", "content": "d"},
        {"role": "assistant", "content": "b!"},
        {"role": "user", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "user", "content": "new"},
    ]
    document_change(document, Resolved(Shape("chat", wanted, {}, {}), [3, 1, 2, None]))
    assert document_read(document).prompt == wanted


@pytest.mark.django_db(transaction=True)
async def test_a_merge_is_seen_in_the_open_rooms(
    enter, make_draft, as_alice, as_bob, cookie_of
) -> None:
    make = sync_to_async(make_draft)
    main = await make(prompt="One.\nTwo.\n")
    other = await sync_to_async(branch)(as_bob, "other")
    await sync_to_async(written)(other, "One.\nTwo, three.\n")
    alice = await enter(main.pk, cookie_of(as_alice)).joined()
    bob = await enter(main.pk, cookie_of(as_bob), web=1).joined()
    alice.text.insert(0, "Zero. ")
    await until(lambda: str(bob.text) == "Zero. One.\nTwo.\n")
    answer = await sync_to_async(merge)(as_bob, main.pk, draft=other)
    assert answer.status_code == 200
    for person in (alice, bob):
        await until(lambda person=person: str(person.text) == "Zero. One.\nTwo, three.\n")
