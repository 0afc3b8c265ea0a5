"""Every door that takes a body is sent what nobody should send: a 4xx in JSON, never a 500."""

import asyncio
import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.db import transaction
from django.test import Client

from hone.config.routing import DOORS, build
from hone.prompts.services import serving
from hone.traces.services import writer

sys.path.insert(0, str(Path(__file__).parent))
from url_table import ENDPOINTS, PUBLIC, Endpoint

WRITES = [e for e in ENDPOINTS if e.method in ("POST", "PUT", "PATCH", "DELETE")]
NAMES = ("name", "value", "input", "content", "pattern", "labels", "prompt", "datasetName", "email")
TEXTS = ", ".join(f'"{name}": %s' for name in NAMES)
# Each is no body of any door: not JSON, or not an object, or not what PostgreSQL can keep.
BODIES = {
    "empty": b"",
    "a list": b"[]",
    "a list of numbers": b"[1, null]",
    "a text": b'"x"',
    "null": b"null",
    "brackets": b"[" * 100_000,
    "objects": b'{"a":' * 100_000,
    "NaN": b'{"name": "x", "value": NaN}',
    "a huge number": b'{"name": "x", "value": 1' + b"0" * 5000 + b"}",
    "a huge power": b'{"name": "x", "value": 1e999999, "limit": -1e999999}',
    "a lone surrogate": b'{"name": "\\ud800"}',
    "half a text": b'{"name": "x',
    "no UTF-8": b'{"name": "\xff"}',
    "NUL everywhere": b"{" + (TEXTS.replace("%s", '"a\\u0000b"')).encode() + b"}",
    "NUL in a key": b'{"name": "x", "metadata": {"\\u0000": 1}}',
    "numbers for texts": b"{" + TEXTS.replace("%s", "7").encode() + b"}",
    "objects for texts": b"{" + TEXTS.replace("%s", '{"__proto__": []}').encode() + b"}",
    "lists for texts": b"{" + TEXTS.replace("%s", "[[]]").encode() + b"}",
    "ends of text": b"{" + TEXTS.replace("%s", '"%s"' % ("x" * 3000)).encode() + b"}",
}
UNREADABLE = {
    *("brackets", "objects", "NaN", "a lone surrogate", "half a text", "no UTF-8"),
    *("NUL everywhere", "NUL in a key"),
}
WITHOUT_BODY = {"api/projects/<slug:project>/prompts/<path:name>/drafts/main"}
PARTS = 6  # into which the endpoints are dealt
KINDS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "image/png")


@pytest.fixture
def filled(as_alice: Any) -> None:
    """A prompt under the names that the walk asks for, so that bodies are read."""
    for name in ("x", "x/y"):
        body = {"name": name, "type": "text", "prompt": "kept", "labels": ["production"]}
        assert as_alice.post("/api/projects/demo/prompts", body).status_code == 201


def is_json(answer: Any) -> bool:
    return answer.status_code == 204 or answer["content-type"].startswith("application/json")


@contextmanager
def left_as_it_was(api: Client) -> Iterator[None]:
    """What an endpoint is sent changes nothing for the next one: not even signing out."""
    cookies = copy.deepcopy(api.cookies)
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    api.cookies = cookies
    serving.reset_cache()


@pytest.mark.django_db
@pytest.mark.parametrize("part", range(PARTS))
def test_no_body_breaks_a_door(as_alice, as_key, filled, part: int) -> None:
    """A fault of ours would be raised here, not answered."""
    for endpoint in WRITES[part::PARTS]:
        api = as_key if endpoint in PUBLIC else as_alice
        with left_as_it_was(api):
            no_body_breaks(api, endpoint)


def no_body_breaks(api: Any, endpoint: Endpoint) -> None:
    for name, body in BODIES.items():
        answer = api.generic(endpoint.method, f"/{endpoint.path}", body)
        assert answer.status_code < 500, (endpoint, name, answer.content)
        assert is_json(answer), (endpoint, name)
        if answer.status_code >= 400 and answer.content:
            assert answer.json(), (endpoint, name)
        if name in UNREADABLE:
            is_read = endpoint.method != "DELETE" and endpoint.route not in WITHOUT_BODY
            is_read = is_read and answer.status_code not in (204, 404, 405)
            refused = answer.status_code in (400, 401, 403, 409, 415)
            assert not is_read or refused, (endpoint, name)


@pytest.mark.django_db
@pytest.mark.parametrize("part", range(PARTS))
def test_another_kind_of_body_is_refused_in_json(as_alice, as_key, filled, part: int) -> None:
    for endpoint in WRITES[part::PARTS]:
        api = as_key if endpoint in PUBLIC else as_alice
        with left_as_it_was(api):
            for kind in KINDS:
                answer = api.generic(endpoint.method, f"/{endpoint.path}", b'{"name": "x"}', kind)
                assert answer.status_code < 500, (endpoint, kind, answer.content)
                assert is_json(answer), (endpoint, kind)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("prefix", [prefix for prefix, _ in DOORS])
async def test_no_body_breaks_a_raw_door(api_key, broker_closed: None, prefix: str) -> None:
    """In one event loop, as the process has one."""
    web = build()
    path = "/v1/chat/completions" if prefix == "/v1" else prefix
    for kind in ("application/json", *KINDS):
        for name, body in BODIES.items():
            headers = {**api_key.bearer, "host": "localhost", "content-type": kind}
            sent = await posted(web, path, body, headers)
            answer = b"".join(message.get("body", b"") for message in sent[1:])
            assert sent[0]["status"] < 500, (kind, name, answer)
            if answer and "json" in dict(sent[0]["headers"])[b"content-type"].decode():
                orjson.loads(answer)
    await writer.writer().told()


async def posted(web: Any, path: str, body: bytes, headers: dict[str, str]) -> list[Any]:
    """The messages that answer a POST."""
    sent: list[Any] = []

    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if not pending:
            await asyncio.Event().wait()  # the client stays until it has its answer
        return pending.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        **{"type": "http", "method": "POST", "path": path, "raw_path": path.encode()},
        **{"query_string": b"", "root_path": "", "scheme": "http", "http_version": "1.1"},
        **{"client": ("127.0.0.1", 50000), "server": ("testserver", 80)},
        "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
    }
    await web(scope, receive, send)
    return sent
