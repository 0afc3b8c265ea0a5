"""Reads at the size at which other products were measured: 5,000 traces of four spans.

The load is the peers' own (`--load`: bench/platform's otlp_load.py) or one of the same shape; it
goes through the OTLP door, then each read is asked over HTTP with the project's key, as bench_peer
asked the peers. The figures beside are the best p50 of each read among arize-phoenix, mlflow and
agentmesh on a machine of two cores.
"""

import json
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ingest import send_all
from ingest_checks import foreign_bodies
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_bodies import bodies_of

TRACES, BATCH, DAYS = 5000, 100, 7.0
BEST_PEER = {  # p50 in ms
    "newest 50 traces": 14,
    "one trace": 5,
    "by model": 32,
    "by text": 91,
    "dashboard": 89,
}
MODEL, RARE = "gemini-1.5-pro", "zebrafinch"  # a tenth of all calls; one prompt in a hundred
PER_MODEL, PER_RARE = 10, 100


def bodies(load: Path | None, seed: int = 1) -> list[bytes]:
    """Exports of TRACES traces, one call in ten of MODEL, one trace in a hundred with RARE."""
    if load is not None:
        return foreign_bodies(load, TRACES, BATCH, seed, DAYS)
    made = []
    number = calls = 0
    for body in bodies_of(TRACES, BATCH, seed, DAYS):
        request = ExportTraceServiceRequest.FromString(body)
        for span in _spans(request):
            for pair in span.attributes:
                if pair.key == "llm.model_name":
                    calls += 1
                    pair.value.string_value = "gpt-4o" if calls % PER_MODEL else MODEL
                elif pair.key == "input.value" and number % PER_RARE == 0:
                    pair.value.string_value += f" {RARE}"
            number += not span.parent_span_id
        made.append(request.SerializeToString())
    return made


def _spans(request: ExportTraceServiceRequest) -> Any:
    return request.resource_spans[0].scope_spans[0].spans


def trace_ids(exports: list[bytes]) -> list[str]:
    requests = map(ExportTraceServiceRequest.FromString, exports)
    return sorted({span.trace_id.hex() for request in requests for span in _spans(request)})


def fill(port: int, key: str, exports: list[bytes], environment: dict[str, str]) -> None:
    """Send everything, and have it indexed and rolled up as the worker would."""
    headers = {
        "content-type": "application/x-protobuf",
        "authorization": f"Bearer {key}",
    }
    send_all(port, exports, 4, headers)
    subprocess.run([sys.executable, "-c", _INDEX], env=environment, check=True, capture_output=True)


_INDEX = """
import django
django.setup(set_prefix=False)
from django.db import connection
from hone.traces.services.rollups import rollups_refresh
from hone.traces.services.search import search_refresh
search_refresh()
rollups_refresh()
connection.cursor().execute("VACUUM (ANALYZE)")
"""


def questions(ids: list[str]) -> dict[str, list[list[str]]]:
    """For each read the turns in which it is asked, each as addresses one after the other."""
    now = datetime.now(UTC)
    since = (now - timedelta(days=DAYS + 1)).isoformat()

    def metrics(**asked: Any) -> str:
        query = {"fromTimestamp": since, "toTimestamp": now.isoformat(), **asked}
        return f"/api/public/v2/metrics?{urlencode({'query': json.dumps(query)})}"

    by_day = metrics(
        view="traces",
        metrics=[
            {"measure": "count", "aggregation": "count"},
            {"measure": "totalTokens", "aggregation": "sum"},
            {"measure": "totalCost", "aggregation": "sum"},
            {"measure": "latency", "aggregation": "p50"},
            {"measure": "latency", "aggregation": "p95"},
        ],
        timeDimension={"granularity": "day"},
    )
    by_model = metrics(
        view="observations",
        dimensions=[{"field": "providedModelName"}],
        metrics=[
            {"measure": "totalCost", "aggregation": "sum"},
            {"measure": "totalTokens", "aggregation": "sum"},
            {"measure": "count", "aggregation": "count"},
        ],
    )
    picked = random.Random(5).sample(ids, 40)
    return {
        "newest 50 traces": [["traces?limit=50"]],
        "one trace": [[f"traces/{trace_id}"] for trace_id in picked],
        "by model": [[f"traces?limit=50&model={MODEL}"]],
        "by text": [[f"traces?limit=50&q={RARE}"]],
        "dashboard": [[by_day, by_model]],
    }
