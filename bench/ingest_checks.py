"""What bench/ingest.py looks at beside its clock: lag, memory, costs, another load's bodies."""

import http.client
import importlib.util
import json
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE_S = 60.0


def foreign_bodies(path: Path, traces: int, batch: int, seed: int, days: float) -> list[bytes]:
    """The exports of the load generator at `path` (its make_trace), in the same shape and order."""
    spec = importlib.util.spec_from_file_location("foreign_load", path)
    assert spec is not None
    assert spec.loader is not None
    load: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(load)
    load.make_trace.total = traces
    now_ns, bodies = time.time_ns(), []
    for first in range(0, traces, batch // 4):
        request = ExportTraceServiceRequest()
        of_resource = request.resource_spans.add()
        for key, text in (
            ("service.name", "bench-agent"),
            ("openinference.project.name", "bench-agent"),
            ("deployment.environment.name", "bench"),
        ):
            of_resource.resource.attributes.add(key=key).value.string_value = text
        scope = of_resource.scope_spans.add()
        scope.scope.name, scope.scope.version = "otlp_load", "1"
        for number in range(first, min(first + batch // 4, traces)):
            load.make_trace(scope.spans, number, seed, now_ns, days, "openinference")
        bodies.append(request.SerializeToString())
    return bodies


def last_trace(body: bytes) -> str:
    """The id of the last trace of an export."""
    spans = ExportTraceServiceRequest.FromString(body).resource_spans[-1].scope_spans[-1].spans
    return spans[-1].trace_id.hex()


def lag_ms(port: int, secret: str, project: str, trace_id: str, since: float) -> float:
    """Milliseconds from `since` (perf_counter) until the API shows the trace with its spans."""
    headers = {"Authorization": f"Bearer {secret}"}
    begun = time.perf_counter()
    while time.perf_counter() - begun < PATIENCE_S:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", f"/api/projects/{project}/traces/{trace_id}", headers=headers)
        answer = connection.getresponse()
        found = answer.read()
        if answer.status == 200 and len(json.loads(found)["observations"]) == 4:
            return round(1e3 * (time.perf_counter() - since), 1)
        time.sleep(0.01)
    raise SystemExit(f"trace {trace_id} cannot be read after {PATIENCE_S:.0f} s")


def costs(url: str) -> dict[str, str | None]:
    """USD by model, None where a price is unknown."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT model, CASE WHEN bool_and(cost IS NOT NULL) THEN round(sum(cost), 4)::text END"
            " FROM traces_observation WHERE model IS NOT NULL GROUP BY model ORDER BY model"
        ).fetchall()
    return {str(model): usd for model, usd in rows}


def memory_mb(process: psutil.Process) -> tuple[int, int]:
    """Resident and proportional memory of a process and its children."""
    family = [process, *process.children(recursive=True)]
    full = [one.memory_full_info() for one in family]
    return round(sum(m.rss for m in full) / 2**20), round(sum(m.pss for m in full) / 2**20)


def postgres_mb(name: str) -> int:
    """Proportional memory of the backends of a database."""
    found = 0
    for process in psutil.process_iter(["name", "cmdline"]):
        if process.info["name"] == "postgres" and name in " ".join(process.info["cmdline"] or ()):
            found += process.memory_full_info().pss
    return round(found / 2**20)
