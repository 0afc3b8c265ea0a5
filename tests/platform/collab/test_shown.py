"""What is shown before the log has it, and what waits for the log (ADR 37)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from pycrdt import Doc, Text
from rooms import Web, Yjs, stored, until, until_stored

from hone.collab.consumers import room as room_module
from hone.collab.consumers import writer as writer_module
from hone.collab.consumers.client import DRAFT_FULL, NOT_AN_EDIT, TRY_AGAIN, Client
from hone.collab.consumers.relay import relay
from hone.collab.consumers.room import SHOWN_LEN, Room
from hone.collab.consumers.writer import writer
from hone.collab.core.clients import clients_of
from hone.collab.core.frames import EDIT, SYNC, Reader, number, state_frame
from hone.collab.core.people import Person
from hone.collab.core.shape import document_open
from hone.collab.models import Draft
from hone.collab.selectors import document_of, draft_since
from hone.collab.services import Refused, edits_append

pytestmark = pytest.mark.django_db(transaction=True)
Enter = Callable[..., Yjs]
Pair = tuple[Client, Client]
Cookie = Callable[[Any], dict[str, str]]


@pytest.fixture
def draft(make_draft: Callable[..., Draft]) -> Draft:
    return make_draft()


@contextlib.asynccontextmanager
async def log_held(draft: Draft) -> AsyncIterator[None]:
    """Nobody can write to the draft's log; whoever waited to is cut off in the end."""
    known = connection.get_connection_params()
    for name in ("cursor_factory", "context"):
        known.pop(name, None)
    async with await psycopg.AsyncConnection.connect(**known) as held:
        await held.execute("SELECT 1 FROM collab_draft WHERE id = %s FOR UPDATE", [draft.pk])
        yield
        await held.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        )


async def test_a_question_is_answered_when_the_log_has_what_was_sent_before(
    enter: Enter, draft: Draft, as_alice, as_bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft.pk, cookie_of(as_alice)).joined()
    bob = await enter(draft.pk, cookie_of(as_bob)).joined()
    async with log_held(draft):
        alice.text.insert(0, "seen ")
        await until(lambda: str(bob.text) == "seen Say hello.")
        assert await stored(draft.pk) == "Say hello."
        alice.synced.clear()
        alice.send(state_frame(alice.document.get_state()))
        bob.text.insert(0, "also ")
        await until(lambda: str(alice.text).startswith("also "))
        assert not alice.synced.is_set()
    async with asyncio.timeout(60):
        await alice.synced.wait()
    assert "seen" in str(await stored(draft.pk))
    await until_stored(draft.pk, "also seen Say hello.")


async def test_whoever_saw_an_edit_brings_it_back_when_its_writer_and_the_server_are_gone(
    enter: Enter, webs: list[Web], draft: Draft, as_alice, as_bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft.pk, cookie_of(as_alice)).joined()
    bob = await enter(draft.pk, cookie_of(as_bob)).joined()
    async with log_held(draft):
        alice.text.insert(0, "seen ")
        await until(lambda: str(bob.text) == "seen Say hello.")
        webs[0].kill()
    await until(lambda: bob.closed is not None)
    await alice.leave()
    assert await stored(draft.pk) == "Say hello."
    webs[0].start()
    await asyncio.to_thread(webs[0].until_up)
    await bob.joined()
    await until_stored(draft.pk, "seen Say hello.")


# The same in one process, with a log that does what the test says.


def member(name: str) -> Client:
    async def recheck(client: Client) -> None:
        pass

    return Client(Person(name, name, None), True, recheck)


def inserted(client: Client) -> str:
    """All letters of edits that were sent to it."""
    letters = ""
    for frame in client.queue:
        reader = Reader(frame)
        if reader.number() == SYNC and reader.number() == EDIT:
            one: Doc[Any] = Doc()
            text = one.get("text", type=Text)
            one.apply_update(reader.bytes())
            letters += str(text)
    return letters


def typed(text: str) -> bytes:
    document: Doc[Any] = Doc()
    document.get("text", type=Text).insert(0, text)
    return document.get_update()


