"""Reads in the shapes that clients enforce: pages, cursors, groups of fields, filters, figures."""

from typing import Any

import orjson
import pytest

from hone.accounts.models import Project
from hone.traces.core.span import Span
from hone.traces.services import spans_ingest
from hone.traces.services.search import search_index

SECOND = 10**9
ROOT, ONE = "a1" * 16, "b1" * 16


@pytest.fixture
def spans(project: Project, sdk) -> int:
    """Two traces of an hour ago: three observations, and one; when the first began."""
    start = 1_796_040_000 * SECOND  # 2026-11-30T12:00:00Z

    def span(trace: str, number: int, **values: Any) -> Span:
        begin = start + number * SECOND
        given = {"trace_id": trace, "span_id": f"{number:016x}", "start_ns": begin}
        given |= {"end_ns": begin + SECOND // 2, "name": f"step {number}"}
        return Span(**(given | values))

    found = [
        span(
            ROOT,
            1,
            trace_name="first",
            input='{"q": 1}',
            output="done",
            session_id="s",
            user_id="u",
            tags=("a", "b"),
            metadata={"long": "x" * 300, "n": 3},
            attributes={"langfuse.trace.public": True},
        ),
        span(
            ROOT,
            2,
            parent_span_id=f"{1:016x}",
            type="generation",
            model="m",
            usage={"input": 7, "input_cached_tokens": 3, "output": 5, "total": 15},
            prompt_name="p",
            prompt_version=2,
            first_token_ns=start + 2 * SECOND + SECOND // 4,
            model_parameters={"temperature": 1},
        ),
        span(ROOT, 3, parent_span_id=f"{1:016x}", type="event", level="WARNING"),
        span(
            ONE,
            4,
            parent_span_id=f"{99:016x}",
            name="app",
            attributes={"langfuse.internal.is_app_root": True},
            environment="staging",
        ),
    ]
    assert spans_ingest(project_id=project.pk, spans=found).accepted == 4
    return start


@pytest.fixture(autouse=True)
def _at_recording(at_recording: None) -> None:
    pass


def filtered(*conditions: dict[str, Any]) -> str:
    return orjson.dumps(conditions).decode()


def test_v2_gives_groups_of_fields_and_no_more(sdk, spans) -> None:
    core = {"id", "traceId", "startTime", "endTime", "projectId", "parentObservationId", "type"}
    [row] = sdk.get("v2/observations", fields="core", name="step 2")["data"]
    assert row.keys() == core
    assert (row["type"], row["projectId"]) == ("GENERATION", "demo")
    basic = sdk.get("v2/observations", name="step 2")["data"][0]
    assert basic.keys() > core
    assert "input" not in basic
    groups = "core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context"
    whole = sdk.get("v2/observations", name="step 2", fields=groups)["data"][0]
    assert (whole["userId"], whole["sessionId"], whole["tags"]) == ("u", "s", ["a", "b"])
    assert (whole["traceName"], whole["model"], whole["providedModelName"]) == ("first", "m", "m")
    assert whole["usageDetails"]["input_cached_tokens"] == 3
    assert (whole["promptName"], whole["promptVersion"]) == ("p", 2)
    assert (whole["latency"], whole["timeToFirstToken"]) == (0.5, 0.25)
    assert whole["completionStartTime"] == "2026-11-30T12:00:02.250Z"


def test_v2_payloads_are_text_and_metadata_is_cut(sdk, spans) -> None:
    [row] = sdk.get("v2/observations", fields="io,metadata,basic", name="step 1")["data"]
    assert (row["input"], row["output"], row["public"]) == ('{"q": 1}', "done", True)
    assert row["metadata"] == {"long": "x" * 200, "n": 3}
    [row] = sdk.get("v2/observations", fields="metadata", name="step 1", expandMetadata="long")[
        "data"
    ]
    assert row["metadata"]["long"] == "x" * 300
    refused = sdk.send("GET", "/api/public/v2/observations", query={"parseIoAsJson": "true"})
    assert refused.status == 400


def test_v2_pages_by_cursor_newest_first(sdk, spans) -> None:
    seen, cursor = [], {}
    while True:
        page = sdk.get("v2/observations", limit=1, **cursor)
        seen += [row["name"] for row in page["data"]]
        if "cursor" not in page["meta"]:
            break
        cursor = {"cursor": page["meta"]["cursor"]}
    assert seen == ["app", "step 3", "step 2", "step 1"]


def test_a_root_need_not_be_without_parent(sdk, spans) -> None:
    roots = sdk.get("v2/observations", isRootObservation="true")["data"]
    assert [row["name"] for row in roots] == ["app", "step 1"]
    assert roots[0]["parentObservationId"] == f"{99:016x}"
    orphans = sdk.get("v2/observations", parentObservationId="")["data"]
    assert [row["name"] for row in orphans] == ["step 1"]


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ({"type": "string", "column": "type", "operator": "=", "value": "GENERATION"}, {"step 2"}),
        ({"type": "string", "column": "input", "operator": "contains", "value": '"Q"'}, {"step 1"}),
        ({"type": "string", "column": "traceName", "operator": "=", "value": "app"}, {"app"}),
        ({"type": "number", "column": "inputTokens", "operator": ">=", "value": 10}, {"step 2"}),
        (
            {
                "type": "stringOptions",
                "column": "level",
                "operator": "any of",
                "value": ["WARNING"],
            },
            {"step 3"},
        ),
        (
            {
                "type": "numberObject",
                "column": "metadata",
                "key": "n",
                "operator": "=",
                "value": 3,
            },
            {"step 1"},
        ),
        (
            {"type": "arrayOptions", "column": "tags", "operator": "none of", "value": ["a"]},
            {"app"},
        ),
        ({"type": "null", "column": "model", "operator": "is not null"}, {"step 2"}),
        ({"type": "string", "column": "environment", "operator": "=", "value": "staging"}, {"app"}),
    ],
)
def test_filters_of_observations(sdk, spans, condition: dict[str, Any], names: set[str]) -> None:
    for path in ("v2/observations", "observations"):
        rows = sdk.get(path, filter=filtered(condition))["data"]
        assert {row["name"] for row in rows} == names


