"""PUT and GET of a file's bytes at a signed address, in front of Django: they are streamed.

The address itself is the permission (services.media.media_token), so that an SDK and an <img> need
no key. What is uploaded is checked against the size and the hash that were announced.
"""

import hashlib
import re
from tempfile import SpooledTemporaryFile
from typing import Final

import orjson

from hone.common.asgi import Receive, Scope, Send, body_parts, headers, send_bytes
from hone.common.database import database_call
from hone.common.errors import HoneError, InvalidError, TooLargeError
from hone.common.public import error_body
from hone.common.rest import MethodError, as_hone_error
from hone.traces.core.media import content_type_clean, is_inline
from hone.traces.models import Media
from hone.traces.selectors.media import media_by_id, media_chunk
from hone.traces.services.media import CHUNK_BYTES, READ, UPLOAD, media_of_token, media_store

PATH: Final = "/api/public/media-content"
_IN_MEMORY_BYTES: Final = 1024 * 1024  # of an upload; a longer one waits on disk
_RANGE: Final = re.compile(r"bytes=(\d{1,15})-(\d{0,15})\Z")
# Nothing in a stored file runs in our origin, whatever it calls itself.
_SAFE: Final = (
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "private, max-age=3600, immutable"),
    ("accept-ranges", "bytes"),
)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The door. Every outcome is answered here."""
    try:
        method = scope["method"]
        if method not in ("GET", "HEAD", "PUT"):
            raise MethodError(f"{PATH} takes GET and PUT, got {method}")
        token = scope["path"].removeprefix(f"{PATH}/")
        media_id = media_of_token(token, UPLOAD if method == "PUT" else READ)
        media = await database_call(media_by_id, media_id)
        if method == "PUT":
            await _take(media, scope, receive, send)
        else:
            await _give(media, scope, send)
    except Exception as error:
        problem = as_hone_error(error)
        if problem is None:
            raise
        await _refuse(send, problem)


async def _refuse(send: Send, problem: HoneError) -> None:
    body = orjson.dumps(error_body(problem))
    await send_bytes(send, problem.status, body, headers=problem.headers().items())


async def _take(media: Media, scope: Scope, receive: Receive, send: Send) -> None:
    given = headers(scope)
    declared = given.get("content-length", "")
    if declared.isdecimal() and int(declared) != media.num_bytes:
        raise InvalidError(f"The body has {int(declared)} bytes, announced were {media.num_bytes}")
    kind = given.get("content-type")
    if kind and content_type_clean(kind) != media.content_type:
        raise InvalidError(f"Content-Type: got {kind[:80]}, announced was {media.content_type}")
    digest = hashlib.sha256()
    num_bytes = 0
    with SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
        async for part in body_parts(receive):
            num_bytes += len(part)
            if num_bytes > media.num_bytes:
                raise TooLargeError(f"More than the announced {media.num_bytes} bytes came")
            digest.update(part)
            file.write(part)
        if num_bytes != media.num_bytes or digest.digest() != bytes(media.sha256):
            raise InvalidError(f"{num_bytes} bytes came, which are not those announced")
        file.seek(0)
        await database_call(media_store, media_id=media.pk, content=file)
    await send_bytes(send, 200, b"", headers=[("etag", f'"{media.key}"')])


async def _give(media: Media, scope: Scope, send: Send) -> None:
    if media.uploaded_at is None:
        raise InvalidError("The file was announced, but its bytes have not come yet")
    given = headers(scope)
    if given.get("if-none-match") == f'"{media.key}"':
        return await send_bytes(send, 304, b"", media.content_type, [("etag", f'"{media.key}"')])
    start, end, is_part = _range(given.get("range", ""), media.num_bytes)
    extra = [("content-range", f"bytes {start}-{end - 1}/{media.num_bytes}")] if is_part else []
    pairs = [*_headers(media, end - start), *extra]
    encoded = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in pairs]
    status = 206 if is_part else 200
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    if scope["method"] != "HEAD":
        await _send_chunks(media, start, end, send)
    await send({"type": "http.response.body", "body": b""})


def _headers(media: Media, num_bytes: int) -> list[tuple[str, str]]:
    is_shown = is_inline(media.content_type)
    kind = media.content_type if is_shown else "application/octet-stream"
    extension = re.sub("[^a-z0-9]", "", media.content_type.rpartition("/")[2])[:12] or "bin"
    manner = "inline" if is_shown else "attachment"
    return [
        ("content-type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind),
        ("content-length", str(num_bytes)),
        ("content-disposition", f'{manner}; filename="{media.key}.{extension}"'),
        ("etag", f'"{media.key}"'),
        *_SAFE,
    ]


async def _send_chunks(media: Media, start: int, end: int, send: Send) -> None:
    for position in range(start // CHUNK_BYTES, -(-end // CHUNK_BYTES)):
        data = await database_call(media_chunk, media.pk, position)
        if data is None:
            raise RuntimeError(f"piece {position} of file {media.pk} is missing")
        first = position * CHUNK_BYTES
        body = data[max(0, start - first) : end - first]
        await send({"type": "http.response.body", "body": body, "more_body": True})


def _range(header: str, num_bytes: int) -> tuple[int, int, bool]:
    """(start, end, whether only a part is wanted); what cannot be met is the whole."""
    found = _RANGE.match(header)
    if not found:
        return 0, num_bytes, False
    start = int(found[1])
    end = min(int(found[2]) + 1 if found[2] else num_bytes, num_bytes)
    return (start, end, True) if start < end else (0, num_bytes, False)
