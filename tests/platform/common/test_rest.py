import pytest
from django.db import OperationalError
from rest_framework.exceptions import ErrorDetail

from hone.common.errors import InvalidError
from hone.common.rest import as_hone_error, first_problem, json_loads

PROJECTS = "/api/projects"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b'{"name": "\\ud800"}',
        b'{"name": NaN}',
        b'{"name": "a\\u0000"}',
        b"[" * 5000,
    ],
)
def test_a_body_that_is_no_json_is_the_callers_mistake(as_alice, body: bytes) -> None:
    answer = as_alice.post(PROJECTS, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid")


def test_an_escaped_backslash_is_no_nul() -> None:
    assert json_loads(rb'"a\\u0000"') == r"a\u0000"
    with pytest.raises(InvalidError):
        json_loads(rb'{"a": [{"b\u0000": 1}]}')


def test_another_media_type_is_refused(as_alice) -> None:
    answer = as_alice.post(PROJECTS, b"name=x", "application/x-www-form-urlencoded")
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported")


def test_a_method_that_is_not_there_is_refused(as_alice) -> None:
    answer = as_alice.delete(PROJECTS)
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize("path", ["/api/nothing", "/api/projects/", "/api/projects/demo/members/x"])
def test_an_address_that_is_not_there_is_told_in_json(as_alice, path: str) -> None:
    answer = as_alice.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "path",
    [
        "/api/projects/demo/prompts?q=%00",
        "/api/projects/demo/prompts/%00",
        "/api/projects/demo/members?cursor=%00",
    ],
)
def test_nul_in_an_address_is_the_callers_mistake(as_alice, path: str) -> None:
    assert as_alice.get(path).status_code == 400


def test_a_database_that_is_away_is_unavailable(as_alice, monkeypatch) -> None:
    def away(*_: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("hone.accounts.api.access.access_of_user", away)
    answer = as_alice.get("/api/projects/demo")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


def test_a_bug_is_no_error_of_the_caller() -> None:
    assert as_hone_error(KeyError("x")) is None


def test_the_first_problem_is_named_by_its_path() -> None:
    detail = {"a": [{}, {"b": [ErrorDetail("wrong")]}]}
    assert first_problem(detail) == ("wrong", "a.1.b")
    assert first_problem({"non_field_errors": ["whole"]}) == ("whole", None)
    assert first_problem(["alone"]) == ("alone", None)
