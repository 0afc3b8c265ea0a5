"""POST /api/public/ingestion: batches of events, as Langfuse's older SDKs send them.

207 says of each event what became of it. A body that is no batch: 400. Not now: 429 or 503 with
Retry-After; then nothing of the batch was taken, and its repetition does no harm.

Web pages send scores here with a public key alone (`Bearer pk-…`), from any origin: a browser sends
no cookies along, so nothing but that key is at stake.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson
from django.conf import settings

from hone.accounts.api.authentication import credentials
from hone.accounts.services import key_named, key_resolve_async
from hone.common.asgi import (
    Receive,
    Scope,
    Send,
    headers,
    inflate,
    read_body,
    send_bytes,
    send_json,
)
from hone.common.database import database_call
from hone.common.errors import (
    HoneError,
    InvalidError,
    NotFoundError,
    UnauthenticatedError,
    UnavailableError,
)
from hone.common.public import error_body
from hone.common.rest import MethodError, as_hone_error
from hone.traces.services.legacy import Outcome, legacy_write, page_scores_write

PATH: Final = "/api/public/ingestion"
METRICS: Final = "/api/public/otel/v1/metrics"
_MAX_WAITING: Final = 64  # batches being read or written in one web process, before 503
_BODY_S: Final = 60.0
_CREATED: Final = 201
_ANY_ORIGIN: Final = ("access-control-allow-origin", "*")
_HEADER: Final = re.compile(r"[a-zA-Z0-9-]{1,64}")


class _Busy:
    """How many batches are under way."""

    number = 0


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The door. Every outcome is answered here."""
    if scope["method"] == "OPTIONS" and scope["path"] == PATH:
        await send_bytes(send, 204, b"", headers=_preflight(headers(scope)))
        return
    try:
        outcomes = await _take(scope, receive)
    except Exception as error:
        known = as_hone_error(error)
        if known is None:
            raise
        body = error_body(known) | {"errors": [known.message]}
        await send_json(send, known.status, body, [*known.headers().items(), _ANY_ORIGIN])
    else:
        await send_json(send, 207, _answer(outcomes), [_ANY_ORIGIN])


def _preflight(given: dict[str, str]) -> list[tuple[str, str]]:
    asked = given.get("access-control-request-headers", "")
    names = ", ".join(name for name in map(str.strip, asked.split(",")) if _HEADER.fullmatch(name))
    return [
        _ANY_ORIGIN,
        ("access-control-allow-methods", "POST"),
        ("access-control-allow-headers", names),
        ("access-control-max-age", "86400"),
    ]


async def metrics_dropped(scope: Scope, receive: Receive, send: Send) -> None:
    """Metrics of exporters that send all they have to one address: taken and dropped."""
    await send_json(send, 200, {})


def _answer(outcomes: list[Outcome]) -> dict[str, Any]:
    return {
        "successes": [{"id": o.id, "status": _CREATED} for o in outcomes if o.error is None],
        "errors": [
            {"id": o.id, "status": o.error.status, **error_body(o.error)}
            for o in outcomes
            if o.error is not None
        ],
    }


async def _take(scope: Scope, receive: Receive) -> list[Outcome]:
    if scope["path"] != PATH:
        raise NotFoundError(f"There is nothing at {scope['path']}")
    if scope["method"] != "POST":
        raise MethodError(f"{PATH} takes POST, got {scope['method']}")
    given = headers(scope)
    project_id, write = await _sender(given.get("authorization", ""))
    if _Busy.number >= _MAX_WAITING:
        raise UnavailableError("Too many batches are being written", retry_after_s=1)
    _Busy.number += 1
    try:
        batch = _batch(await _body(scope, receive, given.get("content-encoding", "")))
        return await database_call(write, project_id, batch)
    finally:
        _Busy.number -= 1


Write = Callable[[int, Sequence[Any]], list[Outcome]]


async def _sender(authorization: str) -> tuple[int, Write]:
    """The project, and what the key may do there."""
    found = credentials(authorization)
    project = await key_resolve_async(*found) if found else None
    if project is not None:
        return project.project_id, legacy_write
    if found and found[1] is None and settings.HONE_BROWSER_SCORES:
        project = await database_call(key_named, found[0])
    if project is None:
        raise UnauthenticatedError("Wanted a project's key: Basic PUBLIC:SECRET")
    return project.project_id, page_scores_write


async def _body(scope: Scope, receive: Receive, encoding: str) -> bytes:
    limit = settings.HONE_GATEWAY_MAX_BODY_BYTES
    try:
        async with asyncio.timeout(_BODY_S):
            return inflate(await read_body(scope, receive, limit), encoding, 2 * limit)
    except TimeoutError:
        raise SlowError(f"The body did not arrive within {_BODY_S:.0f} s") from None


class SlowError(HoneError):
    status, code = 408, "timeout"


def _batch(body: bytes) -> list[Any]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidError(f"Invalid request data: {error}") from None
    if not isinstance(value, dict) or not isinstance(value.get("batch"), list):
        raise InvalidError("Invalid request data: want an object with the list `batch`")
    batch: list[Any] = value["batch"]
    return batch
