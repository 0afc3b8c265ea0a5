"""What unmodified SDKs put on the wire, replayed: every request is taken, and reads say it back."""

from typing import Any

import pytest

SDKS = [
    "python-2.60.10",
    "python-3.15.0",
    "python-3.15.0-update-trace",
    "python-4.18.0",
    "python-5.0.4",
    "python-5.0.4-extra",
    "js-3.39.2",
    "js-5.11.1",
]
# Requests that name what only the recording's server had, or another service.
ELSEWHERE = ("/blob/upload/", "/svc")
NOT_THERE = {
    ("GET", "/api/public/v2/prompts/nope"): 404,
    ("GET", "/api/public/traces/tid"): 404,
}
MADE_THERE = ("/api/public/dataset-run-items",)


@pytest.mark.parametrize("name", SDKS)
def test_every_request_is_taken(replay, name: str) -> None:
    for request, answer in replay(name):
        place = (request["method"], request["path"])
        if request["path"].startswith(ELSEWHERE + MADE_THERE):
            continue
        wanted = NOT_THERE.get(place)
        if wanted is not None:
            assert answer.status == wanted, place
            assert answer.json()["error"] == "LangfuseNotFoundError"
        else:
            assert answer.status < 300, (place, answer.status, answer.body)
        if request["path"].endswith("/ingestion"):
            assert answer.status == 207
            said = answer.json()
            assert all("'cfg-1'" in error["message"] for error in said["errors"]), said["errors"]
            assert len(said["successes"] + said["errors"]) == len(request["body"]["batch"])


def by_name(sdk, **query: Any) -> dict[str, dict[str, Any]]:
    found = sdk.get("observations", limit=1000, **query)["data"]
    return {observation["name"]: observation for observation in found}


@pytest.mark.parametrize("name", ["python-3.15.0", "python-4.18.0", "python-5.0.4"])
def test_a_decorated_call_is_read_back(replay, sdk, name: str) -> None:
    replay(name)
    retrieved = by_name(sdk, name="retr")["retr"]
    trace = sdk.get(f"traces/{retrieved['traceId']}")
    assert trace["name"] == "my-trace"
    assert (trace["userId"], trace["sessionId"], trace["tags"]) == ("user-1", "sess-1", ["a", "b"])
    assert (trace["environment"], trace["release"], trace["version"]) == ("staging", "v1.2.3", "9")
    assert trace["metadata"]["tier"] == "gold"  # whether the sender wrote it as JSON or not
    observations = {o["name"]: o for o in trace["observations"]}
    assert observations["retr"]["type"] == "RETRIEVER"
    assert observations["retr"]["output"] == ["doc1", "doc2"]
    assert observations["tool"]["level"] == "ERROR"
    assert observations["tool"]["statusMessage"] == "boom"
    assert observations["llm"]["type"] == "GENERATION"
    assert observations["llm"]["usageDetails"]["total"] > 0
    assert trace["htmlPath"] == f"/project/demo/traces/{trace['id']}"
    ids = {o["id"] for o in trace["observations"]}
    assert {o["parentObservationId"] for o in trace["observations"]} <= {None, *ids}
    assert "sess-1" in {session["id"] for session in sdk.get("sessions")["data"]}


def test_a_trace_updated_by_the_old_call(replay, sdk) -> None:
    [(request, _)] = replay("python-3.15.0-update-trace")
    [trace] = sdk.get("traces")["data"]
    sent = {
        pair["key"]: pair["value"].get("stringValue")
        for scope in request["body"]["resourceSpans"][0]["scopeSpans"]
        for span in scope["spans"]
        for pair in span["attributes"]
    }
    for key, field in (("langfuse.trace.input", "input"), ("langfuse.trace.output", "output")):
        if key in sent:
            assert str(trace[field]) in (sent[key], str(sent[key])) or trace[field] is not None
    assert trace["name"] == sent.get("langfuse.trace.name", trace["name"])


@pytest.mark.parametrize("name", ["js-3.39.2", "python-2.60.10"])
def test_pieces_out_of_order_come_together(replay, sdk, name: str) -> None:
    replay(name)
    [trace] = sdk.get("traces", name="t")["data"]
    assert (trace["userId"], trace["sessionId"], trace["tags"]) == ("u", "s", ["a"])
    assert trace["output"] == ("o" if name.startswith("js") else "out")
    assert "-" in trace["id"]  # the id is the sender's own
    full = sdk.get(f"traces/{trace['id']}")
    observations = {o["name"]: o for o in full["observations"]}
    assert observations.keys() == {"sp", "g", "e"}  # and none that stands for the trace
    assert observations["g"]["parentObservationId"] == observations["sp"]["id"]
    assert observations["sp"]["parentObservationId"] is None
    assert observations["g"]["output"] == "o"
    assert observations["g"]["endTime"] is not None
    assert observations["e"]["endTime"] is None
    assert observations["g"]["input"] == [{"role": "user", "content": "x"}]
    assert {score["name"] for score in full["scores"]} >= {"sc"}


def test_openais_usage_is_counted_once(replay, sdk) -> None:
    replay("python-2.60.10")
    [generation] = sdk.get("observations", name="OpenAI-generation")["data"]
    usage = generation["usageDetails"]
    assert (usage["input"], usage["input_cached_tokens"], usage["total"]) == (7, 4, 14)
    assert (usage["output"], usage["output_reasoning_tokens"]) == (2, 1)
    assert generation["usage"]["input"] == 11
    assert generation["modelParameters"]["max_tokens"] == "inf"


def test_a_recording_twice_changes_nothing(replay, sdk) -> None:
    for name in ("js-3.39.2", "python-5.0.4"):
        replay(name)
    before = sdk.get("observations", limit=1000)["data"], sdk.get("traces", limit=100)["data"]
    for name in ("js-3.39.2", "python-5.0.4"):
        replay(name)
    assert before == (
        sdk.get("observations", limit=1000)["data"],
        sdk.get("traces", limit=100)["data"],
    )


def test_another_key_reads_nothing_of_it(replay, sdk, foreign_sdk) -> None:
    replay("js-3.39.2")
    replay("python-5.0.4")
    [trace] = sdk.get("traces", name="t")["data"]
    for path in ("traces", "observations", "v2/observations", "sessions", "v2/prompts"):
        assert foreign_sdk.get(path)["data"] == [], path
    missing = foreign_sdk.send("GET", f"/api/public/traces/{trace['id']}")
    assert missing.status == 404
    gone = foreign_sdk.send("DELETE", f"/api/public/traces/{trace['id']}")
    assert gone.status == 404
    assert sdk.get(f"traces/{trace['id']}")["id"] == trace["id"]
