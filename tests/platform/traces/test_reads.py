"""The trace pages' endpoints."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from hone.accounts.core.roles import Role
from hone.accounts.models import Project
from hone.common import clock
from hone.common.errors import InvalidError
from hone.traces.core.span import Event, Span
from hone.traces.selectors import detail, filters, query
from hone.traces.services import spans_ingest

URL = "/api/projects/demo/traces"
Make = Callable[..., Span]


@pytest.fixture
def ten(project: Project, make_span: Make, base_ns: int) -> list[Span]:
    """Ten traces a second apart, oldest first; every third failed, every second used m0."""
    spans = [
        make_span(
            trace_id=f"{number + 1:032x}",
            name=f"trace {number}",
            start_ns=base_ns + number * 10**9,
            end_ns=base_ns + number * 10**9 + 250_000_000,
            type="generation",
            status="error" if number % 3 == 0 else "ok",
            model=f"m{number % 2}",
            input=f"Question {number}: the zebra?",
            user_id=f"user {number}",
            session_id=f"session {number % 5}",
            tags=(f"tag{number % 4}",),
            environment="prod" if number > 7 else None,
        )
        for number in range(10)
    ]
    spans_ingest(project_id=project.id, spans=spans)
    return spans


def listed(api: Any, query: str = "") -> list[str]:
    answer = api.get(f"{URL}{query}")
    assert answer.status_code == 200, answer.content
    return [row["name"] for row in answer.json()["data"]]


def test_traces_come_newest_first(ten: list[Span], as_bob: Any) -> None:
    assert listed(as_bob) == [f"trace {number}" for number in range(9, -1, -1)]


def test_pages_follow_one_another(ten: list[Span], as_bob: Any) -> None:
    names: list[str] = []
    cursor = ""
    for _ in range(4):
        body = as_bob.get(f"{URL}?limit=3&cursor={cursor}").json()
        names += [row["name"] for row in body["data"]]
        cursor = body["next_cursor"]
    assert names == [f"trace {number}" for number in range(9, -1, -1)]
    assert cursor is None


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("?model=m1", [9, 7, 5, 3, 1]),
        ("?status=error", [9, 6, 3, 0]),
        ("?status=ok&model=m0", [8, 4, 2]),
        ("?name=trace 4", [4]),
        ("?user=user 2", [2]),
        ("?session=session 1", [6, 1]),
        ("?tag=tag3", [7, 3]),
        ("?environment=prod", [9, 8]),
        ("?environment=default&tag=tag0", [4, 0]),
        ("?q=question 7", [7]),
        ("?q=ZEBRA&model=m1", [9, 7, 5, 3, 1]),
        ("?q=%25", []),
        ("?q=100_", []),
        ("?model=none", []),
    ],
)
def test_filters_narrow(ten: list[Span], as_bob: Any, query: str, numbers: list[int]) -> None:
    assert listed(as_bob, query) == [f"trace {number}" for number in numbers]


def test_text_is_found_inside_of_late_observations(
    ten: list[Span], project: Project, as_bob: Any
) -> None:
    child = replace(ten[4], span_id="f" * 16, parent_span_id=ten[4].span_id, output="Größe 😀")
    spans_ingest(project_id=project.id, spans=[child])
    assert listed(as_bob, "?q=größe 😀") == ["trace 4"]


def test_the_window_bounds_the_list(ten: list[Span], as_bob: Any, base_ns: int) -> None:
    start = datetime.fromtimestamp(base_ns // 10**9, UTC)
    inside = (start + timedelta(seconds=2)).isoformat().replace("+00:00", "Z")
    until = (start + timedelta(seconds=5)).isoformat().replace("+00:00", "Z")
    assert listed(as_bob, f"?from={inside}&to={until}") == ["trace 4", "trace 3", "trace 2"]


@pytest.mark.parametrize(
    "query",
    [
        "?from=yesterday",
        "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
        "?status=maybe",
        "?limit=0",
        "?limit=201",
        "?cursor=zzz",
        "?colour=red",
        "?q=%00",
        "?to=0001-01-01T00:00:00%2B14:00",
    ],
)
def test_bad_queries_are_400(project: Project, as_bob: Any, query: str) -> None:
    answer = as_bob.get(f"{URL}{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["field"]


def test_a_row_says_what_happened(
    project: Project, make_span: Make, as_bob: Any, base_ns: int
) -> None:
    spans = [
        make_span(0, name="chat", input='[{"role":"user","content":"Hi\\n there"}]', tags=("a",)),
        make_span(
            1,
            type="generation",
            model="m",
            usage={"input": 3, "input_cached_tokens": 4, "output": 10, "total": 17},
            cost={"input": Decimal("0.00001"), "total": Decimal("0.0000300")},
            first_token_ns=base_ns + 1_100_000_000,
            prompt_name="greet",
            prompt_version=2,
            output='{"role":"assistant","content":"Hello"}',
        ),
    ]
    spans_ingest(project_id=project.id, spans=spans)
    [row] = as_bob.get(URL).json()["data"]
    assert row == {
        "id": "ab" * 16,
        "name": "chat",
        "started_at": datetime.fromtimestamp(base_ns // 10**9, UTC).isoformat()[:-6] + "Z",
        "duration_ms": 1500.0,
        "status": "ok",
        "input_preview": "Hi there",
        "output_preview": "Hello",
        "models": ["m"],
        "observation_count": 2,
        "error_count": 0,
        "input_tokens": 7,
        "output_tokens": 10,
        "total_tokens": 17,
        "cost": "0.00003",
        "unpriced_count": 0,
        "ttft_ms": 1100.0,
        "tokens_per_second": 25.0,
        "user_id": None,
        "session_id": None,
        "tags": ["a"],
        "environment": "default",
        "prompts": [{"name": "greet", "version": 2}],
        "release": None,
        "version": None,
    }


def test_the_histogram_counts_every_trace_once(ten: list[Span], as_bob: Any, base_ns: int) -> None:
    start = datetime.fromtimestamp(base_ns // 10**9, UTC)
    until = start + timedelta(seconds=10)
    query = f"?buckets=5&from={start:%Y-%m-%dT%H:%M:%SZ}&to={until:%Y-%m-%dT%H:%M:%SZ}"
    buckets = as_bob.get(f"{URL}/histogram{query}").json()["buckets"]
    assert [(bucket["ok"], bucket["error"]) for bucket in buckets] == [
        (1, 1), (1, 1), (2, 0), (1, 1), (1, 1),
    ]  # fmt: skip


def test_facets_count_what_can_be_filtered(ten: list[Span], as_bob: Any) -> None:
    facets = as_bob.get(f"{URL}/facets").json()
    assert facets["models"] == [{"value": "m0", "count": 5}, {"value": "m1", "count": 5}]
    assert facets["status"] == [{"value": "ok", "count": 6}, {"value": "error", "count": 4}]
    assert facets["environments"][1] == {"value": "prod", "count": 2}
    assert len(facets["names"]) == 10
    assert {tag["value"] for tag in facets["tags"]} == {"tag0", "tag1", "tag2", "tag3"}


def test_detail_shows_the_tree_with_payloads(
    project: Project, make_span: Make, as_bob: Any, base_ns: int
) -> None:
    spans = [
        make_span(0, input="plain", output='{"a": [1]}', metadata={"k": {"deep": 1}}),
        make_span(1, status="error", level="ERROR", status_message="boom",
                  events=[Event("exception", base_ns, {"x": 1})]),
        make_span(2, parent_span_id="e" * 16, model_parameters={"temperature": 0.5},
                  cost={"total": Decimal("1E-7")}, usage={"output": 2, "total": 2}),
    ]  # fmt: skip
    spans_ingest(project_id=project.id, spans=spans)
    body = as_bob.get(f"{URL}/{'ab' * 16}").json()
    trace, observations = body["trace"], body["observations"]
    assert (trace["input"], trace["output"]) == ("plain", {"a": [1]})
    assert trace["metadata"] == {"k": {"deep": 1}}
    assert trace["status"] == "error"
    assert [one["name"] for one in observations] == ["step 0", "step 1", "step 2"]
    assert [one["parent_id"] for one in observations] == [None, f"{1:016x}", "e" * 16]
    assert observations[1]["status_message"] == "boom"
    assert observations[1]["events"] == [
        {"name": "exception", "time_ns": base_ns, "attributes": {"x": 1}}
    ]
    assert observations[2]["model_parameters"] == {"temperature": 0.5}
    assert observations[2]["cost"] == {"total": "0.0000001"}
    assert observations[2]["tokens_per_second"] == 4.0
    assert body["next_cursor"] is None


def test_observations_of_a_trace_come_in_pages(
    project: Project, make_span: Make, as_bob: Any
) -> None:
    spans_ingest(project_id=project.id, spans=[make_span(number) for number in range(5)])
    first = as_bob.get(f"{URL}/{'ab' * 16}?limit=3").json()
    rest = as_bob.get(f"{URL}/{'ab' * 16}?limit=3&cursor={first['next_cursor']}").json()
    found = [one["name"] for one in first["observations"] + rest["observations"]]
    assert found == [f"step {number}" for number in range(5)]
    assert rest["next_cursor"] is None


def test_a_deleted_trace_is_gone_and_others_stay(ten: list[Span], as_bob: Any) -> None:
    gone = ten[3].trace_id
    assert as_bob.delete(f"{URL}/{gone}").status_code == 204
    assert as_bob.get(f"{URL}/{gone}").status_code == 404
    assert as_bob.delete(f"{URL}/{gone}").status_code == 404
    assert len(listed(as_bob)) == 9


@pytest.mark.parametrize("trace_id", ["x", "0" * 31, "f" * 32, "A" * 32])
def test_unknown_traces_are_404(project: Project, as_bob: Any, trace_id: str) -> None:
    assert as_bob.get(f"{URL}/{trace_id}").status_code == 404


@pytest.mark.parametrize("path", ["", "/histogram", "/facets", f"/{1:032x}"])
def test_charlie_is_refused(
    ten: list[Span], as_charlie: Any, as_alice: Any, path: str, foreign_key: Any
) -> None:
    assert as_alice.get(f"{URL}{path}").status_code == 200
    assert as_charlie.get(f"{URL}{path}").status_code == 404
    assert as_charlie.get(f"{URL}{path}", headers=foreign_key.bearer).status_code == 404


def test_charlie_deletes_nothing(ten: list[Span], as_charlie: Any, as_alice: Any) -> None:
    assert as_charlie.delete(f"{URL}/{1:032x}").status_code == 404
    assert len(listed(as_alice)) == 10


def test_lists_cost_the_same_whatever_their_length(
    ten: list[Span], as_bob: Any, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(11):
        as_bob.get(URL)
    with django_assert_max_num_queries(9):
        as_bob.get(f"{URL}/{ten[0].trace_id}")


def test_the_default_window_reaches_back_a_month(
    project: Project, make_span: Make, as_bob: Any
) -> None:
    start = clock.now_ns() - 29 * 86_400 * 10**9
    spans_ingest(project_id=project.id, spans=[make_span(start_ns=start, end_ns=start)])
    assert listed(as_bob) == ["step 0"]


def test_viewers_look_and_do_not_delete(
    ten: list[Span], as_role: Callable[[Role], Any], as_alice: Any
) -> None:
    viewer = as_role(Role.VIEWER)
    assert len(listed(viewer)) == 10
    assert viewer.delete(f"{URL}/{1:032x}").status_code == 403
    assert len(listed(as_alice)) == 10


@pytest.mark.parametrize("path", ["", "/histogram", "/facets"])
def test_what_takes_too_long_is_told_in_words(
    ten: list[Span], as_bob: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    slow = "pg_sleep(20) IS NULL AND t.name = %s"
    monkeypatch.setitem(filters._EQUAL, "name", slow)
    monkeypatch.setattr(query, "PATIENCE_MS", 50)
    answer = as_bob.get(f"{URL}{path}?name=x")
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "code": "invalid",
        "message": "This takes too long: choose a shorter time",
        "field": "from",
    }
    assert len(listed(as_bob)) == 10


def test_a_large_trace_is_read_for_a_limited_time(
    ten: list[Span], as_bob: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detail, "OBSERVATION", detail.OBSERVATION + " AND pg_sleep(20) IS NULL")
    monkeypatch.setattr(query, "PATIENCE_MS", 50)
    monkeypatch.setattr(detail, "LARGE", 0)
    answer = as_bob.get(f"{URL}/{ten[0].trace_id}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid")


@pytest.mark.django_db
def test_a_search_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "PATIENCE_MS", 50)
    with pytest.raises(InvalidError, match="shorter"):
        query.fetch_slow("SELECT pg_sleep(20)", [])
    assert query.fetch_slow("SELECT 1", []) == [(1,)]