class Gate:
    """A log that writes when it is opened, or fails."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.error: Exception | None = None
        self.refusal: Refused | None = None

    async def append(self, edits: Any) -> Any:
        await self.open.wait()
        if self.error is not None:
            raise self.error
        if self.refusal is not None:
            return [self.refusal for _ in edits]
        return await sync_to_async(edits_append)(edits)


@pytest.fixture
async def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    made = Gate()
    monkeypatch.setattr(writer_module, "TRIES", 1)
    monkeypatch.setattr(writer(), "ledger", made)
    return made


@pytest.fixture
async def room(draft: Draft) -> AsyncIterator[Room]:
    made = Room(draft.pk, draft.project_id)
    yield made
    relay().remove(made)


@pytest.fixture
async def pair(room: Room) -> Pair:
    """Alice and Bob, both in the room."""
    both = member("alice"), member("bob")
    for client in both:
        await room.join(client)
    return both


async def test_an_edit_that_follows_a_hidden_one_is_hidden_until_that_is_shown(
    gate: Gate, room: Room, pair: Pair
) -> None:
    alice, bob = pair
    room.edit(alice, typed("L" * (SHOWN_LEN + 1)))
    room.edit(alice, typed("s"))
    await asyncio.sleep(0)
    assert inserted(bob) == ""
    gate.open.set()
    await room.written()
    assert set(inserted(bob)) == {"L", "s"}
    room.edit(alice, typed("now"))
    await asyncio.sleep(0)
    assert inserted(bob).endswith("now")
    await room.written()
    assert room.seq == 3


async def test_a_log_that_fails_sends_everybody_away_and_is_read_anew(
    gate: Gate, room: Room, pair: Pair
) -> None:
    alice, bob = pair
    update = typed("x")
    room.edit(alice, update)
    await asyncio.sleep(0)
    assert inserted(bob) == "x"
    gate.error = psycopg.OperationalError("away")
    gate.open.set()
    await room.written()
    for client in (alice, bob):
        assert client.closing is not None
        assert client.closing[0] == TRY_AGAIN
    again = member("bob")
    await room.join(again)
    assert clients_of(update)[0] not in clients_of(room.document.get_update())
    gate.error = None
    room.edit(again, update)
    await room.written()
    assert str(room.document["text"]).count("x") == 1
    assert room.seq == 1


async def test_an_edit_that_was_shown_and_has_no_room_is_on_no_screen_that_stays(
    gate: Gate, room: Room, pair: Pair
) -> None:
    """Another process filled the draft meanwhile."""
    alice, bob = pair
    room.edit(alice, typed("x"))
    gate.refusal = Refused.FULL
    gate.open.set()
    await room.written()
    assert alice.closing is not None
    assert alice.closing[0] == DRAFT_FULL
    assert bob.closing is not None
    assert room.document is None


async def test_a_draft_that_is_nearly_full_writes_its_log_first(
    gate: Gate, room: Room, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = pair
    monkeypatch.setattr(room_module, "MOST_BYTES", 2 * room.num_bytes)
    room.edit(alice, typed("x"))
    await asyncio.sleep(0)
    assert inserted(bob) == ""
    gate.open.set()
    await room.written()
    assert inserted(bob) == "x"


async def test_an_edit_that_the_document_does_not_take_is_not_in_the_log(
    gate: Gate, room: Room, draft: Draft
) -> None:
    alice = member("alice")
    await room.join(alice)
    base = room.document.get_update()
    target = number(clients_of(base)[0]) + number(0)
    room.edit(alice, b"\x01\x01\x4d\x00\x28\x00" + target + b"\x01q\x01\x7d\x01\x00")
    assert alice.closing is not None
    assert alice.closing[0] == NOT_AN_EDIT
    gate.open.set()
    await room.written()
    assert (await sync_to_async(draft_since)(draft.pk)).seq == 0


async def test_a_state_that_stands_for_the_log_holds_nothing_else(
    gate: Gate, room: Room, draft: Draft
) -> None:
    alice = member("alice")
    await room.join(alice)
    room.edit(alice, typed("one"))
    compacting = asyncio.create_task(room.compact(0))
    await asyncio.sleep(0)
    room.edit(alice, typed("two"))
    gate.open.set()
    await compacting
    await room.written()
    row = await Draft.objects.aget(pk=draft.pk)
    held = str(document_open(bytes(row.snapshot))["text"])
    assert ("one" in held, row.snapshot_seq) in ((True, 1), (True, 2))
    assert ("two" in held) == (row.snapshot_seq == 2)
    whole = document_of(await sync_to_async(draft_since)(draft.pk))
    assert "two" in str(whole["text"])
