"""The door in front of the trace pages' reads: as the views answer, and refuse."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import resolve

from hone.accounts.core.roles import Role
from hone.accounts.models import Project
from hone.common.asgi import Receive, Scope, Send, outermost, send_bytes
from hone.traces.api import answers, read_door
from hone.traces.core.span import Span
from hone.traces.services import spans_ingest
from hone.traces.urls import urlpatterns

Make = Callable[..., Span]
HOME = "/api/projects/demo"
TRACE = "ab" * 16
READS = [
    "traces?limit=2",
    "traces?model=m&q=hello",
    "traces/histogram?buckets=3",
    "traces/facets",
    f"traces/{TRACE}",
    f"traces/{TRACE}?light=true&limit=1",
    f"traces/{TRACE}/observations/{1:016x}",
    "observations?limit=2",
    "observations/facets",
    "sessions",
    "sessions/a/b",
    "users",
    "users/u",
]


@pytest.fixture
def filled(project: Project, make_span: Make) -> None:
    common = {"session_id": "a/b", "user_id": "u", "model": "m", "input": "Hello"}
    spans_ingest(project_id=project.pk, spans=[make_span(number, **common) for number in range(3)])


@pytest.fixture
def door(asgi: Any) -> Callable[..., Any]:
    """`door("GET", "traces?limit=2", headers)`; Django in its place answers 299."""

    async def django(scope: Scope, receive: Receive, send: Send) -> None:
        await send_bytes(send, 299, b"")

    app = outermost(read_door.in_front_of(django))

    def call(method: str, address: str, headers: dict[str, str]) -> Any:
        path, _, query = address.partition("?")
        given = {"host": "localhost", **headers}
        return asgi(app, method, f"{HOME}/{path}", query=query, headers=given)

    return call


def cookie(api: Any) -> dict[str, str]:
    return {"cookie": f"hone_session={api.cookies['hone_session'].value}"}


@pytest.mark.parametrize("address", READS)
def test_keys_and_people_read_what_the_views_say(
    filled: None, door: Any, as_bob: Any, api_key: Any, address: str
) -> None:
    said = as_bob.get(f"{HOME}/{address}")
    assert said.status_code == 200
    frozen = {"buckets"} & said.json().keys()  # their window ends now
    for headers in (api_key.bearer, cookie(as_bob)):
        answer = door("GET", address, headers)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        if not frozen:
            assert answer.json() == said.json()


@pytest.mark.parametrize("address", READS)
def test_others_are_refused(
    filled: None, door: Any, as_charlie: Any, foreign_key: Any, address: str
) -> None:
    for headers, status, code in (
        ({}, 401, "unauthenticated"),
        ({"authorization": "Bearer sk-hone-wrong"}, 401, "unauthenticated"),
        (foreign_key.bearer, 404, "not_found"),
        (cookie(as_charlie), 404, "not_found"),
    ):
        answer = door("GET", address, headers)
        assert (answer.status, answer.json()["error"]["code"]) == (status, code)
        assert ("www-authenticate" in answer.headers) == (status == 401)


def test_a_viewer_may_look(filled: None, door: Any, as_role: Callable[[Role], Any]) -> None:
    assert door("GET", "traces", cookie(as_role(Role.VIEWER))).status == 200


@pytest.mark.parametrize(
    ("method", "address"),
    [
        ("DELETE", f"traces/{TRACE}"),
        ("HEAD", "traces"),
        ("GET", "prompts"),
        ("GET", "traces/x/y"),
        ("GET", "observations/x"),
        ("GET", "traces/"),
    ],
)
def test_everything_else_is_djangos(door: Any, api_key: Any, method: str, address: str) -> None:
    assert door(method, address, api_key.bearer).status == 299


VIEWS = {
    answers.traces: "Traces",
    answers.trace_histogram: "TraceHistogram",
    answers.trace_facets: "TraceFacets",
    answers.trace: "TraceDetail",
    answers.observation: "TraceObservation",
    answers.observations: "Observations",
    answers.observation_facets: "ObservationFacets",
    answers.sessions: "Sessions",
    answers.session: "SessionDetail",
    answers.users: "Users",
    answers.user: "UserDetail",
}


def test_the_door_takes_no_address_of_another_view() -> None:
    """A view that comes later than the door must not be hidden by it."""
    taken = set()
    for route in (str(p.pattern) for p in urlpatterns):
        path = re.sub(r"<[a-z]+:[a-z_]+>", "x", route.removeprefix("projects/<slug:project>/"))
        read = read_door._read_of(path)
        if read is not None:
            view: Any = resolve(f"{HOME}/{path}").func
            assert view.cls.__name__ == VIEWS[read[0]], path
            taken.add(read[0])
    assert taken == VIEWS.keys()


def test_too_many_at_once_are_told_to_come_back(
    filled: None, door: Any, api_key: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_door, "MOST", 0)
    answer = door("GET", "traces", api_key.bearer)
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["error"]["code"] == "unavailable"
    monkeypatch.setattr(read_door, "MOST", 1)
    for address, status in (("traces/A", 404), ("traces", 200), ("traces", 200)):
        assert door("GET", address, api_key.bearer).status == status


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("traces?limit=0", 400),
        ("traces?q=%00", 400),
        ("traces?colour=red", 400),
        ("traces?" + "&".join(["x=1"] * 1001), 400),
        ("traces?filter=[", 400),
        (f"traces/{'0' * 32}", 404),
        ("traces/A", 404),
        ("users/none", 404),
    ],
)
def test_bad_questions_get_words(
    filled: None, door: Any, api_key: Any, address: str, status: int
) -> None:
    answer = door("GET", address, api_key.bearer)
    assert (answer.status, bool(answer.json()["error"]["message"])) == (status, True)
