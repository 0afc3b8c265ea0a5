from datetime import UTC, datetime, timedelta

import pytest

from hone.common.errors import InvalidError
from hone.common.models import Event
from hone.common.paging import cursor_decode, cursor_encode, limit_of, paginate

START = datetime(2026, 1, 1, tzinfo=UTC)
KEYS = {"-created_at": datetime, "-id": int}


@pytest.fixture
def events(db: None) -> None:
    """Seven events, of which three share one time."""
    for number in range(7):
        moment = START + timedelta(seconds=min(number, 4))
        Event.objects.create(project_id=1, seq=number, kind="k", payload={}, created_at=moment)


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8])
def test_pages_together_are_the_whole_list(events: None, limit: int) -> None:
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        params = {"limit": str(limit), "cursor": cursor}
        page = paginate(Event.objects.all(), params, KEYS)
        assert len(page.rows) <= limit
        seen += [event.seq for event in page.rows]
        cursor = page.next_cursor
    assert seen == [6, 5, 4, 3, 2, 1, 0]


def test_rows_that_arrive_meanwhile_shift_nothing(events: None) -> None:
    first = paginate(Event.objects.all(), {"limit": "3"}, KEYS)
    late = START + timedelta(days=1)
    Event.objects.create(project_id=1, seq=99, kind="k", payload={}, created_at=late)
    params = {"limit": "3", "cursor": first.next_cursor or ""}
    assert [e.seq for e in paginate(Event.objects.all(), params, KEYS).rows] == [3, 2, 1]


@pytest.mark.parametrize("limit", ["0", "-1", "201", "x", "1e3", "²", "9" * 40])
def test_a_bad_limit_is_refused(limit: str) -> None:
    with pytest.raises(InvalidError, match="limit"):
        limit_of({"limit": limit})


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "%%%",
        "ü",
        cursor_encode([1]),
        cursor_encode(["2026-01-01T00:00:00Z", "7"]),
        cursor_encode(["yesterday", 7]),
        cursor_encode({"a": 1, "b": 2}),
        cursor_encode([None, 7]),
    ],
)
def test_a_made_up_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidError, match="cursor"):
        cursor_decode(cursor, [datetime, int])


def test_a_cursor_keeps_its_values() -> None:
    assert cursor_decode(cursor_encode([START, 7, "a/b"]), [datetime, int, str]) == [
        START,
        7,
        "a/b",
    ]
