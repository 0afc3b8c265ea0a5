"""Observations, sessions and users over REST."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from hone.accounts.models import Project
from hone.traces.core.span import Span
from hone.traces.services import spans_ingest

URL = "/api/projects/demo"
Make = Callable[..., Span]
SECOND = 10**9


@pytest.fixture
def thirty(project: Project, make_span: Make, base_ns: int) -> list[Span]:
    """Ten traces of a root and two calls, a minute apart; two traces a session, five a user."""
    spans = []
    for number in range(10):
        start = base_ns + number * 60 * SECOND
        common = {
            "trace_id": f"{number + 1:032x}",
            "session_id": f"chat/{number // 2}",
            "user_id": f"user {number // 5}",
            "tags": (f"tag{number % 2}",),
        }
        for part in range(3):
            begin = start + part * SECOND
            values: dict[str, Any] = {
                "type": "generation" if part else "agent",
                "model": f"m{part}" if part else None,
                "name": f"call {part}" if part else "agent",
                "usage": {"input": 10 * number, "output": 5, "total": 10 * number + 5}
                if part
                else None,
                "metadata": {"tenant": number, "kind": "even" if number % 2 == 0 else "odd"},
                "status": "error" if number == 3 and part == 2 else "ok",
            }
            spans.append(
                make_span(part, span_id=f"{number * 3 + part + 1:016x}", start_ns=begin,
                          parent_span_id=None if part == 0 else f"{number * 3 + 1:016x}",
                          end_ns=begin + part * SECOND // 2, input=f"Ask {number}",
                          output=f'{{"answer": "Tell {number}"}}', **common, **values)
            )  # fmt: skip
    spans_ingest(project_id=project.id, spans=spans)
    return spans


def pages(api: Any, path: str, query: str = "", limit: int = 4) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = api.get(f"{URL}/{path}?limit={limit}&cursor={cursor}&{query}")
        assert answer.status_code == 200, answer.content
        rows += answer.json()["data"]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return rows


def where(*conditions: tuple[Any, ...]) -> str:
    names = ("type", "column", "operator", "value", "key")
    return "filter=" + quote(json.dumps([dict(zip(names, c, strict=False)) for c in conditions]))


def test_observations_come_newest_first_in_pages(thirty: list[Span], as_bob: Any) -> None:
    rows = pages(as_bob, "observations")
    assert [row["id"] for row in rows] == [span.span_id for span in reversed(thirty)]
    assert rows[0]["input_preview"] == "Ask 9"
    assert rows[0]["output_preview"] == "Tell 9"
    assert rows[0]["total_tokens"] == 95


@pytest.mark.parametrize(
    ("conditions", "number"),
    [
        ([("stringOptions", "type", "any of", ["generation"])], 20),
        ([("stringOptions", "type", "none of", ["generation"])], 10),
        ([("string", "model", "=", "m1"), ("string", "userId", "=", "user 1")], 5),
        ([("string", "name", "starts with", "call")], 20),
        ([("string", "name", "does not contain", "call")], 10),
        ([("string", "input", "contains", "ask 7")], 3),
        ([("string", "output", "ends with", '7"}')], 3),
        ([("number", "totalTokens", ">=", 85)], 4),
        ([("number", "latency", ">", 0.7)], 10),
        ([("boolean", "isRootObservation", "=", True)], 10),
        ([("boolean", "isRootObservation", "<>", True)], 20),
        ([("null", "model", "is null", None)], 10),
        ([("stringObject", "metadata", "=", "even", "kind")], 15),
        ([("numberObject", "metadata", "<", 2, "tenant")], 6),
        ([("stringObject", "metadata", "is set", None, "tenant")], 30),
        ([("stringObject", "metadata", "is not set", None, "nothing")], 30),
        ([("datetime", "startTime", ">", "2020-01-01T00:00:00Z")], 30),
        ([("string", "model", "=", "absent")], 0),
        ([("string", "traceId", "=", "0" * 31 + "3")], 3),
    ],
)
def test_conditions_choose_observations(
    thirty: list[Span], as_bob: Any, conditions: list[Any], number: int
) -> None:
    assert len(pages(as_bob, "observations", where(*conditions), 50)) == number


@pytest.mark.parametrize("most", [0, 2000])
@pytest.mark.parametrize(
    ("conditions", "ids"),
    [
        ([("stringOptions", "status", "any of", ["error"])], {f"{12:016x}"}),
        ([("string", "status", "=", "error"), ("string", "name", "=", "call 1")], set()),
        ([("string", "level", "=", "ERROR")], {f"{30:016x}"}),
        ([("stringOptions", "level", "any of", ["ERROR", "DEFAULT"])], None),
    ],
)
def test_failures_are_found_however_rare(
    thirty: list[Span], project: Project, as_bob: Any, monkeypatch: pytest.MonkeyPatch,
    conditions: list[Any], ids: set[str] | None, most: int,
) -> None:  # fmt: skip
    worse = replace(thirty[-1], level="ERROR", end_ns=thirty[-1].end_ns + 1)
    spans_ingest(project_id=project.id, spans=[worse])
    monkeypatch.setattr("hone.traces.selectors.observations.CANDIDATES", most)
    found = {row["id"] for row in pages(as_bob, "observations", where(*conditions), 50)}
    assert found == ({span.span_id for span in thirty} if ids is None else ids)


@pytest.mark.parametrize(
    ("conditions", "numbers"),
    [
        ([("arrayOptions", "tags", "any of", ["tag1"])], [9, 7, 5, 3, 1]),
        ([("arrayOptions", "tags", "none of", ["tag1"])], [8, 6, 4, 2, 0]),
        ([("arrayOptions", "models", "all of", ["m1", "m2"])], list(range(9, -1, -1))),
        ([("stringOptions", "status", "none of", ["ok"])], [3]),
        ([("string", "sessionId", "=", "chat/2")], [5, 4]),
        ([("string", "output", "contains", "Tell 8")], [8]),
        ([("number", "inputTokens", "<", 41)], [2, 1, 0]),
    ],
)
def test_conditions_choose_traces(
    thirty: list[Span], as_bob: Any, conditions: list[Any], numbers: list[int]
) -> None:
    rows = pages(as_bob, "traces", where(*conditions))
    assert [int(row["id"], 16) - 1 for row in rows] == numbers


@pytest.mark.parametrize("path", ["traces", "observations"])
@pytest.mark.parametrize(
    "text",
    ["{", "{}", "[1]", '[{"type": "string"}]', '[{"type":"string","column":"x","operator":"="}]',
     '[{"type":"string","column":"colour","operator":"=","value":"x"}]',
     '[{"type":"number","column":"name","operator":"=","value":1}]',
     '[{"type":"number","column":"latency","operator":"=","value":"1"}]',
     '[{"type":"string","column":"name","operator":"=","value":"\\u0000"}]'],
)  # fmt: skip
def test_bad_conditions_are_400(project: Project, as_bob: Any, path: str, text: str) -> None:
    answer = as_bob.get(f"{URL}/{path}?filter={quote(text)}")
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["field"] == "filter"


def test_a_long_trace_comes_light_and_an_observation_whole(
    thirty: list[Span], as_bob: Any, as_charlie: Any
) -> None:
    trace = f"{URL}/traces/{thirty[0].trace_id}"
    light = as_bob.get(f"{trace}?light=true").json()["observations"]
    assert [one["name"] for one in light] == ["agent", "call 1", "call 2"]
    assert [one["input"] for one in light] == [None] * 3
    whole = as_bob.get(f"{trace}/observations/{thirty[1].span_id}").json()
    assert (whole["input"], whole["metadata"]["tenant"]) == ("Ask 0", 0)
    assert light[1] | {"input": "Ask 0"} == whole | {"output": None, "metadata": {}}
    for wrong in ("f" * 16, "x", thirty[-1].span_id):
        assert as_bob.get(f"{trace}/observations/{wrong}").status_code == 404
    assert as_charlie.get(f"{trace}/observations/{thirty[1].span_id}").status_code == 404


def test_facets_count_observations(thirty: list[Span], as_bob: Any) -> None:
    facets = as_bob.get(f"{URL}/observations/facets").json()
    assert facets["type"] == [{"value": "generation", "count": 20}, {"value": "agent", "count": 10}]
    assert [facet["count"] for facet in facets["model"]] == [10, 10]


@pytest.mark.parametrize(("few", "look"), [(0, 2000), (0, 1), (2000, 1), (2000, 2000)])
def test_sessions_and_users_come_with_their_sums(
    thirty: list[Span], as_bob: Any, monkeypatch: pytest.MonkeyPatch, few: int, look: int
) -> None:
    monkeypatch.setattr("hone.traces.selectors.groups.FEW", few)
    monkeypatch.setattr("hone.traces.selectors.groups.LOOK", look)
    sessions = pages(as_bob, "sessions", limit=2)
    assert [row["id"] for row in sessions] == [f"chat/{number}" for number in range(4, -1, -1)]
    assert sessions[3]["trace_count"] == 2
    assert sessions[3]["error_count"] == 1
    assert sessions[3]["observation_count"] == 6
    assert sessions[3]["total_tokens"] == 2 * (25 + 35)
    assert sessions[3]["users"] == ["user 0"]
    users = pages(as_bob, "users", limit=1)
    assert [(row["id"], row["session_count"]) for row in users] == [("user 1", 3), ("user 0", 3)]
    assert [row["id"] for row in pages(as_bob, "sessions", "q=AT/3")] == ["chat/3"]


def test_a_session_is_a_conversation(thirty: list[Span], as_bob: Any) -> None:
    first = as_bob.get(f"{URL}/sessions/chat/2?limit=1").json()
    assert first["session"]["trace_count"] == 2
    assert [turn["input"] for turn in first["turns"]] == ["Ask 4"]
    rest = as_bob.get(f"{URL}/sessions/chat/2?limit=1&cursor={first['next_cursor']}").json()
    assert [turn["output"] for turn in rest["turns"]] == [{"answer": "Tell 5"}]
    assert rest["next_cursor"] is None
    assert as_bob.get(f"{URL}/users/user 1").json()["trace_count"] == 5


@pytest.mark.parametrize(
    "path", ["sessions/none", "users/none", "sessions/%00", "observations/facets/x"]
)
def test_what_is_not_there_is_404(project: Project, as_bob: Any, path: str) -> None:
    assert as_bob.get(f"{URL}/{path}").status_code == 404


@pytest.mark.parametrize(
    "path", ["observations", "observations/facets", "sessions", "sessions/chat/2", "users",
             "users/user 1", "views"]
)  # fmt: skip
def test_charlie_is_refused(thirty: list[Span], as_charlie: Any, path: str) -> None:
    assert as_charlie.get(f"{URL}/{path}").status_code == 404
