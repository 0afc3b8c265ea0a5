"""Figures that need the trace, kept by hour, say what reading every row says."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from hone.accounts.models import Project
from hone.common import clock
from hone.common.conditions import Condition
from hone.common.errors import InvalidError
from hone.traces.core.metrics import metrics_query
from hone.traces.core.span import Span
from hone.traces.selectors import query as queries
from hone.traces.selectors.public import by_user, daily, figures, metrics, metrics_rows
from hone.traces.selectors.public.daily import daily_rows
from hone.traces.selectors.query import fetch
from hone.traces.services import figures as job
from hone.traces.services import spans_ingest, trace_delete
from hone.traces.services.figures import figures_count, figures_note, figures_retain
from hone.traces.services.search import search_index

Make = Callable[..., Span]
Question = tuple[str, list[str], str | None, list[Condition]]
HOUR_NS = 3600 * 10**9
COUNTED = [("count", "count"), ("totalCost", "sum"), ("totalTokens", "sum"), ("latency", "avg"),
           ("totalCost", "count"), ("count", "avg"), ("count", "sum")]  # fmt: skip
OF_OBSERVATIONS = [("inputTokens", "avg"), ("outputTokens", "sum"), ("outputTokens", "count")]
OF_TRACES = [("observationsCount", "sum"), ("observationsCount", "avg")]
OF_DEV = Condition("stringOptions", "environment", "any of", ("dev",))
ONE_TAG = Condition("arrayOptions", "tags", "any of", ("blue",))
QUESTIONS: list[Question] = [
    ("observations", ["traceName"], None, []),
    ("observations", ["traceName", "providedModelName"], "day", []),
    ("observations", ["tags"], None, []),
    ("observations", ["tags", "type"], "hour", [Condition("string", "model", "=", "m1")]),
    ("observations", ["providedModelName"], None, [ONE_TAG]),
    ("observations", [], "day", [ONE_TAG, Condition("string", "environment", "<>", "dev")]),
    ("observations", ["environment"], None, []),
    ("observations", ["type"], None, [OF_DEV]),
    ("observations", ["name"], "week", [Condition("string", "name", "contains", "STEP")]),
    ("observations", ["release"], None, [Condition("null", "release", "is not null")]),
    ("observations", ["version", "startTimeMonth"], None, []),
    ("observations", ["promptName", "providedModelName"], None, []),
    ("observations", ["type"], None, [Condition("string", "traceName", "=", "nothing")]),
    ("observations", [], None, [Condition("string", "traceName", "=", "nothing")]),
    ("traces", [], None, []),
    ("traces", ["name"], "day", []),
    ("traces", ["name", "environment"], None, [Condition("string", "name", "starts with", "b")]),
    ("traces", ["tags"], "hour", []),
    ("traces", ["release", "timestampMonth"], None, []),
    ("traces", ["version"], None, [Condition("stringOptions", "version", "none of", ("v1",))]),
]  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are used however little there is, and those of observations alone not at all."""
    small = [(module, "WORTH") for module in (figures, daily, by_user)]
    for module, name in [*small, (figures, "SKETCHED")]:
        monkeypatch.setattr(module, name, 0)
    monkeypatch.setattr(metrics, "rolled_rows", lambda *_: None)


@pytest.fixture
def some(make_span: Make, base_ns: int) -> list[Span]:
    """60 traces of up to six observations over two days, some of which go on past midnight."""
    chance = random.Random(5)
    spans = []
    for number in range(60):
        start = base_ns - chance.randrange(44 * HOUR_NS)
        trace = {
            "trace_id": f"{number + 1:032x}",
            "tags": [(), ("blue",), ("blue", "red")][number % 3],
            "release": "r1" if number % 4 else None,
            "environment": None if number % 5 else "dev",
            "user_id": f"user {number % 7}" if number % 6 else None,
        }
        for part in range(1 + number % 6):
            begin = start + part * chance.randrange(3 * HOUR_NS)
            used = chance.randrange(500)
            is_model = part % 2 > 0
            spans.append(make_span(
                part, **trace, span_id=f"{number * 10 + part + 1:016x}",
                parent_span_id=None if part == 0 else f"{number * 10 + 1:016x}",
                trace_name=f"{'ab'[number % 2]} trace" if part == 0 else None,
                start_ns=begin, end_ns=begin + int(chance.lognormvariate(20, 0.6)),
                type="generation" if is_model else "agent",
                model=f"m{number % 2}" if is_model else None,
                version="v1" if part == 3 else None,
                prompt_name=f"p{number % 3}" if is_model else None,
                prompt_version=1 if is_model else None,
                usage={"input": used, "output": 3, "total": used + 3} if is_model else None,
                cost={"total": Decimal(used) / 1000} if number % 4 and is_model else None,
            ))  # fmt: skip
    chance.shuffle(spans)
    return spans


