"""Edits that build on what is not here: never half taken, never lost without a word."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from hypothesis import given, settings
from hypothesis import strategies as st
from pycrdt import Array, Doc, Map, Text
from rooms import Yjs, stored, until, until_stored

from hone.collab.consumers import held as held_module
from hone.collab.consumers.client import TRY_AGAIN, Client
from hone.collab.consumers.held import MISSING, MOST_HELD_BYTES
from hone.collab.consumers.relay import relay
from hone.collab.consumers.room import Room
from hone.collab.core.frames import FrameError, edit_frame, state_frame
from hone.collab.core.needs import needs_of
from hone.collab.core.people import Person
from hone.collab.core.replica import Replica
from hone.collab.core.shape import document_open, update_read
from hone.collab.models import Draft
from hone.collab.selectors import document_of, draft_since

rooms = pytest.mark.django_db(transaction=True)
Enter = Callable[..., Yjs]
Cookie = Callable[[Any], dict[str, str]]


def edits_of(document: Doc[Any], steps: list[Callable[[], Any]]) -> list[bytes]:
    """One update for each step."""
    found = []
    for step in steps:
        before = document.get_state()
        step()
        found.append(document.get_update(before))
    return found


# The document that knows everything tells what a replica must find out from the bytes alone.

WORDS = st.sampled_from(["a", "word", "\N{GRINNING FACE}", "é", "uvuv", "x" * 130])
STEPS = st.lists(
    st.tuples(st.sampled_from("tttddmcl"), st.integers(0, 1), st.integers(0, 999), WORDS),
    min_size=1,
    max_size=14,
)


def written(steps: list[tuple[str, int, int, str]]) -> list[bytes]:
    """What two people send who see everything of one another; each edit builds on those before."""
    people = [document_open() for _ in range(2)]
    sent: list[bytes] = []
    for kind, who, place, word in steps:
        document = people[who]
        before = document.get_state()
        text = document["text"]
        length = len(str(text).encode())
        if kind == "t" or (kind == "d" and not length):
            starts = [n for n in range(length + 1) if _is_boundary(str(text), n)]
            text.insert(starts[place % len(starts)], word)
        elif kind == "d":
            del text[0 : len(str(text)[0].encode())]
        elif kind == "m":
            document["messages"].append(Map({"role": "user", "content": Text(word)}))
        elif kind == "c":
            document["config"][f"k{place % 3}"] = {"deep": [1, {"a": word}], "n": place}
        elif len(document["messages"]):
            document["messages"][0]["content"] += word
        update = document.get_update(before)
        people[1 - who].apply_update(update)
        sent.append(update)
    return sent


def _is_boundary(text: str, place: int) -> bool:
    data = text.encode()
    return place == len(data) or data[place] & 0xC0 != 0x80


def reached(document: Any) -> dict[int, int]:
    replica = Replica(document=document)
    return dict(replica.clocks)


@settings(deadline=None, max_examples=150)
@given(STEPS, st.randoms(use_true_random=False))
def test_in_any_order_an_edit_is_taken_whole_or_told_to_wait(
    steps: list[tuple[str, int, int, str]], chance: random.Random
) -> None:
    sent = written(steps)
    waiting = list(enumerate(sent))
    chance.shuffle(waiting)
    replica = Replica()
    while waiting:
        for number, update in waiting:
            needs = update_read(update)
            if replica.has(needs):
                assert replica.take_met(update, needs)
                assert replica.clocks == reached(replica.document), "it counts as the document does"
                waiting.remove((number, update))
                break
            trial = document_open(replica.document.get_update())
            trial.apply_update(update)
            alone = document_open(trial.get_update())
            whole = document_open(b"".join(()) or None)
            for earlier in sent[: number + 1]:
                whole.apply_update(earlier)
            assert alone.get_update() != whole.get_update(), "it would have been taken whole"
        else:
            raise AssertionError("all of them wait for one another")
    everything = document_open()
    for update in sent:
        everything.apply_update(update)
    assert str(replica.document["text"]) == str(everything["text"])
    assert replica.document["config"].to_py() == everything["config"].to_py()


def test_what_is_typed_or_deleted_plainly_is_known_without_a_walk() -> None:
    document = document_open()
    text = document["text"]
    text.insert(0, "start")
    client = document.client_id
    plain = edits_of(
        document,
        [
            lambda: text.insert(5, " end"),
            lambda: text.insert(0, "\N{GRINNING FACE}"),
            lambda: text.insert(6, "-"),
            lambda: text.__delitem__(slice(0, 4)),
        ],
    )
    needs = [needs_of(update) for update in plain]
    assert all(each.is_plain for each in needs)
    assert [each.after for each in needs[:3]] == [{client: 9}, {client: 11}, {client: 12}]
    assert needs[3].named == {client: 11}
    assert not needs_of(document.get_update()).is_plain


@pytest.mark.parametrize(
    "update",
    [
        b"\x01\x01\x05\x00\x84\x06\x00\x02\xff\xff\x00",  # letters that are no UTF-8
        b"\x01\x01\x05\x00\x04\x01\x04text\x02\xff\xff\x00",
        b"\x01\x01\x05\x00\x0b\x00\x00",  # content of no kind
        b"\x01\x05\x05\x00\x84",
        b"\x00\x01\x05",
    ],
)
def test_what_is_no_update_is_named(update: bytes) -> None:
    with pytest.raises(ValueError, match=r"decode|UTF-8|ends|kind"):
        update_read(update)


def test_letters_without_length_and_beside_themselves_are_not_plain() -> None:
    assert not needs_of(b"\x01\x01\x05\x00\x84\x06\x00\x00\x00").is_plain
    itself = needs_of(b"\x01\x01\x05\x00\x84\x05\x03\x01a\x00")
    assert not itself.is_met({5: 0})
    with pytest.raises(FrameError):
        needs_of(b"\x01\x01\x05\x00\x88\x06\x00\x01" + b"\x75\x01" * 600 + b"\x7e\x00")


# In a room.


def member(name: str) -> Client:
    async def recheck(client: Client) -> None:
        pass

    return Client(Person(name, name, None), True, recheck)


@pytest.fixture
def draft(make_draft: Callable[..., Draft]) -> Draft:
    return make_draft()


@pytest.fixture
async def room(draft: Draft) -> AsyncIterator[Room]:
    made = Room(draft.pk, draft.project_id)
    yield made
    relay().remove(made)


def parts(base: bytes) -> list[bytes]:
    """Three edits that follow one another."""
    document = document_open(base)
    text = document["text"]
    return edits_of(document, [lambda n=n: text.insert(len(str(text)), f"{n}") for n in range(3)])


@rooms
@pytest.mark.parametrize("web", [0, 1])
async def test_an_edit_out_of_order_waits_for_the_one_before(
    enter: Enter, draft: Draft, as_alice, as_bob, cookie_of: Cookie, web: int
) -> None:
    alice = await enter(draft.pk, cookie_of(as_alice)).joined()
    bob = await enter(draft.pk, cookie_of(as_bob), web=web).joined()
    first, second, third = parts(bob.document.get_update())
    bob.send(edit_frame(third))
    bob.send(edit_frame(second))
    alice.text.insert(0, "A")
    await until_stored(draft.pk, "ASay hello.")
    assert str(alice.text) == "ASay hello."
    bob.send(edit_frame(first))
    await until(lambda: str(alice.text) == "ASay hello.012")
    await until_stored(draft.pk, "ASay hello.012")
    bob.synced.clear()
    bob.send(state_frame(bob.document.get_state()))
    async with asyncio.timeout(20):
        await bob.synced.wait()
    since = await sync_to_async(draft_since)(draft.pk)
    for seq in range(1, len(since.updates)):  # at every number the log is whole
        some = document_open()
        for update in since.updates[: seq + 1]:
            some.apply_update(update)
        assert len(str(some["text"])) == len("Say hello.") + seq


@rooms
async def test_an_edit_whose_base_never_comes_is_in_nothing_and_its_writer_is_told(
    room: Room, draft: Draft, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_module, "HELD_S", 0.05)
    alice, bob = member("alice"), member("bob")
    for client in (alice, bob):
        await room.join(client)
    base = room.document.get_update()
    _, second, third = parts(base)
    room.edit(alice, second)
    room.edit(alice, third)
    assert alice.num_held == alice.num_unsettled == 2
    await until(lambda: alice.closing is not None)
    assert alice.closing == (TRY_AGAIN, MISSING)
    assert (alice.num_held, alice.num_unsettled, room.held.num_bytes) == (0, 0, 0)
    assert not room.held
    assert bob.closing is None
    await room.written()
    assert room.document.get_update() == base
    assert (await sync_to_async(draft_since)(draft.pk)).seq == 0
    assert await stored(draft.pk) == "Say hello."


@rooms
async def test_what_waits_takes_only_so_much_room(room: Room, draft: Draft) -> None:
    alice, bob = member("alice"), member("bob")
    for client in (alice, bob):
        await room.join(client)
    document = document_open(room.document.get_update())
    text = document["text"]
    _, large = edits_of(
        document, [lambda: text.insert(0, "a"), lambda: text.insert(1, "x" * 10**6)]
    )
    for _ in range(MOST_HELD_BYTES // 10**6 + 1):
        room.edit(alice, large)
    assert alice.closing == (TRY_AGAIN, MISSING)
    assert room.held.num_bytes == 0
    assert bob.closing is None


@rooms
async def test_who_leaves_takes_along_what_waits(room: Room) -> None:
    alice = member("alice")
    await room.join(alice)
    _, second, _ = parts(room.document.get_update())
    room.edit(alice, second)
    room.leave(alice)
    assert not room.held
    assert alice.num_unsettled == 0


@rooms
async def test_parts_that_name_one_another_are_refused_and_leave_nothing(
    room: Room, draft: Draft
) -> None:
    alice = member("alice")
    await room.join(alice)
    circle = (
        b"\x02"
        b"\x01\x4d\x00\x84\x4e\x00\x01a"  # client 77 beside the letter of 78,
        b"\x01\x4e\x00\x84\x4d\x00\x01b"  # and 78 beside that of 77
        b"\x00"
    )
    update_read(circle)
    room.edit(alice, circle)
    assert alice.closing is not None
    assert room.document is None, "it is read anew"
    again = member("alice")
    await room.join(again)
    assert room.num_bytes < 1000
    assert str(room.document["text"]) == "Say hello."


@rooms
async def test_a_state_that_stands_for_the_log_lacks_nothing_that_came_out_of_order(
    room: Room, draft: Draft
) -> None:
    alice = member("alice")
    await room.join(alice)
    edits = parts(room.document.get_update())
    room.edit(alice, edits[2])
    room.edit(alice, edits[0])
    await room.compact(0)
    room.edit(alice, edits[1])
    await room.written()
    await room.compact(0)
    row = await Draft.objects.aget(pk=draft.pk)
    assert row.snapshot_seq == 3
    assert str(document_open(bytes(row.snapshot))["text"]) == "Say hello.012"
    whole = document_of(await sync_to_async(draft_since)(draft.pk))
    assert str(whole["text"]) == "Say hello.012"


def test_a_list_with_every_kind_of_thing_is_read() -> None:
    document = document_open()
    document["messages"].extend([1, "x", Array([1]), Map({"content": Text("y")})])
    needs = needs_of(document.get_update())
    assert needs.after == {
        document.client_id: Replica(document=document).clocks[document.client_id]
    }
