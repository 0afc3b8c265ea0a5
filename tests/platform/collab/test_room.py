"""Rooms over real sockets: one process and two, roles, refusals."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core import signing
from rooms import Web, Yjs, until, until_stored

from hone.accounts.core.roles import Role
from hone.accounts.models import Membership
from hone.accounts.services.members import member_remove, member_update
from hone.collab.core.awareness import Entry, entries_encode, entries_parse
from hone.collab.core.frames import edit_frame, number, sized
from hone.collab.core.tokens import SALT
from hone.collab.models import Draft
from hone.collab.services import draft_close

pytestmark = pytest.mark.django_db(transaction=True)
Enter = Callable[..., Yjs]
Cookie = Callable[[Any], dict[str, str]]


@pytest.fixture
def draft(make_draft: Callable[..., Draft]) -> str:
    return str(make_draft().pk)


@pytest.mark.parametrize("other_web", [0, 1])
async def test_two_people_write_one_text(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie, other_web: int
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    bob = await enter(draft, cookie_of(as_bob), web=other_web).joined()
    assert str(alice.text) == str(bob.text) == "Say hello."
    alice.text.insert(4, "warmly ")
    bob.text.insert(len(str(bob.text)), " Bye.")
    await until(lambda: str(alice.text) == str(bob.text) == "Say warmly hello. Bye.")
    await until_stored(draft, "Say warmly hello. Bye.")


async def test_what_was_written_offline_comes_along(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    bob = await enter(draft, cookie_of(as_bob), web=1).joined()
    await bob.leave()
    alice.text.insert(0, "A")
    bob.text.insert(0, "B")
    await until(lambda: bob.closed is not None)
    await bob.joined()
    await until(lambda: str(alice.text) == str(bob.text))
    assert {"A", "B"} <= set(str(bob.text))


async def test_a_viewer_reads_and_cannot_write(
    enter: Enter, draft: str, as_alice, as_role, cookie_of: Cookie
) -> None:
    viewer = await sync_to_async(as_role)(Role.VIEWER)
    alice = await enter(draft, cookie_of(as_alice)).joined()
    watcher = await enter(draft, cookie_of(viewer), web=1).joined()
    watcher.text.insert(0, "X")
    await until(lambda: bool(watcher.denied))
    alice.text.insert(0, "A")
    await until(lambda: "A" in str(watcher.text))
    assert "X" not in str(alice.text)
    await until_stored(draft, "ASay hello.")


@pytest.mark.parametrize("who", ["charlie", "nobody", "other token", "bad token", "other site"])
async def test_whoever_is_outside_is_told_and_sent_away(
    enter: Enter, draft: str, as_alice, as_charlie, alice, charlie, cookie_of: Cookie, who: str
) -> None:
    headers = {"charlie": cookie_of(as_charlie), "other site": cookie_of(as_alice)}.get(who, {})
    if who == "other site":
        headers["origin"] = "https://evil.example"
    tokens = {
        "other token": signing.dumps({"user": alice.pk, "draft": "0" * 32}, salt=SALT),
        "bad token": "x.y.z",
    }
    query = f"?token={tokens[who]}" if who in tokens else ""
    client = await enter(draft, headers, query=query).connect()
    await until(lambda: client.closed is not None)
    wanted = {"charlie": 4404, "nobody": 4401, "other token": 4404, "bad token": 4401}
    assert client.closed is not None
    assert client.closed[0] == wanted.get(who, 4403)
    assert str(client.text) == ""


@pytest.mark.parametrize("path", ["x", "00000000-0000-0000-0000-000000000000", "../../etc", ""])
async def test_a_room_that_is_not_there(
    enter: Enter, as_alice, cookie_of: Cookie, path: str
) -> None:
    client = await enter(path, cookie_of(as_alice)).connect()
    await until(lambda: client.closed is not None)
    assert client.closed is not None
    assert client.closed[0] == 4404


async def test_a_token_lets_in_whoever_has_no_cookie(
    enter: Enter, draft: str, as_bob, project
) -> None:
    post = sync_to_async(as_bob.post)
    answer = await post(f"/api/projects/demo/drafts/{draft}/token")
    assert answer.status_code == 201
    client = await enter(draft, {}, query=f"?token={answer.json()['token']}").joined()
    client.text.insert(0, "T")
    await until(lambda: str(client.text) == "TSay hello.")
    await until_stored(draft, "TSay hello.")


async def test_a_removed_member_is_cut_off_at_once(
    enter: Enter, draft: str, as_bob, bob, organization, alice, cookie_of: Cookie
) -> None:
    client = await enter(draft, cookie_of(as_bob)).joined()
    membership = await Membership.objects.aget(user=bob, organization=organization)
    await sync_to_async(member_remove)(
        organization=organization, by=Role.OWNER, by_user=alice, membership_id=membership.pk
    )
    await until(lambda: client.closed is not None, 3)
    assert client.closed is not None
    assert client.closed[0] == 4404


async def test_a_role_that_changes_changes_the_room(
    enter: Enter, draft: str, as_bob, bob, organization, cookie_of: Cookie
) -> None:
    client = await enter(draft, cookie_of(as_bob)).joined()
    membership = await Membership.objects.aget(user=bob, organization=organization)
    await sync_to_async(member_update)(
        organization=organization, by=Role.OWNER, membership_id=membership.pk, role=Role.VIEWER
    )
    await until(lambda: client.closed is not None, 3)
    assert client.closed is not None
    assert client.closed[0] == 4403
    await client.joined()
    client.text.insert(0, "X")
    await until(lambda: bool(client.denied))


BAD_FRAMES = [
    b"",
    b"\x00",
    b"\x00\x02\x05ab",
    b"\x00\x02" + sized(b"\xff" * 30),
    b"\x00\x09" + sized(b"x"),
    b"\x07\x01",
    b"\x80" * 20,
    b"\x01" + sized(number(1) + number(1) + number(1) + sized(b"{")),
    b"\x01" + sized(number(2**40)),
]


@pytest.mark.parametrize("frame", BAD_FRAMES)
async def test_a_bad_frame_ends_its_socket_and_nothing_else(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie, frame: bytes
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    bob = await enter(draft, cookie_of(as_bob)).joined()
    bob.send(frame)
    await until(lambda: bob.closed is not None)
    assert bob.closed is not None
    assert bob.closed[0] == 1003
    alice.text.insert(0, "A")
    await bob.joined()
    await until(lambda: str(bob.text) == "ASay hello.")


async def test_a_frame_that_is_too_large_is_refused(
    enter: Enter, draft: str, as_alice, cookie_of: Cookie
) -> None:
    client = await enter(draft, cookie_of(as_alice)).joined()
    client.send(edit_frame(bytes(3 * 1024 * 1024)))
    await until(lambda: client.closed is not None)
    assert client.closed is not None
    assert client.closed[0] == 1009


@pytest.mark.parametrize("other_web", [0, 1])
async def test_people_are_seen_by_the_name_the_server_knows(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie, other_web: int
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    bob = await enter(draft, cookie_of(as_bob), web=other_web).joined()
    liar = {"user": {"name": "Charlie"}, "cursor": {"at": 3}}
    alice.tell(entries_encode([Entry(77, 1, liar), Entry(78, 1, {"user": {"name": "Ghost"}})]))
    await until(lambda: bool(bob.awareness))
    [entry] = entries_parse(bob.awareness[-1])
    assert entry.client == 77
    assert entry.state is not None
    assert entry.state["user"]["name"] == "Alice"
    assert entry.state["cursor"] == {"at": 3}
    late = await enter(draft, cookie_of(as_bob), web=other_web).connect()
    await until(lambda: bool(late.awareness))
    await alice.leave()
    await until(lambda: any(e.state is None for e in entries_parse(bob.awareness[-1])))


async def test_a_closed_draft_sends_everybody_away(
    enter: Enter, draft: str, as_alice, cookie_of: Cookie
) -> None:
    client = await enter(draft, cookie_of(as_alice)).joined()
    await sync_to_async(draft_close)(draft=await Draft.objects.aget(pk=draft))
    client.text.insert(0, "X")
    await until(lambda: client.closed is not None)
    assert client.closed is not None
    assert client.closed[0] == 4410


async def test_a_killed_server_loses_nothing_that_another_saw(
    enter: Enter, webs: list[Web], draft: str, as_alice, as_bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    bob = await enter(draft, cookie_of(as_bob)).joined()
    alice.text.insert(0, "seen ")
    await until(lambda: str(bob.text).startswith("seen "))
    webs[0].kill()
    await until(lambda: bob.closed is not None and alice.closed is not None)
    alice.text.insert(0, "offline ")
    webs[0].start()
    await asyncio.to_thread(webs[0].until_up)
    await bob.joined()
    assert str(bob.text).startswith("seen ")
    await alice.joined()
    await until(lambda: str(bob.text) == str(alice.text) == "offline seen Say hello.")
