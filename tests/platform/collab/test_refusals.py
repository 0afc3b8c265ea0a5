"""What a room does not take, and that it goes on all the same."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from hypothesis import given, settings
from hypothesis import strategies as st
from pycrdt import Array, Doc, Map, Text, XmlElement, XmlFragment
from rooms import Yjs, stored, until, until_stored

from hone.accounts.core.roles import Role
from hone.accounts.services.rights import MEMBERS_CHANGED
from hone.collab.consumers.client import MOST_HEARD, Client
from hone.collab.consumers.door import MAX_FRAME_BYTES, MAX_STATES_BYTES
from hone.collab.consumers.room import MOST_SOCKETS
from hone.collab.core.awareness import MOST_ENTRIES, Entry, entries_encode, entries_parse
from hone.collab.core.clients import clients_of
from hone.collab.core.frames import (
    EMPTY_UPDATE,
    QUERY,
    awareness_frame,
    edit_frame,
    number,
    state_frame,
)
from hone.collab.core.nesting import MOST_PARTS
from hone.collab.core.people import Person
from hone.collab.core.replica import Replica
from hone.collab.core.shape import (
    Shape,
    ShapeError,
    document_made,
    document_open,
    document_read,
    update_apply,
    update_check,
)
from hone.collab.models import Draft
from hone.collab.selectors import document_of, draft_since
from hone.collab.services.log import MOST_BYTES
from hone.common import events

rooms = pytest.mark.django_db(transaction=True)
Enter = Callable[..., Yjs]
Cookie = Callable[[Any], dict[str, str]]
KEPT = Shape("chat", [{"role": "user", "content": "kept"}], {"a": [1, {"b": 2}]}, {})
FULL = 4413


@pytest.fixture
def draft(make_draft: Callable[..., Draft]) -> str:
    return str(make_draft().pk)


def orphan(base: bytes, client: int = 77) -> bytes:
    """An edit of something that is no text, list or map: a document without it takes it."""
    target = number(clients_of(base)[0]) + number(0)
    head = b"\x01\x01" + number(client) + number(0)
    return head + b"\x28\x00" + target + b"\x01q\x01\x7d\x01" + b"\x00"


def other_types() -> dict[str, bytes]:
    """Updates that use the roots as something else than they are, or empty them."""
    found: dict[str, bytes] = {}
    for root in ("text", "messages", "config", "meta"):
        for kind in (Text, Map, Array, XmlFragment):
            document: Doc[Any] = Doc()
            shared = document.get(root, type=kind)
            if kind is Text:
                shared.insert(0, "a\N{GRINNING FACE}b")
            elif kind is Map:
                shared["type"] = Map({"a": Text("x")})
            elif kind is Array:
                shared.extend([1, "x", Array([Text("y")]), Map({"content": 3})])
            else:
                shared.children.append(XmlElement("p"))
            found[f"{root} as {kind.__name__}"] = document.get_update()
    return found


OTHER_TYPES = other_types()


def emptied(base: bytes) -> bytes:
    document = document_open(base)
    before = document.get_state()
    with document.transaction():
        del document["messages"][0]
        for root in ("config", "meta", "variables"):
            for key in list(document[root].keys()):
                del document[root][key]
    return document.get_update(before)


# Made once: the numbers of Yjs clients are drawn anew for each document.
BASE = document_made(KEPT)
REAL = [*OTHER_TYPES.values(), emptied(BASE), orphan(BASE), BASE]


def goes_on(document: Any) -> None:
    """The document takes an honest edit, and is whole for whoever opens it."""
    other = document_open(document.get_update())
    before = other.get_state()
    other["text"].insert(0, "honest")
    assert update_apply(document, other.get_update(before))
    assert "honest" in str(document_open(document.get_update())["text"])


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_a_root_used_as_another_type_breaks_nothing(name: str) -> None:
    update_check(OTHER_TYPES[name])
    document = document_open(document_made(KEPT))
    update_apply(document, OTHER_TYPES[name])
    with contextlib.suppress(ShapeError):
        assert isinstance(document_read(document), Shape)
    goes_on(document)


def test_letters_among_the_messages_are_named() -> None:
    document = document_open(document_made(KEPT))
    update_apply(document, OTHER_TYPES["messages as Text"])
    with pytest.raises(ShapeError, match="messages holds letters"):
        document_read(document)


@pytest.mark.parametrize("root", ["config", "variables", "messages"])
def test_a_shared_list_with_letters_in_it_is_never_read(root: str) -> None:
    """It is an Array to the server; its letters come by an edit of the same place as a text."""
    document = document_open(document_made(KEPT))
    if root == "messages":
        document["messages"].append(Map({"tools": Array(["x"])}))
    else:
        document[root]["tools"] = Map({"deep": Array(["x"])})
    with pytest.raises(ShapeError, match=f"{root} holds a shared list"):
        document_read(document)


def test_an_edit_that_only_an_empty_document_takes_is_left_out() -> None:
    base = document_made(KEPT)
    update_check(orphan(base))
    document = document_open(base)
    assert not update_apply(document, orphan(base))
    assert document_read(document) == KEPT
    goes_on(document)


@settings(deadline=None)  # a panic that is caught takes its time to be printed
@given(st.data())
def test_parts_and_damaged_forms_of_real_edits_break_nothing(data: st.DataObject) -> None:
    update = bytearray(data.draw(st.sampled_from(REAL)))
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(update) - 1))
        update[place] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, 4, 0x27]))
    cut = bytes(update[: data.draw(st.integers(0, len(update)))])
    try:
        update_check(cut)
    except ValueError:
        return
    document = document_open(BASE)
    update_apply(document, cut)
    clients_of(cut)
    goes_on(document)


@rooms
async def test_a_room_outlives_every_odd_edit(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    since = await sync_to_async(draft_since)(draft)
    base = document_of(since).get_update()
    refused = await enter(draft, cookie_of(as_bob)).joined()
    refused.send(edit_frame(orphan(base)))
    await until(lambda: refused.closed is not None)
    assert refused.closed is not None
    assert refused.closed[0] == 1003
    for web, update in enumerate(v for k, v in OTHER_TYPES.items() if k.startswith("config")):
        bob = await enter(draft, cookie_of(as_bob), web=web % 2).joined()
        bob.send(edit_frame(update))
        bob.text.insert(0, f"{web}")
        await until(lambda web=web: str(alice.text).startswith(f"{web}"))
        await bob.leave()
    late = await enter(draft, cookie_of(as_bob), web=1).joined()
    assert str(late.text) == str(alice.text)
    await until_stored(draft, str(alice.text))


@rooms
async def test_a_full_draft_keeps_what_it_has_and_lets_one_delete(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    bob = await enter(draft, cookie_of(as_bob)).joined()
    part = 1_900_000
    for _ in range(MOST_BYTES // part):
        alice.text.insert(0, "x" * part)
    await until(lambda: len(str(bob.text)) > 7_000_000)
    accepted = str(bob.text)
    alice.text.insert(0, "y" * part)
    await until(lambda: alice.closed is not None)
    assert alice.closed is not None
    assert alice.closed[0] == FULL
    assert "delete some" in alice.closed[1]
    del bob.text[0:part]
    bob.text.insert(0, "short")
    while await stored(draft) != "short" + accepted[part:]:
        assert bob.closed is None
        await asyncio.sleep(0.05)


@rooms
async def test_one_person_opens_only_so_many_sockets(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie
) -> None:
    headers = cookie_of(as_bob)
    for _ in range(MOST_SOCKETS // 20):
        await asyncio.gather(*(enter(draft, headers).joined() for _ in range(20)))
    late = await enter(draft, headers).connect()
    await until(lambda: late.closed is not None)
    assert late.closed is not None
    assert late.closed[0] == 1013
    assert "close some" in late.closed[1]
    alice = await enter(draft, cookie_of(as_alice)).joined()
    assert str(alice.text) == "Say hello."


@rooms
@pytest.mark.parametrize("web", [0, 1])
async def test_a_flood_of_edits_keeps_nobody_else_waiting(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie, web: int
) -> None:
    alice = await enter(draft, cookie_of(as_alice), web=web).joined()
    bob = await enter(draft, cookie_of(as_bob), web=web).joined()
    for _ in range(3000):
        bob.text.insert(0, "b")
    alice.text.insert(0, "A")
    await until(lambda: "A" in str(bob.text) and str(alice.text).count("b") == 3000)
    assert str(alice.text) == str(bob.text)
    await until_stored(draft, str(alice.text))


@rooms
async def test_a_flood_of_cursors_reaches_others_as_a_few(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    bob = await enter(draft, cookie_of(as_bob)).joined()
    for clock in range(1, 2001):
        bob.tell(entries_encode([Entry(5, clock, {"cursor": clock})]))
    await until(
        lambda: any(e.clock == 2000 for told in alice.awareness[-1:] for e in entries_parse(told))
    )
    assert len(alice.awareness) < 1000


@rooms
@pytest.mark.parametrize("web", [0, 1])
@pytest.mark.parametrize("flood", ["cursors", "questions", "edits of a viewer", "nothing"])
async def test_a_flood_of_what_is_no_edit_waits_at_its_own_socket(
    enter: Enter, draft: str, as_alice, as_bob, as_role, cookie_of: Cookie, web: int, flood: str
) -> None:
    alice = await enter(draft, cookie_of(as_alice), web=web).joined()
    bob = await enter(draft, cookie_of(as_bob), web=web).joined()
    viewer = await sync_to_async(as_role)(Role.VIEWER)
    hostile = await enter(draft, cookie_of(viewer), web=web).joined()
    states = entries_encode([Entry(n, 1, {"cursor": "x" * 200}) for n in range(900)])
    frame = {
        "cursors": awareness_frame(states),
        "questions": bytes((QUERY,)),
        "edits of a viewer": edit_frame(BASE),
        "nothing": edit_frame(EMPTY_UPDATE),
    }[flood]
    for _ in range(3000):
        hostile.send(frame)
    for count in range(20):
        alice.text.insert(0, f"{count % 10}")
        await until(lambda count=count: str(bob.text).startswith(f"{count % 10}"), 5)
    assert hostile.closed is None
    hostile.sending.clear()
    assert str(alice.text) == str(bob.text)


@rooms
async def test_states_that_are_too_long_or_too_many_are_refused(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    long = entries_encode([Entry(n, 1, {"c": "x" * 10_000}) for n in range(30)])
    many = entries_encode([Entry(n, 1, {}) for n in range(MOST_ENTRIES + 1)])
    for update, code in ((long, 1009), (many, 1003)):
        assert len(long) > MAX_STATES_BYTES
        bob = await enter(draft, cookie_of(as_bob)).joined()
        bob.tell(update)
        await until(lambda bob=bob: bob.closed is not None)
        assert bob.closed is not None
        assert bob.closed[0] == code
    assert alice.closed is None


@rooms
async def test_a_client_may_send_so_much_at_a_time_and_then_waits(
    enter: Enter, draft: str, as_bob, cookie_of: Cookie
) -> None:
    """What a socket sends beside its edits is counted, by number and by length."""

    async def recheck(client: Client) -> None:
        pass

    client = Client(Person("u1", "Bob", 1), True, recheck)
    for _ in range(MOST_HEARD - 1):
        client.count_heard(10)
    assert not client.is_ahead
    client.count_heard(10)
    assert client.is_ahead
    await asyncio.wait_for(client.keep_pace(), 5)
    assert not client.is_ahead
    client.count_heard(MOST_HEARD * 4096)
    assert client.is_ahead


def long_frame(kind: str) -> bytes:
    size = MAX_FRAME_BYTES - 100
    if kind == "text":
        return b"\x01\x01\x05\x00\x04\x01\x04text" + number(size) + b"u" * size + b"\x00"
    size = MOST_PARTS - 1 if kind.startswith("as many") else size // 2
    if kind.endswith("values"):
        head = b"\x01\x01\x05\x00\x28\x01\x06config\x01k\x01\x75"
        return head + number(size - 1) + b"\x7e" * (size - 1) + b"\x00"
    return b"\x01" + number(size) + b"\x05\x00" + b"\x00\x01" * size + b"\x00"


@rooms
@pytest.mark.parametrize(
    ("kind", "is_taken"),
    [
        ("text", True),
        ("as many values", True),
        ("as many structs", True),
        ("values", False),
        ("structs", False),
    ],
)
async def test_the_longest_frame_keeps_nobody_waiting(
    enter: Enter,
    draft: str,
    as_alice,
    as_bob,
    as_role,
    cookie_of: Cookie,
    kind: str,
    is_taken: bool,
) -> None:
    """It is looked through beside the event loop; others write meanwhile."""
    alice = await enter(draft, cookie_of(as_alice)).joined()
    bob = await enter(draft, cookie_of(as_bob)).joined()
    other = await sync_to_async(as_role)(Role.MEMBER)
    sender = await enter(draft, cookie_of(other)).joined()
    sender.send(edit_frame(long_frame(kind)))
    for count in range(30):
        alice.text.insert(0, f"<{count}>")
        await until(lambda count=count: f"<{count}>" in str(bob.text), 10)
    if not is_taken:
        await until(lambda: sender.closed is not None)
        assert sender.closed == (
            1003,
            f"an edit has at most {MOST_PARTS} parts; send it in several",
        )
        return
    sender.synced.clear()
    sender.send(state_frame(sender.document.get_state()))
    async with asyncio.timeout(30):
        await sender.synced.wait()
    log = document_of(await sync_to_async(draft_since)(draft))
    assert Replica(document=log).clocks[5] > 0


@rooms
async def test_the_number_of_a_colleague_is_not_taken_over(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    bob = await enter(draft, cookie_of(as_bob)).joined()
    alice.tell(entries_encode([Entry(5, 1, {"cursor": 1})]))
    await until(lambda: bool(bob.awareness))
    bob.tell(entries_encode([Entry(5, 99, {"cursor": 9})]))
    bob.tell(entries_encode([Entry(6, 1, {"cursor": 2})]))
    await until(lambda: bool(alice.awareness))
    assert [entry.client for told in alice.awareness for entry in entries_parse(told)] == [6]
    await bob.leave()
    alice.tell(entries_encode([Entry(5, 2, {"cursor": 3})]))
    late = await enter(draft, cookie_of(as_bob)).joined()
    await until(
        lambda: any(
            entry.client == 5 and entry.state is not None and entry.state["user"]["name"] == "Alice"
            for told in late.awareness
            for entry in entries_parse(told)
        )
    )


@rooms
async def test_an_expired_session_stays_outside(
    enter: Enter, draft: str, as_bob, cookie_of: Cookie
) -> None:
    headers = cookie_of(as_bob)
    await sync_to_async(Session.objects.all().delete)()
    client = await enter(draft, headers).connect()
    await until(lambda: client.closed is not None)
    assert client.closed is not None
    assert client.closed[0] == 4401


@rooms
async def test_whoever_is_inside_leaves_when_the_session_ends(
    enter: Enter, draft: str, as_bob, project, cookie_of: Cookie
) -> None:
    client = await enter(draft, cookie_of(as_bob)).joined()
    await sync_to_async(Session.objects.all().delete)()
    await sync_to_async(events.publish)(project.pk, MEMBERS_CHANGED, {})  # else within a minute
    await until(lambda: client.closed is not None)
    assert client.closed is not None
    assert client.closed[0] == 4401
