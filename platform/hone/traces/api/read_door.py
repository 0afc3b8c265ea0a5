"""What pages and programs read of traces all the time, answered in front of Django.

The views' own functions answer, in one thread of the pool; what falls away is Django's middleware
and a thread of its own for each request (a third of the time of one trace). Other methods and
addresses go on to Django, which keeps the schema.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from django.core.exceptions import TooManyFieldsSent
from django.http import QueryDict

from hone.accounts.api.authentication import credentials
from hone.accounts.api.scope import access_of_scope
from hone.accounts.core.roles import Role
from hone.accounts.services import key_resolve_async
from hone.common.asgi import App, Receive, Scope, Send, headers, send_bytes
from hone.common.database import database_read
from hone.common.errors import (
    InvalidError,
    NotFoundError,
    UnauthenticatedError,
    UnavailableError,
)
from hone.common.rest import JsonRenderer
from hone.traces.api import answers

_PROJECT: Final = re.compile(r"/api/projects/([-a-zA-Z0-9_]+)/(.+)")
_READS: Final = [
    (re.compile(pattern), answer)
    for pattern, answer in (
        ("traces", answers.traces),
        ("traces/histogram", answers.trace_histogram),
        ("traces/facets", answers.trace_facets),
        ("traces/([^/]+)", answers.trace),
        ("traces/([^/]+)/observations/([^/]+)", answers.observation),
        ("observations", answers.observations),
        ("observations/facets", answers.observation_facets),
        ("sessions", answers.sessions),
        ("sessions/(.+)", answers.session),
        ("users", answers.users),
        ("users/(.+)", answers.user),
    )
]
MOST: Final = 100  # reads under way in one web process, before 503
_HEADERS: Final = [("x-content-type-options", "nosniff"), ("vary", "Cookie")]


def in_front_of(django: App) -> App:
    """`django`, but the reads of traces are answered without it."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        found = _PROJECT.fullmatch(scope["path"]) if scope["method"] == "GET" else None
        read = _read_of(found[2]) if found else None
        if found is None or read is None:
            return await django(scope, receive, send)
        project_id = await _project_of_key(scope, found[1])
        async with _waiting:
            body = await database_read(_answer, scope, found[1], project_id, read)
        return await send_bytes(send, 200, body, headers=_HEADERS)

    return door


class _Waiting:
    """How many reads are under way; one too many is told to come back."""

    def __init__(self) -> None:
        self.number = 0

    async def __aenter__(self) -> None:
        if self.number >= MOST:
            raise UnavailableError(f"{self.number} reads are waiting already", retry_after_s=2)
        self.number += 1

    async def __aexit__(self, *_: object) -> None:
        self.number -= 1


_waiting: Final = _Waiting()
Read = tuple[Callable[..., Any], tuple[str, ...]]


def _read_of(path: str) -> Read | None:
    """The function that answers a path, and what the path names."""
    for pattern, answer in _READS:
        if found := pattern.fullmatch(path):
            return answer, found.groups()
    return None


async def _project_of_key(scope: Scope, slug: str) -> int | None:
    """The project that a key opens; None where no key is given. Raises HoneError."""
    found = credentials(headers(scope).get("authorization", ""))
    if found is None:
        return None
    key = await key_resolve_async(*found)
    if key is None:
        raise UnauthenticatedError("The API key is unknown or revoked")
    if key.project_slug != slug:
        raise NotFoundError(f"There is no project {slug!r}")
    return key.project_id


def _answer(scope: Scope, slug: str, project_id: int | None, read: Read) -> bytes:
    if project_id is None:
        access = access_of_scope(scope, slug)
        access.require(Role.VIEWER)
        project_id = access.project.pk
    try:
        params = QueryDict(scope["query_string"])
    except TooManyFieldsSent as error:
        raise InvalidError(str(error)) from None
    function, names = read
    return JsonRenderer().render(function(project_id, params, *names))
