"""`/health` of the web process: the database and the broker answer."""

import asyncio
from collections.abc import Awaitable

from django.conf import settings
from django.db import connection

from hone.common import broker
from hone.common.asgi import Receive, Scope, Send, send_json
from hone.common.database import database_probe

PATIENCE_S = 1.5


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


async def _ask_broker() -> None:
    await broker.aclient().ping()


async def _state(question: Awaitable[object]) -> str:
    try:
        await asyncio.wait_for(question, PATIENCE_S)
    except Exception as error:  # whatever it is, the part does not answer
        return f"down: {type(error).__name__}"
    return "ok"


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """200 {"status": "ok", ...} where both answer, else 503 that names the part."""
    await _answer(send, {})


async def public(scope: Scope, receive: Receive, send: Send) -> None:
    """The same as Langfuse's clients want it: with a version, and `OK` in capitals."""
    await _answer(send, {"version": str(settings.SPECTACULAR_SETTINGS["VERSION"])}, well="OK")


async def _answer(send: Send, more: dict[str, str], well: str = "ok") -> None:
    database, queue = await asyncio.gather(
        _state(database_probe(_ask_database)), _state(_ask_broker())
    )
    healthy = database == queue == "ok"
    body = {"status": well if healthy else "degraded", "database": database, "broker": queue}
    extra = [("cache-control", "no-store")] + ([] if healthy else [("retry-after", "2")])
    await send_json(send, 200 if healthy else 503, body | more, extra)
