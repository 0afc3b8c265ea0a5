"""POST /v1/traces (for Langfuse's SDKs also below /api/public/otel): OTLP over HTTP.

200 means durable. Spans refused for their time: 200 with a partial success that says why. Nothing
readable, a wrong id, or every span refused: 400, and nothing is stored (ADR 40). Not now: 429 or
503 with Retry-After. Failures are told in the encoding of the request as a google.rpc.Status, which
is what exporters print.
"""

import asyncio
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from django.conf import settings

from hone.accounts.api.authentication import credentials
from hone.accounts.services import KeyScope, key_resolve_async
from hone.common.asgi import Receive, Scope, Send, headers, inflate, read_body, send_bytes
from hone.common.errors import (
    HoneError,
    InvalidError,
    NotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedError,
)
from hone.common.rest import MethodError, as_hone_error
from hone.traces.core.otlp import Malformed
from hone.traces.core.otlp.answer import JSON, PROTOBUF, exported, failed
from hone.traces.services.exports import Export, export_read
from hone.traces.services.intake import Intake
from hone.traces.services.writer import intake, parts_store

PATHS: Final = ("/v1/traces", "/api/public/otel/v1/traces")
_INLINE_BYTES: Final = 256 * 1024  # a larger body is decoded in a thread: the loop must turn
_BODY_S: Final = 60.0  # a sender that stalls must not hold memory that others need
_VERSION: Final = "x-langfuse-ingestion-version"
_NEWEST: Final = 4  # of Langfuse's ways to write what a span says
_UNDECLARED_BYTES: Final = 1024 * 1024  # set aside for a chunked body


# What a body inflates to is known when it has: so few at once bound the memory that bombs take.
_inflaters: Final = ThreadPoolExecutor(2, thread_name_prefix="inflate")


class SlowError(HoneError):
    """The sender stalls."""

    status, code = 408, "timeout"


class _Pending:
    """Bytes of the exports that are in memory now."""

    num_bytes = 0

    @contextmanager
    def holding(self, num_bytes: int) -> Iterator[None]:
        """Count `num_bytes` while they are held; raises UnavailableError when too many are."""
        if self.num_bytes and self.num_bytes + num_bytes > settings.HONE_TRACES_PENDING_BYTES:
            raise UnavailableError("Too many exports are being read", retry_after_s=1)
        self.num_bytes += num_bytes
        try:
            yield
        finally:
            self.num_bytes -= num_bytes


_pending = _Pending()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The door. Every outcome is answered here."""
    given = headers(scope)
    is_json = "json" in given.get("content-type", "")
    extra: Iterable[tuple[str, str]] = ()
    try:
        status, body = 200, exported(await _take(scope, given, receive), is_json=is_json)
    except Exception as error:
        known = as_hone_error(error)
        if known is None:
            raise
        status, extra = known.status, known.headers().items()
        body = failed(status, known.message, is_json=is_json)
    await send_bytes(send, status, body, JSON if is_json else PROTOBUF, extra)


async def _take(scope: Scope, given: dict[str, str], receive: Receive) -> list[str]:
    """Read and store one export; why spans were refused."""
    _check_route(scope)
    project = await _project(given.get("authorization", ""))
    kind = given.get("content-type", "")
    if "json" not in kind and "protobuf" not in kind:
        raise UnsupportedError(f"Content-Type: got {kind!r}, want {PROTOBUF} or {JSON}")
    _check_version(given.get(_VERSION, ""))
    length = given.get("content-length", "")
    with _pending.holding(int(length) if length.isdecimal() else _UNDECLARED_BYTES):
        sent = await _sent(scope, receive)
        body = await _inflated(sent, given.get("content-encoding", ""))
        with _pending.holding(len(body) - len(sent)):
            export = await _read(await intake(project.project_id), body, is_json="json" in kind)
            return await _store(export)


def _check_route(scope: Scope) -> None:
    if scope["path"] not in PATHS:
        raise NotFoundError(f"There is nothing at {scope['path']}")
    if scope["method"] != "POST":
        raise MethodError(f"{scope['path']} takes POST, got {scope['method']}")


def _check_version(text: str) -> None:
    """What a later version of the protocol means, nobody here knows: it is not guessed."""
    if text and not (text.isascii() and text.isdecimal() and int(text[:9]) <= _NEWEST):
        raise InvalidError(f"{_VERSION}: got {text[:40]!r}, want a number up to {_NEWEST}")


async def _project(authorization: str) -> KeyScope:
    found = credentials(authorization)
    project = await key_resolve_async(*found) if found else None
    if project is None:
        raise UnauthenticatedError("Wanted a project's key: Basic PUBLIC:SECRET or Bearer SECRET")
    return project


async def _sent(scope: Scope, receive: Receive) -> bytes:
    try:
        async with asyncio.timeout(_BODY_S):
            return await read_body(scope, receive, settings.HONE_TRACES_MAX_BODY_BYTES)
    except TimeoutError:
        raise SlowError(f"The body did not arrive within {_BODY_S:.0f} s") from None


async def _inflated(sent: bytes, encoding: str) -> bytes:
    limit = settings.HONE_TRACES_MAX_INFLATED_BYTES
    if not encoding or len(sent) <= _INLINE_BYTES // 4:
        return inflate(sent, encoding, limit)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_inflaters, inflate, sent, encoding, limit)


async def _read(intake: Intake, body: bytes, *, is_json: bool) -> Export:
    try:
        if len(body) <= _INLINE_BYTES:
            return export_read(intake, body, is_json=is_json)
        return await asyncio.to_thread(export_read, intake, body, is_json=is_json)
    except Malformed as error:
        raise InvalidError(str(error)) from None


async def _store(export: Export) -> list[str]:
    await parts_store(export.parts)
    if export.refused and not export.parts:
        raise InvalidError(f"No span can be stored: {'; '.join(export.refused[:5])}")
    return export.refused
