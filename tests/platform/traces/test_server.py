"""A real server process: the official exporter, and kill -9 in the middle of load."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.conf import settings
from django.db import connection
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from hone.traces.services.partitions import partitions_forget

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server(make_server: Any) -> Any:
    parts = urlsplit(settings.DATABASE_URL)
    partitions_forget()
    server = make_server(urlunsplit(parts._replace(path=f"/{connection.settings_dict['NAME']}")))
    server.start()
    return server


def rows(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_the_official_exporter_is_understood(
    server: Any, api_key: Any, compression: Compression
) -> None:
    exporter = OTLPSpanExporter(
        endpoint=server.url,
        headers={"Authorization": f"Bearer {api_key.secret}"},
        compression=compression,
    )
    resource = Resource.create({"service.name": "shop", "deployment.environment.name": "prod"})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("tests", "1.0")
    with tracer.start_as_current_span("handle", attributes={"session.id": "s1"}) as root:
        with tracer.start_as_current_span("chat m") as child:
            child.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": "m",
                    "gen_ai.usage.input_tokens": 3,
                    "gen_ai.response.finish_reasons": ["stop"],
                }
            )
        with pytest.raises(ValueError, match="boom"), tracer.start_as_current_span("tool"):
            raise ValueError("boom")
    assert provider.force_flush()
    provider.shutdown()
    wanted = format(root.get_span_context().trace_id, "032x")
    [(trace_id, name, session, environment, models, count, errors)] = rows(
        "SELECT encode(trace_id, 'hex'), name, session_id, environment, models,"
        " observation_count, error_count FROM traces_trace"
    )
    assert (trace_id, name, session, environment) == (wanted, "handle", "s1", "prod")
    assert (models, count, errors) == (["m"], 3, 1)
    [(message, scope)] = rows(
        "SELECT status_message, scope FROM traces_observation WHERE name = 'tool'"
    )
    assert (message, scope) == ("ValueError: boom", "tests@1.0")


def test_kill_9_under_load_loses_and_doubles_nothing(
    server: Any, api_key: Any, make_load: Any
) -> None:
    load = make_load(server, api_key.secret)
    for _ in range(3):
        load.wait_for(40)
        server.kill()
        server.start()
    load.wait_for(40)
    load.end()
    stored = sorted(s for (s,) in rows("SELECT encode(span_id, 'hex') FROM traces_observation"))
    assert stored == load.acknowledged()
    assert load.failures(), "the kills hit nobody"
    [(counted,)] = rows("SELECT sum(observation_count)::int FROM traces_trace")
    assert counted == len(stored)
