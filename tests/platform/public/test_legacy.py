"""Batches of events: any order, any cut, any number of times gives the same traces."""

import gzip
import json
import random
from datetime import timedelta
from typing import Any

import orjson
import pytest

from hone.accounts.models import Project
from hone.common import clock
from hone.traces import batches
from hone.traces.models import MaskRule
from hone.traces.selectors.query import fetch
from hone.traces.services.intake import intake_forget
from hone.traces.services.legacy_entities import entities_retain

AT = "2026-11-30T13:00:0{}.000Z"
TRACE, SPAN = "trace-of-mine", "7b0d5d5e-7a4c-4a0e-9d57-3a8b7d7f0001"


def event(type: str, second: int, entity: str | None = None, **body: Any) -> dict[str, Any]:
    """An event of 13:00 and `second`; its id tells type, time and entity."""
    identity = f"{type}-{second}-{entity}"
    given = body if entity is None else {"id": entity, **body}
    return {"id": identity, "type": type, "timestamp": AT.format(second), "body": given}


EVENTS = [
    event("trace-create", 0, TRACE, name="t", metadata={"a": {"x": 1}}, tags=["b"]),
    event("trace-create", 5, TRACE, output="out", metadata={"a": {"y": 2}}, tags=["a"]),
    event("generation-create", 1, SPAN, traceId=TRACE, name="g", input="in", model="m1"),
    event("generation-create", 1, SPAN, startTime=AT.format(1)),
    event("generation-update", 2, SPAN, output="o1", usage={"input": 1, "output": 2}),
    event("generation-update", 3, SPAN, output="o2", model=None, metadata={}, endTime=AT.format(4)),
    event("event-create", 2, "ev", traceId=TRACE, parentObservationId=SPAN, name="e"),
]


@pytest.fixture(autouse=True)
def _at_recording(at_recording: None) -> None:
    pass


def state(sdk) -> Any:
    return sdk.get(f"traces/{TRACE}"), sdk.get("traces")["meta"]["totalItems"]


def test_what_the_pieces_say_together(sdk) -> None:
    sdk.batch(*EVENTS)
    trace, number = state(sdk)
    assert (number, trace["id"], trace["name"], trace["output"]) == (1, TRACE, "t", "out")
    assert trace["metadata"] == {"a": {"x": 1, "y": 2}}
    assert trace["tags"] == ["a", "b"]
    generation, moment = sorted(trace["observations"], key=lambda o: o["name"], reverse=True)
    assert generation["id"] == SPAN
    assert generation["traceId"] == TRACE
    assert (generation["input"], generation["output"], generation["model"]) == ("in", "o2", "m1")
    assert generation["usageDetails"] == {"input": 1, "output": 2, "total": 3}
    assert (generation["startTime"], generation["endTime"]) == (AT.format(1), AT.format(4))
    assert generation["latency"] == 3.0
    assert (moment["id"], moment["parentObservationId"], moment["endTime"]) == ("ev", SPAN, None)


@pytest.mark.parametrize("seed", range(8))
def test_no_order_and_no_cut_matters(sdk, seed: int) -> None:
    sdk.batch(*EVENTS)
    wanted = state(sdk)
    for trace in sdk.get("traces")["data"]:
        sdk.send("DELETE", f"/api/public/traces/{trace['id']}")
    shuffled = random.Random(seed).sample(EVENTS * 2, 2 * len(EVENTS))
    cuts = random.Random(seed).randint(1, 4)
    for start in range(0, len(shuffled), cuts):
        sdk.batch(*shuffled[start : start + cuts])
    assert state(sdk) == wanted


def test_one_bad_event_hinders_no_other(sdk) -> None:
    good = event("span-create", 1, "s", traceId="t", name="s")
    bad = [
        {"id": "b0", "type": "nonsense", "timestamp": AT.format(1), "body": {}},
        {"id": "b1", "type": "span-create", "timestamp": "now", "body": {"id": "x"}},
        {"id": "b2", "type": "span-update", "timestamp": AT.format(1), "body": {}},
        {"id": "b3", "type": "span-create", "timestamp": AT.format(1), "body": [1]},
        {"id": "b4", "type": "score-create", "timestamp": AT.format(1), "body": {"name": "n"}},
        event("span-create", 1, "old", startTime="1999-01-01T00:00:00Z"),
        "nothing",
    ]
    answer = sdk.post("ingestion", {"batch": [*bad, good], "metadata": None})
    assert answer.status == 207
    said = answer.json()
    assert said["successes"] == [{"id": good["id"], "status": 201}]
    assert [error["id"] for error in said["errors"]] == [
        "b0",
        "b1",
        "b2",
        "b3",
        "b4",
        bad[5]["id"],
        "",
    ]
    assert all(error["status"] == 400 and error["message"] for error in said["errors"])
    assert [o["id"] for o in sdk.get("observations")["data"]] == ["s"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"batch": 3}', b"\xff"])
