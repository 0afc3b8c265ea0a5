"""Whoever may not be in a room any more is out of it at once, on every process, and is told why."""

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core import signing
from rooms import Yjs, until

from hone.accounts.core.roles import Role
from hone.accounts.models import Membership
from hone.accounts.services import api_key_revoke, project_delete
from hone.accounts.services.members import member_update
from hone.collab.core.tokens import SALT, TOKEN_S
from hone.collab.models import Draft
from hone.collab.services.tickets import Ticket, token_made

pytestmark = pytest.mark.django_db(transaction=True)
Enter = Callable[..., Yjs]
Cookie = Callable[[Any], dict[str, str]]
AT_ONCE_S = 5  # far below the minute after which everybody is asked anyway
PASSWORD = "correct horse battery"  # of every person in conftest


@pytest.fixture
def draft(make_draft: Callable[..., Draft]) -> str:
    return str(make_draft().pk)


async def cut_off(client: Yjs) -> tuple[int, str]:
    """With which code and reason, soon."""
    await until(lambda: client.closed is not None, AT_ONCE_S)
    assert client.closed is not None
    return client.closed


async def writes_on(writer: Yjs, reader: Yjs) -> None:
    """The room is there for everybody else."""
    assert writer.closed is None
    writer.text.insert(0, "on ")
    await until(lambda: str(reader.text).startswith("on "))


