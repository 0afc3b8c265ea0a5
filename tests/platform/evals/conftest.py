import base64
from collections.abc import Callable
from typing import Any

import pytest

from hone.accounts.models import Project
from hone.common import clock
from hone.evals.models import Dataset
from hone.evals.services.datasets import dataset_create
from hone.traces.core.span import Span
from hone.traces.services import spans_ingest


@pytest.fixture
def public(as_nobody: Any, api_key: Any) -> Callable[..., Any]:
    """`public("GET", "/experiments?…")`: the public API with the project's key."""

    def call(method: str, path: str, body: Any = None, key: Any = api_key) -> Any:
        pair = base64.b64encode(f"{key.row.public_key}:{key.secret}".encode()).decode()
        headers = {"authorization": f"Basic {pair}"}
        data = b"" if body is None else body
        return as_nobody.generic(method, f"/api/public{path}", data, headers=headers)

    return call


@pytest.fixture
def dataset(project: Project) -> Dataset:
    return dataset_create(project=project, name="qa/capitals", description="d")


@pytest.fixture
def make_span(project: Project) -> Callable[..., str]:
    """`make_span(trace_id, span_id, output="x", **attributes)` stores a span of an hour ago."""

    def make(
        trace_id: str, span_id: str, attributes: dict[str, Any] | None = None, **values: Any
    ) -> str:
        start = clock.now_ns() - 3600 * 10**9
        given = {"name": "task", "start_ns": start, "end_ns": start + 250 * 10**6, **values}
        span = Span(trace_id=trace_id, span_id=span_id, attributes=attributes or {}, **given)
        assert spans_ingest(project_id=project.pk, spans=[span]).accepted == 1
        return trace_id

    return make
