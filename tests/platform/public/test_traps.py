"""What is easily got wrong by a server that takes Langfuse's SDKs: a test each.

Numbers are those of specs/langfuse-api.md, section 21; the last two tests are its sections 5 and 6.
"""

import base64
import gzip
import hashlib
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.urls import Resolver404, resolve

from hone.common.asgi import DisconnectedError
from hone.config import routing
from hone.config.urls import APPS
from hone.traces import batches, ingest

NS = 1_796_040_000 * 10**9  # 2026-11-30T12:00:00Z
TRACE, ROOT, CHILD = "ab" * 16, "c1" * 8, "c2" * 8
PYTHON_5 = {"language": "python", "version": "5.0.4"}
Attributes = dict[str, Any]


@pytest.fixture(autouse=True)
def _at_recording(at_recording: None) -> None:
    pass


def span(span_id: str = ROOT, parent: str | None = None, **attributes: Any) -> dict[str, Any]:
    """A span in OTLP/JSON; a `__` in the name of an attribute is a dot."""
    return {
        **{"traceId": TRACE, "spanId": span_id, "parentSpanId": parent, "name": f"n-{span_id}"},
        **{"startTimeUnixNano": str(NS), "endTimeUnixNano": str(NS + 10**9), "kind": 1},
        "attributes": [
            {"key": key.replace("__", "."), "value": _value(value)}
            for key, value in attributes.items()
        ],
    }


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    kind = {bool: "boolValue", int: "intValue", str: "stringValue"}[type(value)]
    return {kind: value}


def export(*spans: dict[str, Any], language: str = "python", version: str = "5.0.4") -> bytes:
    resource = [{"key": "telemetry.sdk.language", "value": {"stringValue": language}}]
    scope = {"scope": {"name": "langfuse-sdk", "version": version}, "spans": list(spans)}
    resources = [{"resource": {"attributes": resource}, "scopeSpans": [scope]}]
    return orjson.dumps({"resourceSpans": resources})


def send(sdk: Any, *spans: dict[str, Any], **sender: str) -> None:
    answer = sdk.send("POST", "/api/public/otel/v1/traces", body=export(*spans, **sender))
    assert (answer.status, answer.json()) == (200, {})


def observations(sdk: Any) -> dict[str, Any]:
    return {row["id"]: row for row in sdk.get("observations")["data"]}


def test_1_both_protocols_of_scores_in_the_exact_words(sdk) -> None:
    score = {"id": "s1", "traceId": TRACE, "name": "n", "value": 1}
    answer = sdk.post("scores", [score])
    assert (answer.status, answer.json()) == (202, {"message": "Accepted"})
    answer = sdk.post("scores", [score, {"id": "s2", "name": "no target"}])
    assert answer.status == 207
    assert answer.json().keys() == {"accepted", "rejected", "errors"}
    assert sdk.post("scores", {**score, "id": "s3"}).json() == {"id": "s3"}
    at = {"id": "e", "timestamp": "2026-11-30T12:00:00Z", "type": "score-create"}
    assert sdk.batch({**at, "body": {**score, "id": "s4"}})["successes"] == [
        {"id": "e", "status": 201}
    ]
    assert {s["id"] for s in sdk.get("v3/scores")["data"]} == {"s1", "s3", "s4"}


def test_2_javascript_sends_json_in_pieces_without_a_length(sdk, api_key) -> None:
    body = export(span(n=1), span(CHILD, ROOT, text="7"), language="nodejs", version="5.11.1")
    body = body.replace(b'"intValue":1', b'"intValue":"1"')
    pieces = [body[at : at + 50] for at in range(0, len(body), 50)]
    sent: list[Any] = []

    async def receive() -> Any:
        if not pieces:
            raise DisconnectedError
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def through(scope: Any, _: Any, send: Any) -> None:
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
        await ingest.application(scope, receive, send)

    headers = {**sdk.headers, "content-type": "application/json", "transfer-encoding": "chunked"}
    answer = sdk.asgi(through, "POST", "/api/public/otel/v1/traces", headers=headers)
    assert (answer.status, sent, pieces) == (200, [], [])
    assert observations(sdk).keys() == {ROOT, CHILD}


