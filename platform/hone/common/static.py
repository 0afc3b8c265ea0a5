"""The built UI: hashed assets for ever, index.html for every other address."""

import asyncio
import hashlib
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hone.common.asgi import Receive, Scope, Send, headers, send_bytes, send_error
from hone.common.errors import NotFoundError
from hone.common.rest import MethodError

ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
IMMUTABLE = "public, max-age=31536000, immutable"
# Nothing from elsewhere; styles inline because charts and editors set them.
POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "font-src 'self' data:; connect-src 'self' ws: wss:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
MISSING = b"""<!doctype html><meta charset="utf-8"><title>Hone</title>
<p>The server is running, but the user interface is not built. Run <code>make ui</code>."""


@dataclass(frozen=True, slots=True)
class File:
    body: bytes
    encoding: str | None
    etag: str
    media_type: str


class StaticFiles:
    """ASGI application for the files below `root`, which may appear later."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] not in {"GET", "HEAD"}:
            return await send_error(send, MethodError("Only GET and HEAD are answered here"))
        given = headers(scope)
        found = await asyncio.to_thread(
            self.find,
            scope["path"],
            given.get("accept-encoding", ""),
            "text/html" in given.get("accept", ""),
        )
        if found is None:
            return await send_error(send, NotFoundError("There is no such file"))
        extra = list(self.headers(scope["path"], found))
        unchanged = found.etag in given.get("if-none-match", "")
        if unchanged:
            return await send_bytes(send, 304, b"", found.media_type, extra)
        is_head = scope["method"] == "HEAD"
        return await send_bytes(send, 200, found.body, found.media_type, extra, is_head=is_head)

    def headers(self, path: str, found: File) -> Iterator[tuple[str, str]]:
        yield "etag", found.etag
        yield "vary", "accept-encoding"
        yield "cache-control", IMMUTABLE if path.startswith("/assets/") else "no-cache"
        yield "x-content-type-options", "nosniff"
        yield "referrer-policy", "same-origin"
        yield "content-security-policy", POLICY
        if found.encoding:
            yield "content-encoding", found.encoding

    def find(self, path: str, accept: str, page: bool) -> File | None:
        """The file for `path`, index.html for a page's address, None for a missing asset.

        `page`: the client asks for HTML, so that a dot in the address does not make it a file.
        """
        target = self.inside(path)
        if target is None or not target.is_file():
            if path.startswith("/assets/") or ("." in path.rsplit("/", 1)[-1] and not page):
                return None
            target = self.root / "index.html"
            if not target.is_file():
                return File(MISSING, None, '"missing"', "text/html; charset=utf-8")
        return self.read(target, accept)

    def inside(self, path: str) -> Path | None:
        """The path below root, or None for one that leads out of it."""
        if "\x00" in path:
            return None
        target = (self.root / path.lstrip("/")).resolve()
        return target if target.is_relative_to(self.root) else None

    def read(self, target: Path, accept: str) -> File:
        """The smallest form of the file that the client accepts."""
        media_type = mimetypes.guess_type(target.name)[0] or "application/octet-stream"
        if media_type.startswith("text/") or media_type.endswith("javascript"):
            media_type += "; charset=utf-8"
        accepted = {part.split(";")[0].strip() for part in accept.split(",")}
        for encoding, suffix in ENCODINGS:
            packed = target.with_name(target.name + suffix)
            if encoding in accepted and packed.is_file():
                return _file(packed, encoding, media_type)
        return _file(target, None, media_type)


def _file(path: Path, encoding: str | None, media_type: str) -> File:
    body = path.read_bytes()
    return File(body, encoding, f'"{hashlib.sha256(body).hexdigest()[:20]}"', media_type)