def asked(question: Question, pairs: list[tuple[str, str]]) -> Any:
    view, dimensions, granularity, _ = question
    now = clock.now()
    data = {
        "view": view,
        "dimensions": [{"field": name} for name in dimensions],
        "metrics": [{"measure": measure, "aggregation": how} for measure, how in pairs],
        "timeDimension": {"granularity": granularity} if granularity else None,
        "orderBy": [{"field": name, "direction": "asc"} for name in dimensions],
        "config": {"row_limit": 1000},
    }
    return metrics_query(data, now - timedelta(hours=47), now + timedelta(hours=1, minutes=7))


def both(
    project: Project, monkeypatch: pytest.MonkeyPatch, question: Question, pairs: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The answer of the figures, which must be used, and the one of reading."""
    query = asked(question, pairs)
    with monkeypatch.context() as patch:
        patch.setattr(metrics, "_read", None)
        kept = metrics_rows(project.pk, query, question[3])
    with monkeypatch.context() as patch:
        for name in ("figure_rows", "user_rows"):
            patch.setattr(metrics, name, lambda *_: None)
        return kept, metrics_rows(project.pk, query, question[3])


def assert_close(kept: list[dict[str, Any]], read: list[dict[str, Any]], rel: float) -> None:
    assert [row.keys() for row in kept] == [row.keys() for row in read]
    for one, other in zip(kept, read, strict=True):
        for key, value in other.items():
            near = pytest.approx(value, rel=rel) if isinstance(value, float) else value
            assert one[key] == near, (key, one, other)


def same(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer of the figures is that of reading; so is each day's."""
    for question in QUESTIONS:
        more = OF_TRACES if question[0] == "traces" else OF_OBSERVATIONS
        kept, read = both(project, monkeypatch, question, COUNTED + more)
        assert_close(kept, read, 1e-9)
    no_latency = [pair for pair in COUNTED + OF_TRACES if pair[0] != "latency"]
    kept, read = both(project, monkeypatch, ("traces", ["userId"], None, []), no_latency)
    assert_close(kept, read, 1e-9)
    end = clock.now() + timedelta(minutes=7)
    midnight = end.replace(hour=0, minute=0, second=0, microsecond=0)
    for start in (end - timedelta(hours=50), midnight - timedelta(days=1)):
        for conditions in DAILY:
            with monkeypatch.context() as patch:
                kept = daily_rows(project.pk, start, end, conditions)
                patch.setattr(daily, "noted_seq", lambda: 0)
                assert kept == approximately(daily_rows(project.pk, start, end, conditions))


DAILY: list[list[Condition]] = [
    [],
    [Condition("string", "traceName", "=", "a trace")],
    [Condition("arrayOptions", "tags", "all of", ("red",))],
    [OF_DEV],
    [Condition("stringOptions", "environment", "any of", ("default",))],
]


def approximately(days: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sums of money are the same to a millionth."""
    return [
        day
        | {"totalCost": pytest.approx(day["totalCost"], abs=1e-6)}
        | {"usage": [u | {"totalCost": pytest.approx(u["totalCost"])} for u in day["usage"]]}
        for day in days
    ]


def count_all() -> None:
    """As the job does, waiting for nothing."""
    while figures_note():
        pass
    while figures_count(quiet=timedelta(0)):
        pass


def table_sum(project: Project, kind: str, column: str = "n") -> Any:
    [(number,)] = fetch(
        f"SELECT coalesce(sum({column}), 0) FROM traces_figure WHERE project_id = %s AND kind = %s",
        [project.pk, kind],
    )
    return number


@pytest.mark.django_db(transaction=True)  # only what is committed is counted
def test_figures_say_what_reading_says_through_every_change(
    project: Project, some: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.pk, spans=some[:120])
    count_all()
    same(project, monkeypatch)
    spans_ingest(project_id=project.pk, spans=some[120:])  # late, with names of known traces
    same(project, monkeypatch)
    figures_note()
    for _ in range(5):  # some hours are counted, others not
        figures_count(quiet=timedelta(0))
    same(project, monkeypatch)
    later = [replace(span, start_ns=span.start_ns + HOUR_NS, end_ns=span.end_ns + 2 * HOUR_NS,
                     model="m9") for span in some[110:130]]  # fmt: skip
    spans_ingest(project_id=project.pk, spans=later)  # takes the place of what is counted
    assert trace_delete(project_id=project.pk, trace_id=some[3].trace_id)
    same(project, monkeypatch)
    count_all()
    assert fetch("SELECT count(*) FROM traces_figure_dirty", []) == [(0,)]
    same(project, monkeypatch)
    [(observations, cost)] = fetch("SELECT count(*), sum(cost) FROM traces_observation", [])
    assert table_sum(project, "observations") == observations
    assert table_sum(project, "observations.traceName", "cost") == cost
    assert [(table_sum(project, "traces"),)] == fetch("SELECT count(*) FROM traces_trace", [])
    for trace_id in {span.trace_id for span in some} - {some[3].trace_id}:
        trace_delete(project_id=project.pk, trace_id=trace_id)
    same(project, monkeypatch)
    count_all()
    assert fetch("SELECT count(*) FROM traces_figure", []) == [(0,)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("question", [
    ("observations", ["traceName"], None, []),
    ("observations", ["tags"], "week", [Condition("string", "environment", "=", "default")]),
    ("traces", ["name"], None, []),
    ("traces", [], None, []),
])  # fmt: skip
def test_percentiles_lie_within_their_bucket(
    project: Project, some: list[Span], monkeypatch: pytest.MonkeyPatch, question: Question
) -> None:
    """At most 2 % from the row that stands there; between rows nothing is made up."""
    spans_ingest(project_id=project.pk, spans=some)
    count_all()
    percents = (50, 75, 90, 95, 99)
    for percent in percents:
        exact = f"percentile_disc({percent / 100}) WITHIN GROUP (ORDER BY {{0}})"
        monkeypatch.setitem(metrics._AGGREGATES, f"p{percent}", exact)
    pairs = [("latency", f"p{percent}") for percent in percents]
    kept, read = both(project, monkeypatch, question, [("count", "count"), *pairs])
    assert len(read) > 0
    assert_close(kept, read, 0.0201)


@pytest.mark.django_db(transaction=True)
def test_an_hour_is_counted_when_it_has_been_quiet(
    project: Project, some: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.pk, spans=some)
    figures_note()
    assert not figures_count(quiet=timedelta(minutes=1))
    with monkeypatch.context() as patch:
        patch.setattr(job, "LONGEST", timedelta(0))
        assert not figures_count(quiet=timedelta(minutes=1))  # never sooner than it is quiet
    with_age = "UPDATE traces_figure_dirty SET noted_at = noted_at - interval '2 minutes'"
    fetch(f"{with_age} RETURNING 1", [])
    assert figures_count(quiet=timedelta(minutes=1))


@pytest.mark.django_db(transaction=True)
def test_many_and_long_values_are_read_instead(
    project: Project, some: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.pk, spans=some[:-1])
    spans_ingest(project_id=project.pk, spans=[replace(some[-1], name="n" * 201)])
    monkeypatch.setattr(job, "CROWDED", 3)
    count_all()
    kinds = {kind for (kind,) in fetch("SELECT DISTINCT kind FROM traces_figure_crowded", [])}
    assert {"observations.name", "observations.tags"} <= kinds
    assert table_sum(project, "observations.name") < table_sum(project, "observations") or (
        "observations" in kinds
    )
    same(project, monkeypatch)
    monkeypatch.setattr(job, "CROWDED", 10**6)
    fetch("UPDATE traces_figure_state SET noted_seq = 0 RETURNING 1", [])
    count_all()
    crowded = fetch("SELECT kind, count(*) FROM traces_figure_crowded GROUP BY kind", [])
    assert crowded == [("observations.name", 1)]
    same(project, monkeypatch)


@pytest.mark.django_db(transaction=True)
def test_what_is_past_its_time_leaves_and_traces_that_go_on_stay(
    project: Project, some: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.pk, spans=some)
    count_all()
    figures_retain(clock.now() - timedelta(hours=20))
    same(project, monkeypatch)
    count_all()
    assert [(table_sum(project, "traces"),)] == fetch("SELECT count(*) FROM traces_trace", [])


@pytest.mark.django_db(transaction=True)
def test_calls_of_prompts_are_counted_between_whole_hours(
    project: Project, some: list[Span]
) -> None:
    spans_ingest(project_id=project.pk, spans=some)
    end = clock.now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    edges = [end - timedelta(hours=12) * number for number in range(5, -1, -1)]
    assert figures.prompt_counts(project.pk, edges) is None  # nothing is counted yet
    figures_note()
    read = figures.prompt_counts(project.pk, edges)
    count_all()
    wanted = fetch(
        "SELECT prompt_name, width_bucket(start_time, %s::timestamptz[]) - 1, count(*)"
        " FROM traces_observation WHERE prompt_name IS NOT NULL AND start_time >= %s"
        " AND start_time < %s GROUP BY 1, 2 ORDER BY 1, 2",
        [edges, edges[0], end],
    )
    assert read == wanted == figures.prompt_counts(project.pk, edges)
    assert figures.prompt_counts(project.pk, [edges[0] + timedelta(minutes=1), end]) is None


@pytest.mark.django_db(transaction=True)
def test_what_takes_too_long_says_what_was_asked_and_what_narrows_it(
    project: Project, some: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.pk, spans=some)
    monkeypatch.setattr(queries, "PATIENCE_MS", 1)
    monkeypatch.setitem(metrics._AGGREGATES, "max", "max({0}) + sum((SELECT 0 FROM pg_sleep(1)))")
    question: Question = ("observations", ["type"], "day", [])
    with pytest.raises(InvalidError, match=r"max_latency of observations by type, day from .*"
                       r"takes too long.*Choose a shorter time"):  # fmt: skip
        metrics_rows(project.pk, asked(question, [("latency", "max")]), [])


def test_figures_are_of_one_project(
    project: Project, make_span: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.pk, spans=[make_span(0)])
    monkeypatch.setattr(figures, "noted_seq", lambda: 1)
    now = clock.now()
    query = asked(("traces", ["name"], None, []), [("count", "count")])
    kept = figures.figure_rows(project.pk + 1, query, [], "1")
    assert kept == []
    assert daily_rows(project.pk + 1, now - timedelta(days=2), now, []) == []


@pytest.mark.django_db(transaction=True)
def test_a_rare_filter_is_read_through_the_search_index(
    project: Project, some: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=project.pk, spans=some)
    search_index()
    wanted = [Condition("string", "userId", "=", "user 3")]
    query = asked(("observations", ["level"], None, []), [("count", "count"), ("latency", "max")])
    start, end = query.start, query.end
    narrowed, [ids] = metrics.narrowing(project.pk, "observations", wanted, start, end)
    assert narrowed
    assert 0 < len(ids) < 60
    found = metrics_rows(project.pk, query, wanted), daily_rows(project.pk, start, end, wanted)
    for module in (metrics, daily):
        monkeypatch.setattr(module, "narrowing", lambda *_: ("", []))
    assert found[0] == metrics_rows(project.pk, query, wanted) != []
    assert found[1] == daily_rows(project.pk, start, end, wanted) != []
