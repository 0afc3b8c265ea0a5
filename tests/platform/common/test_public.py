"""The shapes and query strings that all public endpoints share."""

from datetime import UTC, datetime

import pytest
from django.http import QueryDict

from hone.common.errors import InvalidError
from hone.common.public import (
    comma_list,
    cursor_body,
    flag_of,
    moment_of,
    page_body,
    page_query,
    repeated,
    stamp,
)


def test_times_and_pages() -> None:
    assert stamp(datetime(2026, 11, 30, 12, 0, 0, 123456, UTC)) == "2026-11-30T12:00:00.123Z"
    assert stamp(None) is None
    query = page_query(QueryDict("page=3&limit=20"))
    assert query.offset == 40
    assert page_body([1], query, 41)["meta"] == {
        "page": 3,
        "limit": 20,
        "totalItems": 41,
        "totalPages": 3,
    }
    assert page_body([], page_query(QueryDict("")), 0)["meta"]["totalPages"] == 0
    assert cursor_body([1], "c", limit=5) == {"data": [1], "meta": {"limit": 5, "cursor": "c"}}
    assert "cursor" not in cursor_body([], None)["meta"]


def test_query_strings() -> None:
    params = QueryDict("a=x,%20y,&env=1&env=2&on=true&from=2026-11-30T12:00:00+00:00")
    assert comma_list(params, "a") == ["x", "y"]
    assert repeated(params, "env") == ["1", "2"]
    assert flag_of(params, "on") is True
    assert flag_of(params, "off") is None
    assert moment_of(params, "from") == datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize("query", ["page=0", "limit=101", "limit=x", "limit=-1", "page=9999999"])
def test_no_such_page(query: str) -> None:
    with pytest.raises(InvalidError):
        page_query(QueryDict(query))
