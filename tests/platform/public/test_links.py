"""Links that SDKs print lead to our pages, and nowhere else."""

import pytest

from hone.traces.api import link_door

ONE = "a1" * 16


@pytest.mark.parametrize(
    ("path", "page"),
    [
        (f"/project/demo/traces/{ONE}", f"/p/demo/traces/{ONE}"),
        (
            "/project/demo/traces/6b898c37-cb2a-4756-b2fe-f73342ba2e8b",
            "/p/demo/traces/6b898c37cb2a4756b2fef73342ba2e8b",
        ),
        ("/project/demo/experiments/results", "/p/demo/datasets"),
        ("/project/demo/prompts/a b", "/p/demo/prompts/a%20b"),
        ("/project/demo", "/p/demo"),
        ("/project//evil.example", None),
        ("/project", None),
        ("/project/\\evil.example", None),
    ],
)
def test_where_a_link_leads(asgi, path: str, page: str | None) -> None:
    answer = asgi(link_door.application, "GET", path, query="a=b")
    assert answer.status == (404 if page is None else 307)
    assert answer.headers.get("location") == (None if page is None else f"{page}?a=b")