def test_filters_find_the_same_through_the_index(sdk, spans) -> None:
    def names(column: str, operator: str, value: str) -> set[str]:
        condition = {"type": "string", "column": column, "operator": operator, "value": value}
        found = sdk.get("observations", filter=filtered(condition))
        assert found["meta"]["totalItems"] == len(found["data"])
        return {row["name"] for row in found["data"]}

    asked = [
        ("name", "=", "step 2"),
        ("name", "=", "nothing"),
        ("userId", "=", "u"),
        ("model", "=", "m"),
        ("traceName", "=", "app"),
        ("output", "contains", "ONE"),
        ("output", "contains", "nowhere"),
    ]
    before = [names(*each) for each in asked]
    assert before == [{"step 2"}, set(), {"step 1", "step 2", "step 3"}, {"step 2"}, {"app"},
                      {"step 1"}, set()]  # fmt: skip
    while search_index():
        pass
    assert [names(*each) for each in asked] == before
    assert sdk.get("observations")["meta"]["totalItems"] == 4


def test_v1_observations_have_all_that_older_clients_enforce(sdk, spans) -> None:
    page = sdk.get("observations", traceId=ROOT, limit=2)
    assert page["meta"] == {"page": 1, "limit": 2, "totalItems": 3, "totalPages": 2}
    row = next(r for r in sdk.get("observations")["data"] if r["name"] == "step 2")
    assert row["usage"] | {"inputCost": None, "outputCost": None, "totalCost": None} == {
        "input": 10,
        "output": 5,
        "total": 15,
        "unit": "TOKENS",
        "inputCost": None,
        "outputCost": None,
        "totalCost": None,
    }
    assert row["modelParameters"] == {"temperature": 1}
    one = sdk.get(f"observations/{row['id']}")
    assert one == row
    assert sdk.send("GET", "/api/public/observations/nothing").status == 404


def test_traces_are_paged_filtered_and_ordered(sdk, spans) -> None:
    page = sdk.get("traces", limit=1)
    assert page["meta"]["totalItems"] == 2
    assert [t["name"] for t in sdk.get("traces", orderBy="timestamp.asc")["data"]] == [
        "first",
        "app",
    ]
    [first] = sdk.get("traces", userId="u", tags=["a", "b"])["data"]
    assert (first["input"], first["output"], first["public"]) == ({"q": 1}, "done", True)
    assert first["observations"] == [f"{n:016x}" for n in (1, 2, 3)]
    assert (first["latency"], first["timestamp"]) == (2.5, "2026-11-30T12:00:01.000Z")
    assert sdk.get("traces", tags=["a", "c"])["data"] == []
    assert sdk.get("traces", environment="staging")["data"][0]["name"] == "app"
    assert sdk.get("traces", toTimestamp="2026-11-30T11:00:00Z")["data"] == []
    bare = sdk.get("traces", fields="core")["data"][0]
    assert (bare["latency"], bare["input"], bare["scores"]) == (-1, None, [])
    tokens = {"type": "number", "column": "totalTokens", "operator": ">", "value": 1}
    assert [t["name"] for t in sdk.get("traces", filter=filtered(tokens))["data"]] == ["first"]
    for query in ({"orderBy": "secret"}, {"fields": "all"}, {"filter": "x"}, {"page": "0"}):
        assert sdk.send("GET", "/api/public/traces", query=query).status == 400


