"""Batch runs: what may be asked, and that each input is answered exactly once."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest

from hone.accounts.models import Project
from hone.common import clock
from hone.common.jobs import JobState
from hone.gateway.models import BatchItem, BatchRun
from hone.gateway.services import engines, runs
from hone.gateway.services.runs import ItemResult

pytestmark = pytest.mark.django_db
PATH = "/api/projects/demo/runs"
Traced = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def local_model(project: Project) -> str:
    engines.engine_beat(owner="host:1", base_url="http://127.0.0.1:9/v1", model="small", info={})
    return "small"


def body(num_inputs: int = 3, **more: Any) -> dict[str, Any]:
    return {
        "name": "trial",
        "prompt": {"name": "greet", "label": "production"},
        "model": "small",
        "parameters": {"temperature": 0},
        "inputs": [{"name": f"n{number}"} for number in range(num_inputs)],
        **more,
    }


@pytest.fixture
def run(project: Project, greeting: None, local_model: str) -> BatchRun:
    return runs.run_create(project=project, author="Alice", **body())


def claimed(owner: str = "w:1", limit: int = 10) -> list[BatchItem]:
    return runs.items_claim(owner=owner, models=["small"], limit=limit)


def result(item: BatchItem, output: str | None = "hello", error: str | None = None) -> ItemResult:
    now = clock.now_ns()
    messages = [{"role": "system", "content": "Greet."}]
    return ItemResult(item, now, now, input=messages, output=output, error=error)


def test_bob_starts_a_run_and_sees_how_it_stands(
    as_bob: Any, greeting: None, local_model: str
) -> None:
    answer = as_bob.post(PATH, body())
    assert answer.status_code == 202
    made = answer.json()
    assert (made["state"], made["total"], made["done"]) == ("queued", 3, 0)
    assert made["prompt"] == {"name": "greet", "version": 1}
    assert made["parameters"] == {"temperature": 0, "max_tokens": 7}
    assert made["author"] == "Bob"
    assert as_bob.get(f"{PATH}/{made['id']}").json() == made
    assert as_bob.get(PATH).json()["data"] == [made]
    items = as_bob.get(f"{PATH}/{made['id']}/items").json()["data"]
    assert [item["variables"] for item in items] == body()["inputs"]
    assert {item["state"] for item in items} == {"queued"}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": {"name": "greet"}}, "prompt"),
        ({"prompt": {"name": "greet", "version": True}}, "prompt"),
        ({"model": "nobody"}, "model"),
        ({"model": 3}, "model"),
        ({"parameters": {"stream": True}}, "parameters"),
        ({"parameters": []}, "parameters"),
        ({"inputs": []}, "inputs"),
        ({"inputs": [{}]}, "inputs"),
        ({"inputs": ["x"]}, "inputs"),
        ({"inputs": [{"name": []}]}, "inputs"),
        ({"name": 3}, "name"),
        ({"extra": 1}, "extra"),
    ],
)
def test_what_is_wrong_is_named(
    as_bob: Any, greeting: None, local_model: str, wrong: dict[str, Any], field: str
) -> None:
    answer = as_bob.post(PATH, body(**wrong))
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field
    assert not BatchRun.objects.exists()


def test_a_prompt_that_is_not_there_is_not_found(as_bob: Any, local_model: str) -> None:
    assert as_bob.post(PATH, body()).status_code == 404


def test_charlie_is_refused_everywhere(as_charlie: Any, run: BatchRun) -> None:
    assert as_charlie.get(PATH).status_code == 404
    assert as_charlie.post(PATH, body()).status_code == 404
    assert as_charlie.get(f"{PATH}/{run.pk}").status_code == 404
    assert as_charlie.get(f"{PATH}/{run.pk}/items").status_code == 404
    assert as_charlie.post(f"{PATH}/{run.pk}/cancel").status_code == 404
    outside = f"/api/projects/elsewhere/runs/{run.pk}"
    assert as_charlie.get(outside).status_code == 404


def test_an_answered_item_has_its_output_and_its_trace(
    as_bob: Any, run: BatchRun, traced: Traced
) -> None:
    item = claimed(limit=1)[0]
    assert runs.items_finish(owner="w:1", results=[result(item)]) == 1
    told = as_bob.get(f"{PATH}/{run.pk}/items").json()["data"][0]
    assert (told["state"], told["output"], told["attempt"]) == ("done", "hello", 1)
    root, generation = traced()
    assert root["trace"] == told["trace_id"]
    assert (root["name"], root["trace_name"]) == ("batch item", "trial")
    assert orjson.loads(generation["output"]) == {"role": "assistant", "content": "hello"}
    assert (generation["prompt_name"], generation["model"]) == ("greet", "small")
    assert as_bob.get(f"{PATH}/{run.pk}").json()["done"] == 1


def test_items_of_one_state_are_listed(as_bob: Any, run: BatchRun) -> None:
    first, second, _ = claimed()
    runs.items_finish(owner="w:1", results=[result(first), result(second, None, "no")])
    path = f"{PATH}/{run.pk}/items"
    failed = as_bob.get(f"{path}?state=failed").json()["data"]
    assert [(item["index"], item["error"]) for item in failed] == [(1, "no")]
    some = as_bob.get(f"{path}?state=done,running").json()["data"]
    assert [item["index"] for item in some] == [0, 2]
    assert as_bob.get(f"{path}?state=lost").status_code == 400


def test_a_run_ends_when_its_items_have(run: BatchRun) -> None:
    items = claimed()
    run.refresh_from_db()
    assert run.state == JobState.RUNNING
    runs.items_finish(owner="w:1", results=[result(item) for item in items[:2]])
    runs.items_finish(owner="w:1", results=[result(items[2], None, "too long")])
    run.refresh_from_db()
    assert (run.state, run.done, run.failed) == (JobState.DONE, 2, 1)
    assert run.finished_at is not None


def test_a_run_of_failures_has_failed(run: BatchRun, traced: Traced) -> None:
    runs.items_finish(owner="w:1", results=[result(item, None, "no") for item in claimed()])
    run.refresh_from_db()
    assert run.state == JobState.FAILED
    assert {row["status"] for row in traced()} == {"error"}


def test_two_workers_never_get_the_same_item(run: BatchRun) -> None:
    first, second = claimed("w:1", 2), claimed("w:2", 2)
    assert [item.index for item in first] == [0, 1]
    assert [item.index for item in second] == [2]


def test_a_model_that_is_not_hosted_here_is_left_alone(run: BatchRun) -> None:
    assert runs.items_claim(owner="w:1", models=["other"], limit=10) == []


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now: datetime = clock.now() + timedelta(seconds=seconds)
    monkeypatch.setattr(clock, "now", lambda: now)


def test_an_item_of_a_dead_worker_is_answered_once_by_the_next(
    run: BatchRun, monkeypatch: pytest.MonkeyPatch, traced: Traced
) -> None:
    lost = claimed("dead:1")
    later(monkeypatch, runs.lease().total_seconds() + 1)
    runs.items_sweep()
    again = claimed("w:2")
    assert [item.attempt for item in again] == [2, 2, 2]
    assert runs.items_finish(owner="w:2", results=[result(item) for item in again]) == 3
    late = [result(item, "late") for item in lost]
    assert runs.items_finish(owner="dead:1", results=late) == 0
    assert set(BatchItem.objects.values_list("output", flat=True)) == {"hello"}
    traces = [row["trace"] for row in traced() if row["name"] == "batch item"]
    assert len(traces) == len(set(traces)) == 3


def test_a_lease_that_is_renewed_is_kept(run: BatchRun, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [item.pk for item in claimed()]
    later(monkeypatch, runs.lease().total_seconds() - 1)
    assert runs.items_renew(owner="w:1", ids=ids) == set(ids)
    later(monkeypatch, 5)
    runs.items_sweep()
    assert claimed("w:2") == []


def test_what_a_dead_process_of_this_host_held_is_free_at_once(
    run: BatchRun, dead_owner: str
) -> None:
    claimed(dead_owner)
    assert runs.leases_of_the_dead_release() == 3
    runs.items_sweep()
    assert len(claimed("w:2")) == 3


def test_an_item_that_kills_every_worker_fails_with_a_trace(
    run: BatchRun, monkeypatch: pytest.MonkeyPatch, traced: Traced
) -> None:
    for _ in range(runs.MAX_ATTEMPTS):
        claimed()
        later(monkeypatch, runs.lease().total_seconds() + 1)
        runs.items_sweep()
    run.refresh_from_db()
    assert (run.state, run.failed) == (JobState.FAILED, 3)
    assert {row["status_message"] for row in traced()} == {runs.GAVE_UP}


def test_items_given_back_count_no_attempt(run: BatchRun) -> None:
    runs.items_give_back(owner="w:1", ids=[item.pk for item in claimed()])
    assert {item.attempt for item in claimed()} == {1}


def test_a_canceled_run_stops_and_keeps_what_is_answered(
    as_bob: Any, run: BatchRun, traced: Traced
) -> None:
    first, second, _ = claimed()
    runs.items_finish(owner="w:1", results=[result(first)])
    answer = as_bob.post(f"{PATH}/{run.pk}/cancel").json()
    assert (answer["state"], answer["done"]) == ("canceled", 1)
    assert runs.items_renew(owner="w:1", ids=[second.pk]) == set()
    assert runs.items_finish(owner="w:1", results=[result(second)]) == 0
    assert claimed() == []
    assert len({row["trace"] for row in traced()}) == 1
    assert as_bob.post(f"{PATH}/{run.pk}/cancel").json()["state"] == "canceled"
