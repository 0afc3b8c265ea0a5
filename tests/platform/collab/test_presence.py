"""Who is in which draft, for the pages that list them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from rooms import PATIENCE_S, Yjs

from hone.collab.core.people import Person
from hone.collab.models import Draft
from hone.collab.services import here

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "/api/projects/demo/presence"


async def test_whoever_is_in_a_room_of_any_process_is_told_until_they_leave(
    enter: Callable[..., Yjs],
    make_draft: Callable[..., Draft],
    as_alice: Any,
    as_bob: Any,
    cookie_of: Callable[[Any], dict[str, str]],
) -> None:
    draft = await sync_to_async(make_draft)()

    async def names() -> list[str]:
        answer = await sync_to_async(as_bob.get)(HERE)
        assert answer.status_code == 200
        rows = answer.json()["data"]
        assert {row["draft"] for row in rows} <= {str(draft.pk)}
        return [person["name"] for row in rows for person in row["people"]]

    async def told(wanted: list[str]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while await names() != wanted:
                await asyncio.sleep(0.02)

    await told([])
    alice = await enter(str(draft.pk), cookie_of(as_alice)).joined()
    twice = await enter(str(draft.pk), cookie_of(as_alice), web=1).joined()
    bob = await enter(str(draft.pk), cookie_of(as_bob), web=1).joined()
    await told(["Alice", "Bob"])
    await bob.leave()
    await alice.leave()
    await told(["Alice"])
    await twice.leave()
    await told([])


async def test_a_note_that_is_not_renewed_counts_no_more(
    make_draft: Callable[..., Draft], monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = await sync_to_async(make_draft)()
    room = (draft.project_id, draft.pk)
    await here.here_tell({room: [Person("u1", "Ada", 1)]})
    found = await sync_to_async(here.here_read)(draft.project_id)
    assert [person["name"] for person in found[draft.pk]] == ["Ada"]
    monkeypatch.setattr(here, "STALE_S", 0.0)
    assert await sync_to_async(here.here_read)(draft.project_id) == {}
    await here.here_tell({room: []})


async def test_nobody_else_and_no_other_project_sees_it(
    make_draft: Callable[..., Draft], as_charlie: Any, as_nobody: Any, foreign_project: Any
) -> None:
    draft = await sync_to_async(make_draft)()
    # A draft of another project, whatever stands in Redis under this one's key.
    await here.here_tell({(foreign_project.pk, draft.pk): [Person("u1", "Ada", 1)]})
    get = sync_to_async(as_charlie.get)
    assert (await get(HERE)).status_code == 404
    assert (await get("/api/projects/elsewhere/presence")).json() == {"data": []}
    assert (await sync_to_async(as_nobody.get)(HERE)).status_code == 401
    await here.here_tell({(foreign_project.pk, draft.pk): []})