def test_a_session_with_its_traces(sdk, spans) -> None:
    assert sdk.get("sessions")["meta"]["totalItems"] == 1
    found = sdk.get("sessions/s")
    assert found.keys() == {"id", "createdAt", "projectId", "environment", "traces"}
    assert [trace["name"] for trace in found["traces"]] == ["first"]
    assert sdk.send("GET", "/api/public/sessions/none").status == 404


def test_sessions_stand_where_their_first_trace_does(sdk, project: Project) -> None:
    noon = 1_796_040_000 * SECOND
    spans_ingest(
        project_id=project.pk,
        spans=[
            Span(trace_id=f"{number + 1:032x}", span_id=f"{number + 1:016x}", name="x",
                 start_ns=noon + number * 60 * SECOND, end_ns=noon + number * 60 * SECOND,
                 session_id=session, environment=environment)
            for number, (session, environment) in enumerate(
                [("a", None), ("b", "prod"), ("c", None), ("a", "dev"), (None, None), ("b", None)]
            )
        ],
    )  # fmt: skip

    def ids(**query: Any) -> tuple[list[str], int]:
        found = sdk.get("sessions", **query)
        return [session["id"] for session in found["data"]], found["meta"]["totalItems"]

    assert ids() == (["c", "b", "a"], 3)
    assert [ids(limit=1, page=page) for page in (1, 2, 3, 4)] == [
        (["c"], 3), (["b"], 3), (["a"], 3), ([], 3)
    ]  # fmt: skip
    assert ids(environment="dev") == (["a"], 1)
    assert ids(environment=["prod", "default"], limit=1) == (["c"], 2)
    assert ids(fromTimestamp="2026-11-30T12:01:00Z", toTimestamp="2026-11-30T12:02:00Z") == (
        ["b"], 1
    )  # fmt: skip
    assert ids(fromTimestamp="2026-11-30T12:01:00Z", limit=1) == (["c"], 2)
    assert sdk.get("sessions")["data"][2]["createdAt"] == "2026-11-30T12:00:00.000Z"


def test_deletion_says_what_it_did(sdk, spans) -> None:
    answer = sdk.send("DELETE", f"/api/public/traces/{ONE}")
    assert (answer.status, "message" in answer.json()) == (200, True)
    assert sdk.send("DELETE", f"/api/public/traces/{ONE}").status == 404  # it never lies
    body = orjson.dumps({"traceIds": [ROOT, "nothing"]})
    answer = sdk.send("DELETE", "/api/public/traces", body=body)
    assert answer.json()["message"] == "1 traces deleted"
    assert sdk.get("v2/observations")["data"] == []


def metrics(sdk, **question: Any) -> list[dict[str, Any]]:
    window = {"fromTimestamp": "2026-11-30T00:00:00Z", "toTimestamp": "2026-12-01T00:00:00Z"}
    query = orjson.dumps({"view": "observations", **window, **question}).decode()
    rows: list[dict[str, Any]] = sdk.get("v2/metrics", query=query)["data"]
    return rows


def test_metrics_by_dimension_and_time(sdk, spans) -> None:
    count = {"measure": "count", "aggregation": "count"}
    assert metrics(sdk, metrics=[count]) == [{"count_count": 4}]
    tokens = {"measure": "totalTokens", "aggregation": "sum"}
    rows = metrics(
        sdk,
        dimensions=[{"field": "type"}],
        metrics=[count, tokens],
        orderBy=[{"field": "type", "direction": "asc"}],
    )
    assert [(row["type"], row["count_count"]) for row in rows] == [
        ("EVENT", 1),
        ("GENERATION", 1),
        ("SPAN", 2),
    ]
    assert rows[1]["sum_totalTokens"] == 15
    [hour] = metrics(sdk, metrics=[count], timeDimension={"granularity": "hour"})
    assert hour == {"time_dimension": "2026-11-30T12:00:00.000Z", "count_count": 4}
    latency = {"measure": "latency", "aggregation": "p95"}
    assert metrics(sdk, metrics=[latency])[0]["p95_latency"] == pytest.approx(500)
    [bars] = metrics(
        sdk, metrics=[{"measure": "latency", "aggregation": "histogram"}], config={"bins": 2}
    )
    assert bars["histogram_latency"] == [[500.0, 500.0, 4]]
    by_tag = metrics(sdk, metrics=[count], dimensions=[{"field": "tags"}])
    assert {row["tags"]: row["count_count"] for row in by_tag} == {"a": 3, "b": 3, None: 1}
    traces = metrics(sdk, view="traces", metrics=[count], dimensions=[{"field": "userId"}])
    assert {row["userId"]: row["count_count"] for row in traces} == {"u": 1, None: 1}
    kept = [{"type": "string", "column": "traceName", "operator": "=", "value": "app"}]
    assert metrics(sdk, metrics=[count], filters=kept) == [{"count_count": 1}]


