"""The same events from several senders at once, each in an order of its own: the same traces."""

import json
import random
import time
import urllib.error
import urllib.request
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
TRACES = [f"at-once-{number}" for number in range(6)]
STEPS = range(5)
SENDERS = 4
BATCH = 9
PATIENCE_S = 120.0


def moment(second: int, base: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(base + second)) + ".000Z"


def events(base: float) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def add(kind: str, second: int, entity: str, **body: Any) -> None:
        at = moment(second, base)
        identity = f"{entity} {kind} {second}"
        body = {"id": entity, **body}
        found.append({"id": identity, "type": kind, "timestamp": at, "body": body})

    for trace in TRACES:
        add("trace-create", 0, trace, name="at once", tags=["a"], metadata={"x": 1})
        add("trace-create", 9, trace, output="out", tags=["b"], metadata={"y": 2})
        for step in STEPS:
            name = f"{trace} {step}"
            start = moment(step, base)
            add("generation-create", step, name, traceId=trace, name=f"g{step}", startTime=start)
            usage = {"input": 3, "output": 2}
            add("generation-update", step + 1, name, traceId=trace, output="o", usage=usage)
            add("generation-update", step + 2, name, endTime=moment(step + 1, base))
    return found


def send(hone_server: Any, seed: int, found: list[dict[str, Any]]) -> None:
    """Send all events in batches; what is refused for now is sent again, as SDKs do."""
    pair = b64encode(f"{hone_server.public_key}:{hone_server.secret_key}".encode()).decode()
    shuffled = random.Random(seed).sample(found, len(found))
    deadline = time.monotonic() + PATIENCE_S
    for start in range(0, len(shuffled), BATCH):
        request = urllib.request.Request(
            f"{hone_server.url}/api/public/ingestion",
            json.dumps({"batch": shuffled[start : start + BATCH]}).encode(),
            {"Authorization": f"Basic {pair}", "Content-Type": "application/json"},
        )
        while True:
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    assert answer.status == 207
                    assert json.load(answer)["errors"] == []
                break
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503) or time.monotonic() > deadline:
                    raise
                time.sleep(float(error.headers["Retry-After"]))


def test_the_same_events_at_once_from_many(hone_server: Any) -> None:
    base = float(int(time.time()) - 600)
    found = events(base)
    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(lambda seed: send(hone_server, seed, found), range(SENDERS)))
    for trace in TRACES:
        status, body = hone_server.get(f"/api/public/traces/{trace}")
        assert status == 200, body
        assert (body["output"], body["tags"], body["metadata"]) == (
            "out",
            ["a", "b"],
            {"x": 1, "y": 2},
        )
        steps = sorted(body["observations"], key=lambda o: o["name"])
        assert [o["name"] for o in steps] == [f"g{step}" for step in STEPS]
        assert [o["endTime"] for o in steps] == [moment(step + 1, base) for step in STEPS]
        assert {(o["output"], o["usageDetails"]["total"]) for o in steps} == {("o", 5)}
    status, listed = hone_server.get("/api/projects/demo/traces?name=at%20once")
    counts = {(row["observation_count"], row["total_tokens"]) for row in listed["data"]}
    assert (status, counts) == (200, {(len(STEPS) + 1, 5 * len(STEPS))})