@pytest.mark.parametrize(
    ("sender", "sent", "wanted"),
    [
        (PYTHON_5, '"v"', "v"),
        (PYTHON_5, "3", 3),
        (PYTHON_5, '{"a":[1]}', {"a": [1]}),
        (PYTHON_5, "no json", "no json"),
        ({"language": "python", "version": "4.18.0"}, '"v"', "v"),  # so it writes an image
        ({"language": "python", "version": "4.18.0"}, 3, 3),
        ({"language": "python", "version": "3.15.0"}, "v", "v"),
        ({"language": "nodejs", "version": "5.11.1"}, "v", "v"),
        ({"language": "nodejs", "version": "5.11.1"}, '["v"]', ["v"]),
    ],
)
def test_3_metadata_is_decoded_for_the_sender_that_encodes_it(
    sdk, sender: dict[str, str], sent: Any, wanted: Any
) -> None:
    send(sdk, span(langfuse__observation__metadata__k=sent), **sender)
    assert observations(sdk)[ROOT]["metadata"]["k"] == wanted


def test_4_every_item_has_its_list_of_media(sdk) -> None:
    assert sdk.post("v2/datasets", {"name": "d"}).status == 200
    made = sdk.post("dataset-items", {"datasetName": "d", "id": "i", "input": 1}).json()
    [listed] = sdk.get("dataset-items", datasetName="d")["data"]
    read = sdk.get("dataset-items/i")
    assert made["mediaReferences"] == listed["mediaReferences"] == read["mediaReferences"] == []


def test_5_the_id_of_a_file_is_the_clients_and_its_address_is_ours(sdk) -> None:
    digest = hashlib.sha256(b"png").digest()
    body = {"traceId": TRACE, "contentType": "image/png", "contentLength": 3, "field": "input"}
    answer = sdk.post("media", {**body, "sha256Hash": base64.b64encode(digest).decode()})
    made = answer.json()
    assert answer.status == 201
    assert made["mediaId"] == base64.urlsafe_b64encode(digest).decode()[:22]
    assert made["uploadUrl"].startswith("http://testserver/"), "the host that the client asked"
    path = made["uploadUrl"].removeprefix("http://testserver")
    more = {"content-type": "image/png", "x-ms-blob-type": "BlockBlob"}
    assert sdk.send("PUT", path, body=b"png", **more).status == 200


