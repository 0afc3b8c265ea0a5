"""GET /api/public/v2/prompts/NAME in front of Django: applications wait for it when they start.

Answered from memory (services.serving); a body is encoded once and has an ETag, so that a client
that has it already gets 304. Server-Timing says how long this took, in milliseconds.
"""

import hashlib
import time
from dataclasses import dataclass
from typing import Final

import orjson
from django.http import QueryDict

from hone.accounts.api.authentication import credentials
from hone.accounts.services import key_resolve_async
from hone.common.asgi import App, Receive, Scope, Send, headers, send_bytes, send_json
from hone.common.errors import UnauthenticatedError
from hone.common.public import error_body
from hone.common.rest import as_hone_error
from hone.prompts.api.reading import Asked, asked_of, prompt_body, public_words
from hone.prompts.selectors import Served
from hone.prompts.services import prompt_serve

PATH: Final = "/api/public/v2/prompts"
# Whoever keeps an answer asks each time whether it still holds, and for each of its users anew.
_KEEP: Final = (
    ("cache-control", "private, no-cache"),
    ("vary", "Authorization, X-Hone-User, X-Hone-Session"),
)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A body ready to be sent."""

    body: bytes
    etag: str


def in_front_of(django: App) -> App:
    """`django`, but one prompt is read without it."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path"].removeprefix(f"{PATH}/")
        if scope["method"] != "GET" or name in ("", scope["path"]):
            return await django(scope, receive, send)
        began = time.perf_counter()
        given = headers(scope)
        try:
            found = await _read(scope, given, name)
        except Exception as error:
            problem = as_hone_error(error)
            if problem is None:
                raise
            extra = problem.headers().items()
            return await send_json(send, problem.status, error_body(problem), extra)
        is_known = etag_matches(given.get("if-none-match", ""), found.etag)
        took_ms = (time.perf_counter() - began) * 1000
        told = (("etag", found.etag), ("server-timing", f"prompt;dur={took_ms:.3f}"), *_KEEP)
        status, body = (304, b"") if is_known else (200, found.body)
        return await send_bytes(send, status, body, headers=told)

    return door


async def _read(scope: Scope, given: dict[str, str], name: str) -> Encoded:
    found = credentials(given.get("authorization", ""))
    project = await key_resolve_async(*found) if found else None
    if project is None:
        raise UnauthenticatedError("Wanted a project's key: Basic PUBLIC:SECRET")
    asked = asked_of(name, QueryDict(scope["query_string"]), given)
    with public_words(asked):
        served = await prompt_serve(project.project_id, asked.reference, raw=asked.raw)
    return encoded(served, asked)


def encoded(served: Served, asked: Asked) -> Encoded:
    """The answer's body, made once for each version and kind of key."""
    version, assignment = served.pick(asked.subject)
    key = (asked.raw, assignment)
    known: Encoded | None = version.encoded.get(key)
    if known is None:
        body = orjson.dumps(prompt_body(served, asked), default=str)
        known = Encoded(body, f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"')
        version.encoded[key] = known
    return known


def etag_matches(wanted: str, etag: str) -> bool:
    """Whether an If-None-Match header names the tag; compared weakly, as RFC 9110 has it."""
    tags = [tag.strip().removeprefix("W/") for tag in wanted.split(",")]
    return "*" in tags or etag in tags
