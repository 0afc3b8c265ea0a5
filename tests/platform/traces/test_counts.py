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
from hone.traces.services import spans_ingest, trace_delete
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


@pytest.mark.usefixtures("emptied")
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