def test_6_what_is_encoded_twice_or_nested_is_read(sdk) -> None:
    usage = {
        **{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": None},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    for number, most in enumerate(("Infinity", "inf")):
        generation = span(
            f"d{number}" * 8,
            langfuse__observation__type="generation",
            langfuse__observation__completion_start_time='"2026-11-30T12:00:00.500Z"',
            langfuse__observation__usage_details=json.dumps(usage),
            langfuse__observation__model__parameters=json.dumps({"max_tokens": most}),
        )
        send(sdk, generation)
        row = observations(sdk)[f"d{number}" * 8]
        assert row["completionStartTime"] == "2026-11-30T12:00:00.500Z"
        assert row["timeToFirstToken"] == 0.5
        assert row["modelParameters"] == {"max_tokens": most}
        assert row["usageDetails"] == {
            **{"input": 6, "output": 3, "total": 15},
            **{"input_cached_tokens": 4, "output_reasoning_tokens": 2},
        }


def test_7_a_root_may_have_a_parent_that_never_comes(sdk) -> None:
    send(
        sdk,
        span("c1" * 8, "f1" * 8, langfuse__internal__is_app_root=True),
        span("c2" * 8, "f2" * 8, langfuse__internal__as_root=True),
        span("c3" * 8, "c1" * 8),
        span("c4" * 8, "f4" * 8),
    )
    rows = sdk.get("v2/observations", fields="core,basic")["data"]
    roots = {row["id"] for row in rows if row["isRootObservation"]}
    assert {"c1" * 8, "c2" * 8} <= roots
    assert "c3" * 8 not in roots
    listed = sdk.get("v2/observations", isRootObservation="true", fields="core")["data"]
    assert {row["id"] for row in listed} == roots


def test_8_what_one_span_says_of_the_trace_holds_for_its_siblings_at_once(sdk) -> None:
    said = {"user__id": "u", "session__id": "s", "langfuse__trace__tags": ["b", "a"]}
    send(sdk, span(ROOT), span(CHILD, ROOT, **said, langfuse__trace__name="t"))
    groups = "core,basic,trace_context"
    rows = sdk.get("v2/observations", fields=groups)["data"]
    assert len(rows) == 2
    for row in rows:
        assert (row["userId"], row["sessionId"], row["traceName"]) == ("u", "s", "t")
        assert row["tags"] == ["a", "b"]
    assert {row["id"] for row in sdk.get("v2/observations", userId="u")["data"]} == {ROOT, CHILD}


def test_9_the_update_may_come_before_its_creation_and_twice(sdk) -> None:
    def event(kind: str, second: int, **body: Any) -> dict[str, Any]:
        at = f"2026-11-30T12:00:0{second}Z"
        body = {"id": "g", "traceId": "t", **body}
        return {"id": f"{kind}{second}", "type": kind, "timestamp": at, "body": body}

    update = event("generation-update", 2, output="later", endTime="2026-11-30T12:00:03Z")
    late = event("generation-update", 1, output="earlier", model="m")
    create = event("generation-create", 0, input="in", name="g")
    for one in (update, late, create, update):
        sdk.batch(one)
    [row] = sdk.get("observations")["data"]
    assert (row["input"], row["output"], row["model"], row["name"]) == ("in", "later", "m", "g")


def test_10_labels_are_added_unique_and_latest_is_the_servers(sdk) -> None:
    for text in ("one", "two"):
        assert sdk.post("v2/prompts", {"name": "p", "prompt": text, "labels": [text]}).status == 201

    def patch(version: int, *labels: str) -> Any:
        body = orjson.dumps({"newLabels": labels})
        return sdk.send("PATCH", f"/api/public/v2/prompts/p/versions/{version}", body=body)

    assert sorted(patch(1, "more").json()["labels"]) == ["more", "one"]
    assert sorted(patch(2, "one").json()["labels"]) == ["latest", "one", "two"]
    assert sdk.get("v2/prompts/p", version=1)["labels"] == ["more"]
    assert patch(1, "latest").status == 400


def test_11_deletions_answer_with_a_message(sdk) -> None:
    send(sdk, span())
    sdk.post("scores", {"id": "s", "traceId": TRACE, "name": "n", "value": 1})
    answer = sdk.send("DELETE", "/api/public/scores/s")
    assert (answer.status, "message" in answer.json()) == (202, True)
    answer = sdk.send("DELETE", f"/api/public/traces/{TRACE}")
    assert (answer.status, "message" in answer.json()) == (200, True)
    answer = sdk.send("DELETE", "/api/public/traces", body=orjson.dumps({"traceIds": [TRACE]}))
    assert (answer.status, "message" in answer.json()) == (200, True)


def test_12_overload_is_503_with_a_time_and_never_500(sdk, monkeypatch, settings) -> None:
    monkeypatch.setattr(ingest._pending, "num_bytes", settings.HONE_TRACES_PENDING_BYTES)
    monkeypatch.setattr(batches, "_MAX_WAITING", 0)
    body = export(span())
    for path in ("otel/v1/traces", "ingestion"):
        answer = sdk.send("POST", f"/api/public/{path}", body=body)
        assert answer.status in (429, 503)
        assert int(answer.headers["retry-after"]) >= 1


def test_13_the_projects_id_stays(sdk, project, as_alice) -> None:
    def project_id() -> str:
        [found] = sdk.get("projects")["data"]
        return str(found["id"])

    before = project_id()
    assert as_alice.patch("/api/projects/demo", {"name": "Renamed"}).status_code == 200
    assert project_id() == before
    [found] = sdk.get("projects")["data"]
    assert found["name"] == "Renamed"
    assert found["organization"].keys() >= {"id", "name"}
    assert isinstance(found["metadata"], dict)


def test_an_export_is_refused_whole_where_a_part_of_it_is_no_list(sdk) -> None:
    """Section 3.1: this is how logs and metrics sent to the address of traces are noticed."""
    for body in (
        {"resourceSpans": [{"scopeSpans": {}}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": "x"}]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [span() | {"attributes": {}}]}]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [span() | {"events": 3}]}]}]},
    ):
        path = "/api/public/otel/v1/traces"
        assert sdk.send("POST", path, body=orjson.dumps(body)).status == 400
    assert observations(sdk) == {}


def test_python_5_packs_its_exports_and_says_so(sdk) -> None:
    more = {"content-encoding": "gzip", "x-langfuse-ingestion-version": "4"}
    body = gzip.compress(export(span()))
    assert sdk.send("POST", "/api/public/otel/v1/traces", body=body, **more).status == 200


# Section 5, P0, P1 and the reads of P2: what an SDK or a program asks for.
ROUTES = """
POST /otel/v1/traces|POST /otel/v1/metrics|GET /projects|GET /v2/prompts/n|POST /v2/prompts
PATCH /v2/prompts/n/versions/1|POST /scores|POST /ingestion|GET /health|GET /ready
POST /v2/datasets|GET /v2/datasets|GET /v2/datasets/n|POST /dataset-items|GET /dataset-items
GET /dataset-items/i|DELETE /dataset-items/i|POST /dataset-run-items|GET /dataset-run-items
POST /media|PATCH /media/i|GET /media/i|GET /v2/observations|GET /v2/metrics|GET /v3/scores
GET /experiments|GET /experiment-items|GET /v2/prompts|DELETE /v2/prompts/n|DELETE /scores/i
DELETE /traces/i|DELETE /traces|GET /score-configs|POST /score-configs|GET /score-configs/i
PATCH /score-configs/i|GET /traces|GET /traces/i|GET /observations|GET /observations/i
GET /sessions|GET /sessions/i|GET /v2/scores|GET /v2/scores/i|GET /scores|GET /metrics
GET /metrics/daily|GET /datasets/n/runs|GET /datasets/n/runs/r|DELETE /datasets/n/runs/r
GET /models|GET /models/i|GET /comments|POST /comments|GET /comments/i
"""


@pytest.mark.parametrize("route", ROUTES.strip().replace("\n", "|").split("|"))
def test_every_route_of_the_current_sdks_is_there(route: str) -> None:
    method, path = route.split()
    path = f"/api/public{path}"
    if any(routing.is_below(path, prefix) for prefix, _ in routing.DOORS):
        return
    try:
        view = resolve(path).func
    except Resolver404:
        pytest.fail(f"nothing is at {path}")
    assert hasattr(view.cls, method.lower()), f"{path} does not take {method}"
    assert method.lower() in view.cls.http_method_names


PAGE = {"page", "limit", "totalItems", "totalPages"}
# Section 6.1: keys that the models of the SDKs cannot do without.
SHAPES = {
    "v2/prompts/p": "type prompt name version config labels tags",
    "v2/datasets/d": "id name metadata projectId createdAt updatedAt",
    "dataset-items/i": "id status input expectedOutput metadata datasetId datasetName createdAt"
    " updatedAt mediaReferences",
    "score-configs/CONFIG": "id name createdAt updatedAt projectId dataType isArchived",
    "comments/COMMENT": "id projectId createdAt updatedAt objectType objectId content",
    "traces/TRACE": "id timestamp name input output sessionId release version userId metadata tags"
    " public environment htmlPath latency totalCost observations scores",
    "observations/SPAN": "id traceId type name startTime endTime completionStartTime model"
    " modelParameters input output version metadata usage usageDetails costDetails level"
    " statusMessage parentObservationId promptId environment promptName promptVersion modelId"
    " inputPrice outputPrice totalPrice calculatedInputCost calculatedOutputCost"
    " calculatedTotalCost latency timeToFirstToken",
    "sessions/s": "id createdAt projectId environment traces",
}
LISTS = {
    "v2/prompts": "name type versions labels tags lastUpdatedAt lastConfig",
    "v3/scores": "dataType value id name projectId source timestamp environment createdAt"
    " updatedAt",
    "v2/scores": "id traceId name source dataType value timestamp createdAt updatedAt environment",
    "datasets/d/runs": "id name datasetId datasetName createdAt updatedAt",
    "dataset-run-items?datasetId=D&runName=r": "id datasetRunId datasetRunName datasetItemId"
    " traceId createdAt updatedAt",
    "experiments?fromStartTime=2020-01-01T00:00:00Z": "id name startTime endTime itemCount",
    "experiment-items?fromStartTime=2020-01-01T00:00:00Z": "id traceId startTime level environment"
    " experimentId experimentName experimentItemId",
}


@pytest.fixture
def filled(sdk) -> dict[str, str]:
    """One of each object; ids that the server gave."""
    send(sdk, span(session__id="s"))
    sdk.post("v2/prompts", {"name": "p", "prompt": "x", "labels": ["production"]})
    dataset = sdk.post("v2/datasets", {"name": "d"}).json()
    sdk.post("dataset-items", {"datasetName": "d", "id": "i", "input": 1})
    run = {"runName": "r", "datasetItemId": "i", "traceId": TRACE, "observationId": ROOT}
    assert sdk.post("dataset-run-items", run).status == 200
    sdk.post("scores", {"id": "x", "traceId": TRACE, "name": "n", "value": 1})
    config = sdk.post("score-configs", {"name": "c", "dataType": "NUMERIC"}).json()
    comment = {"projectId": "demo", "objectType": "TRACE", "objectId": TRACE, "content": "hm"}
    said = sdk.post("comments", comment).json()
    return {
        **{"CONFIG": config["id"], "COMMENT": said["id"], "TRACE": TRACE, "SPAN": ROOT},
        "D": dataset["id"],
    }


def _asked(sdk: Any, path: str, ids: dict[str, str]) -> Any:
    for name, value in ids.items():
        path = path.replace(f"/{name}", f"/{value}").replace(f"={name}&", f"={value}&")
    place, _, query = path.partition("?")
    return sdk.get(place, **dict(pair.split("=", 1) for pair in query.split("&") if pair))


def test_objects_have_every_key_that_sdks_enforce(sdk, filled) -> None:
    for path, keys in SHAPES.items():
        found = _asked(sdk, path, filled)
        assert set(keys.split()) - found.keys() == set(), path


def test_lists_have_every_key_that_sdks_enforce(sdk, filled) -> None:
    for path, keys in LISTS.items():
        found = _asked(sdk, path, filled)
        assert found["data"], path
        assert set(keys.split()) - found["data"][0].keys() == set(), path
    for path in ("v2/prompts", "v2/datasets", "dataset-items", "traces", "observations", "scores"):
        assert sdk.get(path)["meta"].keys() >= PAGE, path


# Section 12: what may be grouped by.
DIMENSIONS = {
    "observations": "environment type name level version tags release traceName traceRelease"
    " traceVersion providedModelName promptName promptVersion isRootObservation startTimeMonth",
    "scores-numeric": "environment name source dataType configId timestampMonth timestampDay value"
    " traceName tags traceRelease traceVersion observationName observationModelName"
    " observationPromptName observationPromptVersion",
    "scores-categorical": "stringValue observationName",
    "scores-boolean": "booleanValue observationName",
}


@pytest.mark.parametrize("view", DIMENSIONS)
def test_every_dimension_of_the_metrics_can_be_grouped_by(sdk, view: str) -> None:
    named = {"langfuse__observation__model__name": "m", "langfuse__observation__prompt__name": "p"}
    send(sdk, span(**named, langfuse__observation__prompt__version=2))
    score = {"traceId": TRACE, "observationId": ROOT, "name": "n"}
    sdk.post("scores", {**score, "value": "warm", "id": "w"})
    sdk.post("scores", {**score, "value": 1, "id": "1"})
    sdk.post("scores", {**score, "value": 1, "id": "b", "dataType": "BOOLEAN"})
    window = {"fromTimestamp": "2026-11-01T00:00:00Z", "toTimestamp": "2026-12-31T00:00:00Z"}
    count = [{"measure": "count", "aggregation": "count"}]
    wanted = {
        **{"observationName": f"n-{ROOT}", "observationModelName": "m"},
        **{"observationPromptName": "p", "observationPromptVersion": "2"},
    }
    for field in DIMENSIONS[view].split():
        question = {"view": view, "metrics": count, "dimensions": [{"field": field}], **window}
        [row] = sdk.get("v2/metrics", query=orjson.dumps(question).decode())["data"]
        assert field in row, (view, field)
        assert str(row[field]) == wanted.get(field, str(row[field]))


def test_every_public_route_has_its_row_in_the_docs() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "langfuse.md").read_text()
    named = set(re.findall(r"`(/[^`]*)`", docs))
    routes = {str(entry.pattern) for app in APPS for entry in import_module(app).urlpatterns} | {
        prefix.removeprefix("/api/") for prefix, _ in routing.DOORS if "public" in prefix
    }
    for route in sorted(route for route in routes if route.startswith("public/")):
        if route in ("public/media-content", "public/health", "public/ready"):
            continue  # an address that answers name, and two that stand in one row
        place = "/" + re.sub(r"<[^>]*>.*", "", route.removeprefix("public/")).rstrip("/")
        assert any(name == place or name.startswith(f"{place}/{{") for name in named), route
