"""The whole application, raw doors and sockets too: each path with no key, and with another's."""

import ast
import inspect
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from hone.collab.consumers import PREFIX as ROOMS
from hone.common.asgi import Receive, Scope, Send, send_json
from hone.config import routing
from hone.config.routing import DOORS, build
from hone.traces.api.export_door import is_export
from hone.traces.consumers import is_live

sys.path.insert(0, str(Path(__file__).parent))
from url_table import OF_A_PROJECT, PUBLIC

# Doors that give nothing of anybody's: whether the service is up, what is dropped, a redirection.
FOR_EVERYBODY = {
    "/api/public/health": ("GET", 200),
    "/api/public/ready": ("GET", 200),
    "/api/public/otel/v1/metrics": ("POST", 200),
    "/project": ("GET", 404),
}
# Doors that want a key: what is asked of each, and the statuses with none and with a wrong one.
BY_KEY = {
    "/api/public/otel/v1/traces": ("POST", "/api/public/otel/v1/traces"),
    "/api/public/ingestion": ("POST", "/api/public/ingestion"),
    "/v1/traces": ("POST", "/v1/traces"),
    "/v1": ("POST", "/v1/chat/completions"),
}
# Doors at addresses that are themselves the permission.
BY_ADDRESS = {"/api/public/media-content": "/api/public/media-content/made-up"}
# Raw paths below a project that no table of URLs lists.
RAW = ("/api/projects/demo/live", "/api/projects/demo/export/traces")
WRONG = {
    "none": "",
    "unknown": "Bearer sk-hone-unknown",
    "half": f"Basic {b64encode(b'pk-hone-x:').decode()}",
    "no base64": "Basic %%%",
}


@pytest.fixture
def web() -> Any:
    return build()


def test_no_door_is_without_its_case() -> None:
    """A new door fails here until it is said who may pass it."""
    named = [FOR_EVERYBODY, BY_KEY, BY_ADDRESS]
    assert sorted(prefix for prefix, _ in DOORS) == sorted(p for cases in named for p in cases)


def test_no_branch_of_the_routing_is_without_its_case() -> None:
    """What `choose` and `route` ask for, spelled out: a new question has to be answered here."""
    tree = ast.parse(inspect.getsource(routing.build))
    asked = {ast.unparse(node.test) for node in ast.walk(tree) if isinstance(node, ast.If)}
    assert asked == {
        "path in HEALTH",
        "consumers.is_live(path)",
        "export_door.is_export(path)",
        "is_below(path, read_door.PATH)",
        "scope['type'] == 'websocket'",
    }
    assert is_live(RAW[0])
    assert is_export(RAW[1])


@pytest.mark.parametrize("prefix", FOR_EVERYBODY)
@pytest.mark.django_db
def test_doors_for_everybody_tell_nothing(asgi, web, project, prefix: str) -> None:
    method, status = FOR_EVERYBODY[prefix]
    answer = asgi(web, method, prefix)
    assert answer.status == status
    assert b"demo" not in answer.body


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("prefix", BY_KEY)
@pytest.mark.django_db
def test_doors_by_key_open_with_no_wrong_one(
    asgi, web, project, api_key, prefix: str, wrong: str
) -> None:
    method, path = BY_KEY[prefix]
    headers = {"content-type": "application/json", "authorization": WRONG[wrong]}
    answer = asgi(web, method, path, body=b"{}", headers=headers)
    assert answer.status == 401, answer.body


@pytest.mark.parametrize("prefix", BY_KEY)
@pytest.mark.django_db
def test_no_halves_of_two_pairs_open_a_door(asgi, web, api_key, foreign_key, prefix: str) -> None:
    method, path = BY_KEY[prefix]
    for public, secret in ((api_key, foreign_key), (foreign_key, api_key)):
        pair = b64encode(f"{public.row.public_key}:{secret.secret}".encode()).decode()
        headers = {"content-type": "application/json", "authorization": f"Basic {pair}"}
        answer = asgi(web, method, path, body=b"{}", headers=headers)
        assert answer.status == 401, answer.body


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("prefix", BY_ADDRESS)
@pytest.mark.django_db
def test_a_made_up_address_opens_nothing(asgi, web, api_key, prefix: str, method: str) -> None:
    answer = asgi(web, method, BY_ADDRESS[prefix], body=b"x", headers=api_key.bearer)
    assert answer.status in (401, 403, 404), answer.body


@pytest.mark.parametrize("path", RAW)
@pytest.mark.django_db
def test_raw_paths_of_a_project_are_for_its_own(asgi, web, project, foreign_key, path: str) -> None:
    assert asgi(web, "GET", path).status == 401
    assert asgi(web, "GET", path, headers=foreign_key.bearer).status == 404


@pytest.fixture
def in_front(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The application with nothing behind the doors: what reaches Django gets 599."""

    async def behind(scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 599, {"message": "Django", "error": "Django"})

    monkeypatch.setattr(routing, "get_asgi_application", lambda: behind)
    return build()


@pytest.mark.django_db
def test_what_is_answered_in_front_of_django_is_refused_there(
    asgi, in_front, project, foreign_key
) -> None:
    """What is not goes on to Django, where test_access walks it."""
    reads, public = 0, 0
    for endpoint in OF_A_PROJECT + PUBLIC:
        path = f"/{endpoint.path}"
        answer = asgi(in_front, endpoint.method, path)
        if answer.status == 599:
            continue
        assert answer.status == 401, path
        if endpoint in PUBLIC:
            assert answer.json().keys() >= {"message", "error"}
            public += 1
        else:
            answer = asgi(in_front, endpoint.method, path, headers=foreign_key.bearer)
            assert answer.status == 404, path
            reads += 1
    assert (reads >= 11, public) == (True, 1), "the doors that this test is about"


@pytest.mark.parametrize(
    "path", ["/ws/collab/x", "/ws/collab/", "/ws/other", f"{ROOMS}/1/2", "/v1/traces", "/"]
)
@pytest.mark.django_db(transaction=True)
async def test_no_socket_opens_without_a_right(web, path: str, broker_closed: None) -> None:
    """Rooms are the only sockets, and every path goes to their door."""
    sent: list[Any] = []
    told = iter([{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1000}])

    async def receive() -> Any:
        return next(told)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": path, "query_string": b"", "headers": []}
    await web(scope, receive, send)
    assert sent[-1]["type"] == "websocket.close"
    assert sent[-1]["code"] in (4401, 4404)
