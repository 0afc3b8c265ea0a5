"""GET /api/projects/SLUG/export/WHAT?format=: a list as a file, however long it is.

A raw ASGI route like the live feed (docs/adr/0014): rows are read and sent a page at a time, and no
thread or connection is held in between.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from hone.accounts.api.scope import access_of_scope
from hone.common.asgi import Receive, Scope, Send
from hone.common.database import database_call
from hone.common.errors import InvalidError
from hone.common.rest import MethodError
from hone.traces.api.params import FILTERS, PLAIN_FILTERS, filter_of, observation_filter_of
from hone.traces.core.export import FORMATS, Exporter
from hone.traces.selectors import traces_list
from hone.traces.selectors.observations import observations_list

PORTION: Final = 1000  # rows in memory at once
_PATH: Final = re.compile(r"/api/projects/([-\w]+)/export/(traces|observations)")
_TRACES: Final[Mapping[str, str]] = {
    "id": "text", "name": "text", "started_at": "time", "duration_ms": "float", "status": "text",
    "input_preview": "text", "output_preview": "text", "models": "json",
    "observation_count": "int", "error_count": "int", "input_tokens": "int",
    "output_tokens": "int", "total_tokens": "int", "cost": "text", "unpriced_count": "int",
    "ttft_ms": "float", "tokens_per_second": "float", "user_id": "text", "session_id": "text",
    "tags": "json", "environment": "text", "prompts": "json", "release": "text", "version": "text",
}  # fmt: skip
_OBSERVATIONS: Final[Mapping[str, str]] = {
    "id": "text", "trace_id": "text", "parent_id": "text", "type": "text", "name": "text",
    "started_at": "time", "duration_ms": "float", "level": "text", "status": "text",
    "status_message": "text", "model": "text", "input_preview": "text", "output_preview": "text",
    "input_tokens": "int", "output_tokens": "int", "total_tokens": "int", "cost": "text",
    "ttft_ms": "float", "tokens_per_second": "float", "prompt": "json", "user_id": "text",
    "session_id": "text", "environment": "text", "release": "text", "version": "text",
}  # fmt: skip


class _Export(NamedTuple):
    read: Callable[..., Any]
    wanted: Any
    exporter: Exporter
    headers: list[tuple[bytes, bytes]]


def is_export(path: str) -> bool:
    """Whether a path is this door's."""
    return "/export/" in path and _PATH.fullmatch(path) is not None


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The door; a refusal is raised before anything is sent."""
    found = _PATH.fullmatch(scope["path"])
    assert found is not None, scope["path"]
    if scope["method"] != "GET":
        raise MethodError(f"This address takes GET, got {scope['method']}")
    export = await database_call(_prepare, scope, found[1], found[2])
    # The first portion before the headers: what is wrong with the filter is an answer of its own.
    rows, place = await database_call(export.read, export.wanted, limit=PORTION, after=None)
    await send({"type": "http.response.start", "status": 200, "headers": export.headers})
    await _send(send, export.exporter.begin())
    while True:
        await _send(send, export.exporter.rows([asdict(row) for row in rows]))
        if place is None:
            break
        rows, place = await database_call(export.read, export.wanted, limit=PORTION, after=place)
    await _send(send, export.exporter.end())
    await send({"type": "http.response.body", "body": b""})


def _prepare(scope: Scope, slug: str, what: str) -> _Export:
    project_id = access_of_scope(scope, slug).project.pk
    params = dict(_params(scope))
    name = params.pop("format", "csv")
    if name not in FORMATS:
        raise InvalidError(f"format: got {name[:40]!r}, want {', '.join(FORMATS)}", field="format")
    make, kind = FORMATS[name]
    headers = [
        (b"content-type", kind.encode()),
        (b"content-disposition", f'attachment; filename="{slug}-{what}.{name}"'.encode()),
        (b"cache-control", b"no-store"),
    ]
    if what == "traces":
        wanted: Any = filter_of(project_id, params, FILTERS)
        return _Export(traces_list, wanted, make(_TRACES), headers)
    wanted = observation_filter_of(project_id, params, PLAIN_FILTERS)
    return _Export(observations_list, wanted, make(_OBSERVATIONS), headers)


def _params(scope: Scope) -> Iterator[tuple[str, str]]:
    return iter(parse_qsl(scope["query_string"].decode("ascii", "replace"), keep_blank_values=True))


async def _send(send: Send, data: bytes) -> None:
    if data:
        await send({"type": "http.response.body", "body": data, "more_body": True})