@pytest.mark.parametrize(
    "change",
    [
        {"view": "nothing"},
        {"metrics": []},
        {"metrics": [{"measure": "secret", "aggregation": "sum"}]},
        {"metrics": [{"measure": "count", "aggregation": "drop"}]},
        {"dimensions": [{"field": "userId"}]},  # too many values to group by
        {"fromTimestamp": "yesterday"},
        {"timeDimension": {"granularity": "second"}},
        {"orderBy": [{"field": "nothing", "direction": "asc"}]},
        {"config": {"row_limit": 5000}},
    ],
)
def test_a_question_that_cannot_be_answered(sdk, spans, change: dict[str, Any]) -> None:
    window = {"fromTimestamp": "2026-11-30T00:00:00Z", "toTimestamp": "2026-12-01T00:00:00Z"}
    count = {"measure": "count", "aggregation": "count"}
    query = {"view": "observations", "metrics": [count], **window, **change}
    answer = sdk.send(
        "GET", "/api/public/v2/metrics", query={"query": orjson.dumps(query).decode()}
    )
    assert answer.status == 400
    assert answer.json().keys() == {"message", "error"}


def test_figures_by_day(sdk, spans) -> None:
    page = sdk.get("metrics/daily")
    [day] = page["data"]
    assert (day["date"], day["countTraces"], day["countObservations"]) == ("2026-11-30", 2, 4)
    [usage] = day["usage"]
    assert (usage["model"], usage["inputUsage"], usage["outputUsage"]) == ("m", 10, 5)


def test_another_key_reads_nothing(sdk, foreign_sdk, spans) -> None:
    for path in ("traces", "observations", "v2/observations", "sessions", "metrics/daily"):
        assert foreign_sdk.get(path)["data"] == []
    for path in (f"traces/{ROOT}", f"observations/{1:016x}", "sessions/s"):
        assert foreign_sdk.send("GET", f"/api/public/{path}").status == 404
    count = {"measure": "count", "aggregation": "count"}
    assert metrics(foreign_sdk, metrics=[count]) == [{"count_count": 0}]


def test_health_needs_no_key(sdk) -> None:
    sdk.headers = {}
    answer = sdk.send("GET", "/api/public/health")
    assert (answer.status, answer.json()["status"]) == (200, "OK")
    assert answer.json()["version"]


def test_what_is_not_there_is_said_in_their_shape(sdk) -> None:
    answer = sdk.send("GET", "/api/public/nothing")
    assert answer.status == 404
    assert answer.json()["error"] == "LangfuseNotFoundError"


@pytest.mark.parametrize("text", ['{"a":"\\u0000x"}', '["\\u0000"]', '"\\ud800"'])
def test_an_escape_that_spells_no_text_costs_no_span(sdk, text: str) -> None:
    """The line that lists show is read out of the payload; the payload itself stays as it was."""
    pair = {"key": "langfuse.observation.input", "value": {"stringValue": text}}
    span = {"traceId": ROOT, "spanId": "a" * 16, "name": "n", "attributes": [pair]}
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    assert sdk.post("otel/v1/traces", body).status == 200
    [row] = sdk.get("v2/observations", fields="io")["data"]
    assert row["input"] == text


def test_metadata_is_read_as_its_sender_meant_it(sdk) -> None:
    """SDKs 3 and 4 write objects and lists as JSON text, plain texts as they are."""
    given = {"word": "v", "three": "3", "deep": '{"a":[1]}', "quoted": '"q"', "odd": "{not json"}
    pairs = [
        {"key": f"langfuse.observation.metadata.{key}", "value": {"stringValue": value}}
        for key, value in given.items()
    ]
    span = {"traceId": ROOT, "spanId": "a" * 16, "name": "n", "attributes": pairs}
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    assert sdk.post("otel/v1/traces", body).status == 200
    wanted = {"word": "v", "three": "3", "deep": {"a": [1]}, "quoted": "q", "odd": "{not json"}
    assert sdk.get("observations")["data"][0]["metadata"] == wanted
    assert sdk.get("v2/observations", fields="metadata")["data"][0]["metadata"] == wanted
    assert sdk.get(f"traces/{ROOT}")["metadata"] == wanted