def test_what_is_no_batch_is_refused(sdk, body: bytes) -> None:
    answer = sdk.send("POST", "/api/public/ingestion", body=body)
    assert answer.status == 400
    assert answer.json().keys() >= {"message", "errors"}


def test_nobody_sends_without_a_key(sdk) -> None:
    sdk.headers = {}
    answer = sdk.post("ingestion", {"batch": []})
    assert answer.status == 401
    assert answer.json()["error"] == "UnauthorizedError"


def test_an_observation_without_trace_makes_one(sdk) -> None:
    sdk.batch(event("span-create", 1, "alone", name="s"))
    [trace] = sdk.get("traces")["data"]
    assert (trace["id"], trace["name"]) == ("alone", "s")
    assert trace["observations"] == ["alone"]


def test_logs_are_taken_and_dropped(sdk) -> None:
    assert sdk.batch(event("sdk-log", 1, log="x"))["successes"]
    assert sdk.get("traces")["data"] == []


def test_a_score_is_of_the_trace_by_its_own_id(sdk) -> None:
    sdk.batch(*EVENTS, event("score-create", 6, "sc", traceId=TRACE, name="n", value=0.5))
    [score] = sdk.get(f"traces/{TRACE}")["scores"]
    assert (score["id"], score["traceId"], score["value"]) == ("sc", TRACE, 0.5)


def test_a_trace_comes_back_after_its_deletion_only_if_sent_again(sdk) -> None:
    sdk.batch(*EVENTS)
    assert sdk.send("DELETE", f"/api/public/traces/{TRACE}").status == 200
    assert sdk.send("GET", f"/api/public/traces/{TRACE}").status == 404
    sdk.batch(EVENTS[0])
    assert sdk.get(f"traces/{TRACE}")["metadata"] == {"a": {"x": 1}}  # nothing of before


def test_projects_may_use_the_same_ids(sdk, foreign_sdk) -> None:
    sdk.batch(*EVENTS)
    foreign_sdk.batch(event("trace-create", 0, TRACE, name="theirs"))
    assert foreign_sdk.get(f"traces/{TRACE}")["observations"] == []
    assert sdk.get(f"traces/{TRACE}")["name"] == "t"


def test_secrets_are_kept_nowhere(sdk, project: Project) -> None:
    now = clock.now()
    fields = {"name": "card", "pattern": "4111[0-9]{12}", "replacement": "[card]", "position": 1}
    MaskRule.objects.create(project=project, key="k", created_at=now, updated_at=now, **fields)
    intake_forget()
    secret = "pay with 4111111111111111"
    sdk.batch(
        event("trace-create", 0, TRACE, input={"deep": [secret]}, metadata={"m": secret}),
        event("span-create", 1, "s", traceId=TRACE, output=secret, name=secret),
    )
    trace = sdk.get(f"traces/{TRACE}")
    assert trace["input"] == {"deep": ["pay with [card]"]}
    assert trace["observations"][0]["output"] == "pay with [card]"
    [(found,)] = fetch("SELECT count(*) FROM traces_legacy WHERE state LIKE '%%41111111%%'", [])
    assert found == 0
    intake_forget()


def test_what_is_old_is_forgotten(sdk, project: Project) -> None:
    sdk.batch(*EVENTS)
    assert entities_retain(clock.now()) == 0
    assert entities_retain(clock.now() + timedelta(seconds=1)) == 3
    assert fetch("SELECT count(*) FROM traces_legacy", []) == [(0,)]


def test_too_many_batches_are_told_to_come_again(sdk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_MAX_WAITING", 0)
    answer = sdk.post("ingestion", {"batch": EVENTS})
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert sdk.get("traces")["data"] == []


def test_metrics_are_taken_and_dropped(sdk) -> None:
    answer = sdk.send("POST", "/api/public/otel/v1/metrics", body=b"x")
    assert (answer.status, answer.json()) == (200, {})


def test_a_batch_may_be_compressed(sdk) -> None:
    body = gzip.compress(orjson.dumps({"batch": EVENTS}))
    answer = sdk.send("POST", "/api/public/ingestion", body=body, **{"content-encoding": "gzip"})
    assert answer.status == 207
    assert sdk.get(f"traces/{TRACE}")["name"] == "t"


@pytest.mark.parametrize("extra", ["\x00", "\ud800", "__proto__", "x" * 100_000])
def test_hostile_texts_are_kept_faithfully_or_refused(sdk, extra: str) -> None:
    span = event(
        "span-create", 1, "s", traceId="t", name=extra, input={extra: [extra]}, tags=[extra]
    )
    text = json.dumps({"batch": [span]}).encode()
    answer = sdk.send("POST", "/api/public/ingestion", body=text)
    assert answer.status in (207, 400)
    if answer.status == 207:
        [observation] = sdk.get("observations")["data"]
        kept = extra.replace("\x00", "\\u0000") if extra == "\x00" else extra
        assert observation["name"] == kept[:500]