@pytest.mark.parametrize("web", [0, 1])
async def test_who_signs_out_leaves_with_all_windows_of_that_sign_in(
    enter: Enter, draft: str, as_alice, as_bob, bob, cookie_of: Cookie, web: int
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    headers = cookie_of(as_bob)
    here = [await enter(draft, headers, web=n).joined() for n in (web, 1 - web)]
    elsewhere = type(as_bob)()
    await sync_to_async(elsewhere.force_login)(bob)
    other = await enter(draft, cookie_of(elsewhere), web=web).joined()
    await sync_to_async(as_bob.post)("/api/auth/logout")
    for client in here:
        assert await cut_off(client) == (4401, "Your sign-in has ended")
    await writes_on(other, alice)
    late = await enter(draft, headers, web=web).connect()
    assert (await cut_off(late))[0] == 4401


async def test_a_new_password_ends_what_other_sign_ins_hold_open(
    enter: Enter, draft: str, as_alice, as_bob, bob, cookie_of: Cookie
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    other = type(as_bob)()
    await sync_to_async(other.force_login)(bob)
    client = await enter(draft, cookie_of(other), web=1).joined()
    answer = await sync_to_async(as_bob.post)(
        "/api/auth/password", {"current": PASSWORD, "new": "another horse battery"}
    )
    assert answer.status_code == 204
    assert (await cut_off(client))[0] == 4401
    again = await enter(draft, cookie_of(as_bob), web=1).joined()
    await writes_on(again, alice)


@pytest.mark.parametrize("web", [0, 1])
async def test_a_token_lasts_as_long_as_the_sign_in_it_came_from(
    enter: Enter, draft: str, as_alice, as_bob, cookie_of: Cookie, web: int
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    answer = await sync_to_async(as_bob.post)(f"/api/projects/demo/drafts/{draft}/token")
    query = f"?token={answer.json()['token']}"
    client = await enter(draft, {}, web=web, query=query).joined()
    await writes_on(client, alice)
    await sync_to_async(as_bob.post)("/api/auth/logout")
    assert await cut_off(client) == (4401, "Your sign-in has ended")
    late = await enter(draft, {}, web=web, query=query).connect()
    assert (await cut_off(late))[0] == 4401
    await writes_on(alice, alice)


async def test_an_old_token_and_one_of_another_person_stay_outside(
    enter: Enter, draft: str, as_bob, as_charlie, alice, bob, charlie
) -> None:
    session, foreign = (api.cookies["hone_session"].value for api in (as_bob, as_charlie))
    old = signing.TimestampSigner(salt=SALT)
    old.timestamp = lambda: signing.b62_encode(int(signing.time.time()) - TOKEN_S - 5)  # type: ignore[method-assign]
    facts = signing.loads(token_made(Ticket(bob.pk, session), draft), salt=SALT)
    tokens = {
        old.sign_object(facts): 4401,
        token_made(Ticket(alice.pk, session), draft): 4401,
        token_made(Ticket(charlie.pk, foreign), draft): 4404,
        token_made(Ticket(bob.pk, ""), draft): 4401,
        signing.dumps({"user": bob.pk, "draft": draft}, salt=SALT): 4401,
    }
    for token, code in tokens.items():
        client = await enter(draft, {}, query=f"?token={token}").connect()
        assert (await cut_off(client))[0] == code
        assert str(client.text) == ""


@pytest.mark.parametrize("web", [0, 1])
async def test_who_becomes_a_viewer_reads_on_and_writes_nothing(
    enter: Enter, draft: str, as_alice, as_bob, bob, organization, cookie_of: Cookie, web: int
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    client = await enter(draft, cookie_of(as_bob), web=web).joined()
    membership = await Membership.objects.aget(user=bob, organization=organization)
    await sync_to_async(member_update)(
        organization=organization, by=Role.OWNER, membership_id=membership.pk, role=Role.VIEWER
    )
    assert await cut_off(client) == (4403, "Your role is now viewer")
    await client.joined()
    client.text.insert(len(str(client.text)), "X")
    await until(lambda: bool(client.denied))
    await writes_on(alice, client)
    assert "X" not in str(alice.text)


@pytest.mark.parametrize("web", [0, 1])
async def test_a_revoked_key_is_out(
    enter: Enter, draft: str, as_alice, api_key, project, cookie_of: Cookie, web: int
) -> None:
    alice = await enter(draft, cookie_of(as_alice)).joined()
    client = await enter(draft, api_key.bearer, web=web).joined()
    await writes_on(client, alice)
    await sync_to_async(api_key_revoke)(project=project, key_id=api_key.row.pk)
    assert await cut_off(client) == (4401, "The key has been revoked")
    await writes_on(alice, alice)


@pytest.mark.parametrize("gone", ["draft closed", "prompt", "project"])
async def test_everybody_leaves_what_is_closed_or_deleted(
    enter: Enter, draft: str, as_alice, as_bob, project, cookie_of: Cookie, gone: str
) -> None:
    clients = [await enter(draft, cookie_of(as_bob), web=web).joined() for web in (0, 1)]
    if gone == "draft closed":
        answer = await sync_to_async(as_alice.delete)(f"/api/projects/demo/drafts/{draft}")
        assert answer.status_code == 204
    elif gone == "prompt":
        answer = await sync_to_async(as_alice.delete)("/api/projects/demo/prompts/greet")
        assert answer.status_code == 204
    else:
        await sync_to_async(project_delete)(project_id=project.pk)
    for client in clients:
        code, why = await cut_off(client)
        if gone == "draft closed":
            assert (code, why) == (4410, "The draft is closed")
        else:  # by the room, or by whoever asked first what the person may do
            assert code in (4404, 4410)
            assert why == "The draft has been deleted" or why.startswith("There is no draft")
    late = await enter(draft, cookie_of(as_bob)).connect()
    assert (await cut_off(late))[0] == (4410 if gone == "draft closed" else 4404)


async def test_a_room_next_door_goes_on(
    enter: Enter, make_draft, draft: str, as_alice, as_bob, cookie_of: Cookie
) -> None:
    other = str((await sync_to_async(make_draft)("other")).pk)
    alice = await enter(other, cookie_of(as_alice)).joined()
    bob = await enter(other, cookie_of(as_bob), web=1).joined()
    gone = await enter(draft, cookie_of(as_bob), web=1).joined()
    await sync_to_async(as_alice.delete)("/api/projects/demo/prompts/greet")
    await cut_off(gone)
    await writes_on(alice, bob)
