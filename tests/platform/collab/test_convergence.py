"""Eight people, random edits, lost connections, reordering, two killed processes: one text.

Every seed is a room of its own; twenty rooms go on at once while a process is killed and started.
HONE_COLLAB_SEEDS says how many (default 200); a failure names its seed.
"""

import asyncio
import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from rooms import Web, Yjs, until
from websockets import InvalidHandshake

from hone.collab.core.frames import Reader, state_frame
from hone.collab.models import Draft
from hone.collab.selectors import document_of, draft_since

pytestmark = pytest.mark.django_db(transaction=True)
SEEDS = int(os.environ.get("HONE_COLLAB_SEEDS", "200"))
WAVE = 20
PEOPLE = 8
STEPS = 24


def known(document: Any) -> dict[int, int]:
    """How much of every client's writing a document has: its state vector, which has no order."""
    reader = Reader(document.get_state())
    return {reader.number(): reader.number() for _ in range(reader.number())}


async def reconnect(client: Yjs) -> None:
    """Come back, however often it takes: the server may be down."""
    while True:
        try:
            await client.connect()
            return
        except (OSError, InvalidHandshake):
            await asyncio.sleep(0.05)


def edit(client: Yjs, chance: random.Random, name: str) -> None:
    length = len(str(client.text))
    if chance.random() < 0.7 or not length:
        client.text.insert(chance.randint(0, length), f"{name}{chance.randint(0, 9)}")
    else:
        start = chance.randrange(length)
        del client.text[start : min(length, start + chance.randint(1, 4))]


async def write(client: Yjs, chance: random.Random, name: str) -> None:
    """One person at work: writes, loses the connection, sends late and in another order."""
    await reconnect(client)
    for _ in range(STEPS):
        edit(client, chance, name)
        luck = chance.random()
        if luck < 0.06:
            await client.leave()
        elif luck < 0.12 and client.held is None:
            client.held = []
        elif luck < 0.3 and client.held is not None:
            client.release(chance.shuffle)
        elif client.socket is None and luck < 0.6:
            await reconnect(client)
        await asyncio.sleep(chance.random() * 0.02)
    if client.held is not None:
        client.release(chance.shuffle)


async def settled(clients: list[Yjs]) -> None:
    """Everybody is there and has what the others have."""
    async with asyncio.timeout(60):
        while True:
            for client in clients:
                if client.socket is None:
                    await reconnect(client)
            # A state vector tells of insertions only: what was deleted shows in the text.
            found = [(known(client.document), str(client.text)) for client in clients]
            if all(one == found[0] for one in found):
                return
            await asyncio.sleep(0.02)


async def answered(client: Yjs) -> bool:
    """Whether the server answered a question before the connection was lost."""
    await until(lambda: client.synced.is_set() or client.socket is None)
    return client.socket is not None


async def receipt(client: Yjs) -> None:
    """Come again, bring what the server lacks, and be told that the log has it."""
    while True:
        await client.leave()
        await reconnect(client)
        if await answered(client):
            client.synced.clear()
            client.send(state_frame(client.document.get_state()))
            if await answered(client):
                return


async def room(webs: list[Web], draft: Draft, headers: dict[str, str], seed: int) -> None:
    chance = random.Random(seed)
    clients = [Yjs(lambda: chance.choice(webs).room(draft.pk), headers) for _ in range(PEOPLE)]
    try:
        await asyncio.gather(
            *(
                write(client, random.Random(seed * 100 + number), "abcdefgh"[number])
                for number, client in enumerate(clients)
            )
        )
        await settled(clients)
        await asyncio.gather(*map(receipt, clients))
        texts = {str(client.text) for client in clients}
        assert len(texts) == 1, f"seed {seed}: {texts}"
        document = document_of(await sync_to_async(draft_since)(draft.pk))
        assert str(document["text"]) in texts, f"seed {seed}: the log says something else"
        for client in clients:  # nothing that anybody wrote is missing from the log
            assert known(document) == known(client.document), f"seed {seed}: the log lacks an edit"
    finally:
        await asyncio.gather(*(client.leave() for client in clients))


async def killing(webs: list[Web], chance: random.Random) -> None:
    """kill -9 one process after the other, each is started again."""
    while True:
        await asyncio.sleep(0.3 + chance.random())
        web = chance.choice(webs)
        web.kill()
        web.start()
        await asyncio.to_thread(web.until_up)


@pytest.mark.timeout(400)
async def test_all_replicas_and_the_log_are_one_in_the_end(
    webs: list[Web],
    make_draft: Callable[..., Draft],
    as_alice: Any,
    cookie_of: Callable[[Any], dict[str, str]],
) -> None:
    headers = cookie_of(as_alice)
    killer = asyncio.create_task(killing(webs, random.Random(1)))
    try:
        for first in range(0, SEEDS, WAVE):
            seeds = range(first, min(SEEDS, first + WAVE))
            drafts = [await sync_to_async(make_draft)(f"seed {seed}", "") for seed in seeds]
            await asyncio.gather(
                *(
                    room(webs, draft, headers, seed)
                    for draft, seed in zip(drafts, seeds, strict=True)
                )
            )
    finally:
        killer.cancel()
        await asyncio.gather(killer, return_exceptions=True)
        for web in webs:
            await asyncio.to_thread(web.until_up)  # the killer may have been stopped half-way
