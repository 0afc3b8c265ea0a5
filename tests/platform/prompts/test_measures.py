"""What versions did, counted from traces that name them."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from hone.accounts.models import Project
from hone.common import clock
from hone.traces.core.span import Span
from hone.traces.selectors.public import figures
from hone.traces.services import spans_ingest

PROMPTS = "/api/projects/demo/prompts"
BASE_NS = (clock.now_ns() // 10**9 - 3600) * 10**9


def call(number: int, version: int, **values: Any) -> Span:
    """A generation of a trace of its own that took `number` + 1 tenths of a second."""
    start = BASE_NS + number * 10**9
    given: dict[str, Any] = {
        "trace_id": f"{version:016x}{number + 1:016x}",
        "span_id": f"{version:08x}{number + 1:08x}",
        "name": "generation",
        "type": "generation",
        "start_ns": start,
        "end_ns": start + (number + 1) * 10**8,
        "status": "ok",
        "input": f"Question {number}",
        "output": f"Answer {number}",
        "usage": {"input": 10, "output": version * 10 + number % 3, "total": 30},
        "prompt_name": "greet",
        "prompt_version": version,
    }
    return Span(**(given | values))


@pytest.fixture
def make_calls(as_bob: Any, project: Project) -> Callable[..., None]:
    """Two versions; the first failed once in ten and costs nothing known, the second is priced."""

    def make() -> None:
        body = {"name": "greet", "type": "text", "prompt": "1"}
        assert as_bob.post(PROMPTS, body).status_code == 201
        for text in ("2", "3"):
            as_bob.post(f"{PROMPTS}/greet/versions", {"prompt": text})
        failed = {"status": "error", "level": "ERROR", "status_message": "It broke"}
        priced = {"cost": {"total": Decimal("0.001")}}
        spans = [call(n, 1, **(failed if n == 9 else {})) for n in range(10)]
        spans += [call(n, 2, **priced) for n in range(20)]
        spans += [call(n + 50, 1, prompt_name="other") for n in range(3)]
        spans_ingest(project_id=project.pk, spans=spans)

    return make


def score(
    api: Any, span: Span, name: str, value: float, kind: str = "NUMERIC", **more: Any
) -> None:
    body = {"name": name, "number": value, "type": kind, "trace_id": span.trace_id, **more}
    made = api.post("/api/projects/demo/scores", body)
    assert made.status_code in (200, 201), made.content


def test_each_version_shows_what_it_did(make_calls: Any, as_bob: Any) -> None:
    make_calls()
    for number in range(10):
        score(as_bob, call(number, 1), "helpful", number / 10)
        score(as_bob, call(number, 2), "helpful", 0.9 + number / 100)
        score(as_bob, call(number, 2), "polite", number % 2, "BOOLEAN")
    body = as_bob.get(f"{PROMPTS}/greet/versions/measures").json()
    third, second, first = body["versions"]
    assert [v["version"] for v in body["versions"]] == [3, 2, 1]
    assert (third["calls"], third["latency_s"], third["scores"]) == (0, None, [])
    assert (first["calls"], first["failures"], first["is_cut"]) == (10, 1, False)
    assert first["failure_low"] < 0.1 < first["failure_high"]
    assert first["latency_s"]["n"] == 9  # what failed says nothing of how long an answer takes
    assert first["latency_p50_s"] == pytest.approx(0.5)
    assert second["latency_s"]["mean"] == pytest.approx(1.05)
    assert (first["cost"], first["cost_total"], first["unpriced"]) == (None, None, 10)
    assert second["cost_total"] == pytest.approx(0.02)
    assert second["cost"]["n"] == 20
    assert (second["cost"]["mean"], second["unpriced"]) == (pytest.approx(0.001), 0)
    [helpful] = first["scores"]
    assert (helpful["name"], helpful["n"]) == ("helpful", 10)
    assert helpful["mean"] == pytest.approx(0.45)
    assert helpful["low"] < 0.45 < helpful["high"]
    assert {s["name"]: s["n"] for s in second["scores"]} == {"helpful": 10, "polite": 10}
    one = as_bob.get(f"{PROMPTS}/greet/versions/measures?versions=2").json()
    assert [v["version"] for v in one["versions"]] == [2]


def test_a_score_of_a_trace_counts_once_and_of_another_call_not_at_all(
    make_calls: Any, as_bob: Any, project: Project
) -> None:
    make_calls()
    twice = call(0, 2, span_id="f" * 16)
    spans_ingest(project_id=project.pk, spans=[twice])
    score(as_bob, twice, "whole", 1)
    score(as_bob, twice, "part", 1, observation_id="e" * 16)
    score(as_bob, twice, "part", 0.5, observation_id="f" * 16)
    body = as_bob.get(f"{PROMPTS}/greet/versions/measures?versions=2").json()
    found = {s["name"]: (s["n"], s["mean"]) for s in body["versions"][0]["scores"]}
    assert found == {"whole": (1, 1.0), "part": (1, 0.5)}


def test_two_versions_are_compared_with_a_test_for_each_measure(
    make_calls: Any, as_bob: Any
) -> None:
    make_calls()
    for number in range(10):
        score(as_bob, call(number, 1), "helpful", number / 100)
        score(as_bob, call(number, 2), "helpful", 0.9 + number / 100)
        score(as_bob, call(number, 1), "polite", number % 2, "BOOLEAN")
        score(as_bob, call(number, 2), "polite", 1, "BOOLEAN")
    body = as_bob.get(f"{PROMPTS}/greet/versions/compared?a=1&b=2").json()
    rows = {row["measure"]: row for row in body["rows"]}
    assert rows["failures"]["test"]["name"] == "fisher"
    assert rows["failures"]["a"] == pytest.approx(0.1)
    assert (rows["latency"]["n_a"], rows["latency"]["test"]["name"]) == (9, "welch")
    assert (rows["cost"]["a"], rows["cost"]["test"]) == (None, None)
    helpful = rows["score:helpful"]["test"]
    assert helpful["p"] < 1e-6
    assert helpful["difference"] == pytest.approx(0.9)
    assert helpful["low"] < 0.9 < helpful["high"]
    assert rows["score:polite"]["test"]["name"] in ("fisher", "two proportions")
    tested = [row for row in body["rows"] if row["test"]]
    assert all(row["p_adjusted"] >= row["test"]["p"] for row in tested)


@pytest.mark.parametrize("query", ["", "?a=1", "?a=1&b=1", "?a=1&b=x", "?a=0&b=1", "?a=1&b=2&c=3"])
def test_a_bad_comparison_is_refused(make_calls: Any, as_bob: Any, query: str) -> None:
    make_calls()
    assert as_bob.get(f"{PROMPTS}/greet/versions/compared{query}").status_code == 400
    assert as_bob.get(f"{PROMPTS}/greet/versions/compared?a=1&b=99").status_code == 404


def test_the_newest_calls_and_failures_lead_to_their_traces(make_calls: Any, as_bob: Any) -> None:
    make_calls()
    calls = as_bob.get(f"{PROMPTS}/greet/versions/1/calls?limit=3").json()["calls"]
    assert [c["output_preview"] for c in calls] == ["Answer 9", "Answer 8", "Answer 7"]
    [failed] = as_bob.get(f"{PROMPTS}/greet/versions/1/calls?failed=true").json()["calls"]
    assert (failed["status_message"], failed["trace_id"]) == ("It broke", call(9, 1).trace_id)
    seen = as_bob.get(f"/api/projects/demo/traces/{failed['trace_id']}").json()
    assert seen["observations"][0]["prompt"] == {"name": "greet", "version": 1}


@pytest.mark.parametrize("days", [1, 7])  # read, and from figures by hour
def test_trends_of_all_prompts(
    make_calls: Any, as_bob: Any, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    make_calls()
    monkeypatch.setattr(figures, "noted_seq", lambda: 1)
    score(as_bob, call(0, 2), "helpful", 0.5)
    score(as_bob, call(1, 1), "rare", 1, observation_id=call(1, 1).span_id)
    score(as_bob, call(2, 1), "rare", 1, observation_id="0" * 16)
    body = as_bob.get(f"/api/projects/demo/prompt-trends?days={days}").json()
    assert {name: sum(t["calls"]) for name, t in body["trends"].items()} == {
        "greet": 30,
        "other": 3,
    }
    greet, end = body["trends"]["greet"], datetime.fromisoformat(body["end"])
    assert days == 1 or end.minute == end.second == 0
    assert (greet["score"], greet["num_scores"], len(greet["calls"])) == ("helpful", 1, 14)
    assert [mean for mean in greet["scores"] if mean is not None] == [0.5]
    assert as_bob.get("/api/projects/demo/prompt-trends?days=91").status_code == 400


def test_strangers_see_nothing(make_calls: Any, as_charlie: Any) -> None:
    make_calls()
    for path in (
        "prompts/greet/versions/measures",
        "prompts/greet/versions/compared?a=1&b=2",
        "prompts/greet/versions/1/calls",
        "prompt-trends",
    ):
        assert as_charlie.get(f"/api/projects/demo/{path}").status_code == 404


def test_the_index_holds_all_that_is_summed_up(make_calls: Any, project: Project) -> None:
    """Another plan would read each call's row, which at millions takes minutes."""
    make_calls()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute(
            "EXPLAIN SELECT end_time, status, total_tokens, cost FROM traces_observation"
            " WHERE project_id = 1 AND prompt_name = 'x' AND prompt_version = '1'"
            " AND start_time >= now() - interval '1 day' ORDER BY start_time DESC LIMIT 10"
        )
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Index Only Scan" in plan
    assert "Sort" not in plan.replace("Sort Key", "")
