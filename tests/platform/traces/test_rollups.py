"""Metrics from figures by hour say what reading every observation says."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from hone.accounts.models import Project
from hone.common import clock
from hone.common.conditions import Condition
from hone.traces.core.metrics import metrics_query
from hone.traces.core.span import Span
from hone.traces.selectors.public import metrics, metrics_rows, rolled
from hone.traces.selectors.query import fetch
from hone.traces.services import spans_ingest, trace_delete
from hone.traces.services.rollups import rollups_grow, rollups_refresh, rollups_retain

Make = Callable[..., Span]
HOUR_NS = 3600 * 10**9
MEASURES = [("count", "count"), ("latency", "avg"), ("inputTokens", "sum"), ("totalTokens", "avg"),
            ("totalCost", "sum"), ("outputTokens", "count")]  # fmt: skip
QUESTIONS: list[tuple[list[str], str | None, list[Condition]]] = [
    ([], None, []),
    ([], "hour", []),
    (["providedModelName"], "day", []),
    (["type", "level"], None, [Condition("string", "model", "contains", "M1")]),
    (["environment"], None, [Condition("stringOptions", "type", "any of", ("GENERATION",))]),
    ([], None, [Condition("string", "level", "=", "none")]),
    (["providedModelName"], "week", [Condition("null", "model", "is null")]),
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are used however little there is."""
    monkeypatch.setattr(rolled, "WORTH", 0)
    monkeypatch.setattr(rolled, "SKETCHED", 0)


@pytest.fixture
def some(make_span: Make, base_ns: int) -> list[Span]:
    chance = random.Random(3)
    spans = []
    for number in range(240):
        start = base_ns - chance.randrange(40 * HOUR_NS)
        used = chance.randrange(500)
        is_model = number % 3 > 0
        spans.append(
            make_span(
                trace_id=f"{number // 2 + 1:032x}", span_id=f"{number + 1:016x}", start_ns=start,
                end_ns=start + int(chance.lognormvariate(20, 0.6)),
                type="generation" if is_model else "agent",
                model=f"m{number % 3}" if is_model else None,
                status="error" if number % 11 == 0 else "ok",
                environment="prod" if number % 5 else "dev",
                usage={"input": used, "output": 3, "total": used + 3} if is_model else None,
                cost={"total": Decimal(used) / 1000} if number % 4 and is_model else None,
            )
        )  # fmt: skip
    return spans


def asked(dimensions: list[str], granularity: str | None, pairs: list[tuple[str, str]]) -> Any:
    now = clock.now()
    data = {
        "view": "observations",
        "dimensions": [{"field": name} for name in dimensions],
        "metrics": [{"measure": measure, "aggregation": how} for measure, how in pairs],
        "timeDimension": {"granularity": granularity} if granularity else None,
        "orderBy": [{"field": name, "direction": "asc"} for name in dimensions],
    }
    return metrics_query(data, now - timedelta(hours=39), now + timedelta(hours=1, minutes=7))


def both(
    project: Project, monkeypatch: pytest.MonkeyPatch, question: Any, pairs: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The answer of the figures, which must be used, and the one of reading."""
    dimensions, granularity, conditions = question
    query = asked(dimensions, granularity, pairs)
    with monkeypatch.context() as patch:
        patch.setattr(metrics, "_read", None)
        kept = metrics_rows(project.pk, query, conditions)
    with monkeypatch.context() as patch:
        patch.setattr(metrics, "rolled_rows", lambda *_: None)
        return kept, metrics_rows(project.pk, query, conditions)


def assert_close(kept: list[dict[str, Any]], read: list[dict[str, Any]], rel: float) -> None:
    assert [row.keys() for row in kept] == [row.keys() for row in read]
    for one, other in zip(kept, read, strict=True):
        for key, value in other.items():
            near = pytest.approx(value, rel=rel) if isinstance(value, float) else value
            assert one[key] == near, (key, one, other)


def same(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for question in QUESTIONS:
        kept, read = both(project, monkeypatch, question, MEASURES)
        assert_close(kept, read, 1e-9)


@pytest.mark.django_db(transaction=True)  # only what is committed is rolled up
def test_figures_say_what_reading_says_through_every_change(
    project: Project, some: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    random.Random(1).shuffle(some)
    spans_ingest(project_id=project.pk, spans=some[:200])
    rollups_refresh()
    assert fetch("SELECT sum(n) FROM traces_rollup", []) == [(200,)]
    same(project, monkeypatch)
    spans_ingest(project_id=project.pk, spans=some[200:])  # not rolled up yet
    same(project, monkeypatch)
    longer = [replace(span, end_ns=span.end_ns + HOUR_NS, model="m1") for span in some[190:210]]
    spans_ingest(project_id=project.pk, spans=longer)  # takes the place of rolled and new ones
    assert trace_delete(project_id=project.pk, trace_id=some[3].trace_id)
    counted = fetch("SELECT count(*) FROM traces_observation", [])
    assert counted == [(rolled.rolled_count(project.pk),)]
    same(project, monkeypatch)
    rollups_refresh()
    [(rolled_up,)] = fetch("SELECT sum(n) FROM traces_rollup", [])
    assert fetch("SELECT count(*) FROM traces_observation", []) == [(rolled_up,)]
    assert rolled.rolled_count(project.pk) == rolled_up
    assert fetch("SELECT sum(n) FROM traces_rollup_latency", []) == [(rolled_up,)]
    assert fetch("SELECT count(*) FROM traces_rollup_fix", []) == [(0,)]
    same(project, monkeypatch)
    for trace_id in {span.trace_id for span in some} - {some[3].trace_id}:
        trace_delete(project_id=project.pk, trace_id=trace_id)
    assert not rollups_grow()
    for table in ("traces_rollup", "traces_rollup_latency"):
        assert fetch(f"SELECT count(*) FROM {table}", []) == [(0,)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("question", [QUESTIONS[0], QUESTIONS[2], (["type"], None, [])])
def test_percentiles_lie_within_their_bucket(
    project: Project, some: list[Span], monkeypatch: pytest.MonkeyPatch, question: Any
) -> None:
    spans_ingest(project_id=project.pk, spans=[replace(s, end_ns=s.start_ns + 7 * 10**8 + n * 10**6)
                                               for n, s in enumerate(some)])  # fmt: skip
    rollups_refresh()
    pairs = [("latency", "p50"), ("latency", "p95"), ("count", "count")]
    kept, read = both(project, monkeypatch, question, pairs)
    assert_close(kept, read, 0.05)


@pytest.mark.django_db(transaction=True)
def test_an_environment_of_the_trace_is_read(
    project: Project, make_span: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.pk, spans=[make_span(0), make_span(1, environment="prod")])
    rollups_refresh()
    query = asked(["environment"], None, [("count", "count")])
    assert rolled.rolled_rows(project.pk, query, [], "1") is None
    assert metrics_rows(project.pk, query, []) == [{"environment": "prod", "count_count": 2}]


@pytest.mark.django_db(transaction=True)
def test_what_is_past_its_time_leaves_the_figures(project: Project, some: list[Span]) -> None:
    spans_ingest(project_id=project.pk, spans=some)
    rollups_refresh()
    rollups_retain(datetime.now(UTC) + timedelta(hours=2))
    assert fetch("SELECT count(*) FROM traces_rollup", []) == [(0,)]
