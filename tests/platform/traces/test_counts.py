"""Histograms read kept counts, and say what counting every trace says."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hone.accounts.models import Project
from hone.traces.core.span import Span
from hone.traces.selectors import TraceFilter, histogram, traces_histogram
from hone.traces.selectors.query import fetch
from hone.traces.services import figures as job
from hone.traces.services import spans_ingest, trace_delete
from hone.traces.services.figures import figures_count, figures_note
from hone.traces.services.search import search_index

Make = Callable[..., Span]
HOUR_NS = 3600 * 10**9


def counts(wanted: TraceFilter, monkeypatch: pytest.MonkeyPatch, buckets: int) -> list[int]:
    """Traces in each bucket, which must be the same with kept counts and without."""
    kept = traces_histogram(wanted, buckets=buckets)
    with monkeypatch.context() as patch:
        patch.setattr(histogram, "_WORTH", 10**9)
        assert traces_histogram(wanted, buckets=buckets) == kept
    return [bucket.ok + bucket.error for bucket in kept]


@pytest.mark.django_db(transaction=True)
def test_kept_counts_change_no_histogram(
    project: Project, make_span: Make, base_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(2)
    spans = []
    for number in range(200):
        start = base_ns - chance.randrange(40 * HOUR_NS)
        status = "error" if number % 9 == 0 else "ok"
        ids = {"trace_id": f"{number + 1:032x}", "span_id": f"{number + 1:016x}"}
        spans.append(make_span(start_ns=start, end_ns=start + 1, status=status, **ids))
    spans_ingest(project_id=project.id, spans=spans[:120])
    search_index()
    kept = "SELECT sum(ok + error) FROM traces_count WHERE project_id = %s"
    assert fetch(kept, [project.id]) == [(120,)]
    spans_ingest(project_id=project.id, spans=spans[120:])
    end = datetime.fromtimestamp(base_ns / 1e9, UTC) + timedelta(minutes=7)
    for hours, buckets in ((39, 20), (41, 24), (41, 7)):
        wanted = TraceFilter(project_id=project.id, start=end - timedelta(hours=hours), end=end)
        before = sum(counts(wanted, monkeypatch, buckets))
    assert before == 200
    moved = replace(spans[3], span_id="f" * 16, start_ns=spans[3].start_ns - 5 * HOUR_NS)
    spans_ingest(project_id=project.id, spans=[moved])
    counts(wanted, monkeypatch, 12)
    search_index()
    counts(wanted, monkeypatch, 12)
    assert trace_delete(project_id=project.id, trace_id=spans[9].trace_id)
    assert sum(counts(wanted, monkeypatch, 12)) in (198, 199)
    search_index()
    counts(wanted, monkeypatch, 12)
    assert fetch(kept, [project.id]) == [(199,)]
    assert fetch("SELECT count(*) FROM traces_count_dirty", []) == [(0,)]


FILTERS: list[dict[str, str]] = [
    {"status": "error"},
    {"status": "ok"},
    {"model": "m1"},
    {"model": "m2", "status": "error"},
    {"model": "nothing"},
    {"tag": "blue"},
    {"name": "b trace", "status": "ok"},
    {"environment": "default"},
    {"environment": "dev"},
]


@pytest.fixture
def some(make_span: Make, base_ns: int) -> list[Span]:
    """150 traces of one or two spans over 40 hours."""
    chance = random.Random(3)
    spans = []
    for number in range(150):
        start = base_ns - chance.randrange(40 * HOUR_NS)
        for part in range(1 + number % 2):
            begin = start + part * chance.randrange(2 * HOUR_NS)
            spans.append(make_span(
                part, trace_id=f"{number + 1:032x}", span_id=f"{number * 2 + part + 1:016x}",
                parent_span_id=None, start_ns=begin, end_ns=begin + 1, type="generation",
                model=f"m{part + number % 3}", tags=[(), ("blue",), ("blue", "red")][number % 3],
                trace_name=f"{'ab'[number % 2]} trace" if part == 0 else None,
                environment=None if number % 5 else "dev",
                status="error" if number % 7 == 0 else "ok",
            ))  # fmt: skip
    return spans


def same(
    project: Project, base_ns: int, monkeypatch: pytest.MonkeyPatch, buckets: int = 24
) -> dict[str, int]:
    """Traces of each filter, which must be the same from figures and by reading."""
    found = {}
    end = datetime.fromtimestamp(base_ns / 1e9, UTC) + timedelta(minutes=7)
    for given in FILTERS:
        wanted = TraceFilter(
            project_id=project.pk, start=end - timedelta(hours=41), end=end, **given
        )
        found[" ".join(given.values())] = sum(counts(wanted, monkeypatch, buckets))
    return found


@pytest.mark.django_db(transaction=True)  # only what is committed is counted
def test_figures_change_no_histogram_of_one_filter(
    project: Project, some: list[Span], base_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histogram, "ids_named", lambda _: None)  # as if everything were frequent
    count_all = [figures_note, lambda: figures_count(quiet=timedelta(0))]

    def step(number: int | None = None) -> None:
        for work in count_all:
            done = 0
            while done != number and work():
                done += 1

    spans_ingest(project_id=project.pk, spans=some[:150])
    step()
    spans_ingest(project_id=project.pk, spans=some[150:])
    same(project, base_ns, monkeypatch)  # some hours are counted, others changed
    figures_note()
    step(5)
    found = same(project, base_ns, monkeypatch, 41)
    assert found["error"] + found["ok"] == found["default"] + found["dev"] == 150
    assert found["blue"] == 100
    assert found["nothing"] == 0
    moved = [replace(span, start_ns=span.start_ns - HOUR_NS, model="m1") for span in some[10:14]]
    spans_ingest(project_id=project.pk, spans=moved)
    assert trace_delete(project_id=project.pk, trace_id=some[0].trace_id)
    same(project, base_ns, monkeypatch)
    step()
    assert fetch("SELECT count(*) FROM traces_figure_dirty", []) == [(0,)]
    found = same(project, base_ns, monkeypatch, 7)
    assert found["default"] + found["dev"] == 149
    with monkeypatch.context() as patch:
        patch.setattr(histogram, "_by_reading", None)  # nothing of it is read any more
        counts_of = TraceFilter(
            project_id=project.pk, start=datetime.fromtimestamp(base_ns / 1e9 - 41 * 3600, UTC),
            end=datetime.fromtimestamp(base_ns / 1e9 + 60, UTC), model="m1",
        )  # fmt: skip
        kept = traces_histogram(counts_of, buckets=24)
    assert sum(bucket.ok + bucket.error for bucket in kept) == found["m1"]
    other = replace(counts_of, project_id=project.pk + 1)
    assert not any(bucket.ok or bucket.error for bucket in traces_histogram(other, buckets=24))


@pytest.mark.django_db(transaction=True)
def test_hours_with_too_many_values_are_read_for_a_histogram(
    project: Project, some: list[Span], base_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histogram, "ids_named", lambda _: None)
    monkeypatch.setattr(job, "CROWDED", 3)
    spans_ingest(project_id=project.pk, spans=some)
    figures_note()
    while figures_count(quiet=timedelta(0)):
        pass
    kinds = {kind for (kind,) in fetch("SELECT DISTINCT kind FROM traces_figure_crowded", [])}
    assert {"begun.model", "begun.tag"} <= kinds
    assert same(project, base_ns, monkeypatch)["blue"] == 100
