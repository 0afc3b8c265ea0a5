"""Runs: told item by item through the API, or by the attributes of spans; both are one."""

from hashlib import sha256
from typing import Any

import pytest

from hone.evals.core.experiment import noted, run_key
from hone.evals.models import DatasetRun, DatasetRunItem
from hone.evals.services.items import item_upsert
from hone.traces.core.scores import ScoreWrite
from hone.traces.services.scores import scores_upsert

TRACES = [f"{number:032x}" for number in range(1, 6)]
ROOT, TASK = "a" * 16, "b" * 16
SINCE = "fromStartTime=2020-01-01T00:00:00Z"


def told(run: str, item: str, root: str = TASK, **more: str) -> dict[str, str]:
    """The attributes that an SDK puts on each span of an execution."""
    facts = {"id": run, "name": "run 1", "item.id": item, "item.root_observation_id": root, **more}
    return {f"langfuse.experiment.{name}": value for name, value in facts.items()}


def test_clients_and_server_work_out_the_same_key() -> None:
    text = '["langfuse-experiment-v1","demo","ds-ü","run \\"1\\""]'
    assert run_key("demo", "ds-ü", 'run "1"') == sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("attributes", [{}, told("", "i"), told("r", ""), told("r" * 2001, "i")])
def test_a_span_that_names_no_execution_is_passed_over(attributes) -> None:
    assert noted(attributes) is None


def test_no_text_of_a_span_keeps_its_batch_from_being_stored(make_span, public) -> None:
    wild = "".join(chr(0x1F300 + number % 700) for number in range(800))  # 3200 bytes, no pattern
    facts = {"name": wild * 9, "dataset.id": wild, "metadata": wild, "item.metadata": "[" * 999}
    make_span(
        TRACES[0], TASK, told("exp", "it", **facts, **{"item.version": "0001-01-01T00:00+14:00"})
    )
    make_span(TRACES[1], TASK, told(wild, "it"))
    make_span(TRACES[2], TASK, told("exp", wild))
    (found,) = public("GET", f"/experiments?{SINCE}&fields=metadata").json()["data"]
    assert (found["itemCount"], found["datasetId"]) == (1, None)
    assert found["metadata"] == {"value": wild}


def test_metadata_that_is_no_json_is_kept_as_text() -> None:
    note = noted(told("r", "i", metadata="not json", **{"item.version": "nonsense"}))
    assert note is not None
    assert (note.run_metadata, note.item_version) == ('"not json"', None)


def test_a_run_is_told_item_by_item(public, dataset, make_span) -> None:
    for key in ("i1", "i2"):
        item_upsert(dataset=dataset, key=key, input=key)
    body = {"runName": "run 1", "runDescription": "d", "metadata": {"m": 1}, "observationId": None}
    first = public(
        "POST", "/dataset-run-items", {**body, "datasetItemId": "i1", "traceId": TRACES[0]}
    )
    again = public(
        "POST", "/dataset-run-items", {**body, "datasetItemId": "i1", "traceId": TRACES[0]}
    )
    other = {**body, "datasetItemId": "i2", "traceId": TRACES[1], "runDescription": None}
    public("POST", "/dataset-run-items", other)
    assert first.json() == again.json()
    assert first.json()["datasetRunId"] == run_key("demo", dataset.key, "run 1")
    run = public("GET", "/datasets/qa%2Fcapitals/runs/run%201").json()
    assert (run["description"], run["metadata"], run["datasetId"]) == ("d", {"m": 1}, dataset.key)
    assert [row["datasetItemId"] for row in run["datasetRunItems"]] == ["i1", "i2"]
    assert public("GET", "/datasets/qa/capitals/runs").json()["meta"]["totalItems"] == 1
    listed = public("GET", f"/dataset-run-items?datasetId={dataset.key}&runName=run 1").json()
    assert listed["meta"]["totalItems"] == 2
    missing = {**body, "datasetItemId": "none", "traceId": TRACES[0]}
    assert public("POST", "/dataset-run-items", missing).status_code == 404
    missing = {**body, "datasetItemId": "i1", "traceId": None}
    assert public("POST", "/dataset-run-items", missing).status_code == 400
    assert public("DELETE", "/datasets/qa/capitals/runs/run%201").status_code == 200
    assert (DatasetRun.objects.count(), DatasetRunItem.objects.count()) == (0, 0)


def test_spans_and_calls_make_one_run(public, dataset, make_span) -> None:
    item_upsert(dataset=dataset, key="i1", input="x", expected_output="E", metadata={"k": 1})
    call = {"runName": "run 1", "datasetItemId": "i1", "traceId": TRACES[0], "observationId": TASK}
    run = public("POST", "/dataset-run-items", call).json()["datasetRunId"]
    facts = told(run, "i1", **{"dataset.id": dataset.key, "metadata": '{"m": "gpt"}'})
    make_span(TRACES[0], ROOT, facts)
    make_span(TRACES[0], TASK, facts, parent_span_id=ROOT, input="in", output='{"a":1}')
    make_span(TRACES[0], TASK, facts, parent_span_id=ROOT, input="in", output='{"a":1}')
    assert (DatasetRun.objects.count(), DatasetRunItem.objects.count()) == (1, 1)
    (found,) = public("GET", f"/experiments?{SINCE}&fields=metadata,scores").json()["data"]
    assert (found["id"], found["name"], found["itemCount"]) == (run, "run 1", 1)
    assert (found["metadata"], found["datasetId"], found["scores"]) == (
        {"m": "gpt"},
        dataset.key,
        [],
    )
    query = f"/experiment-items?{SINCE}&experimentName=run 1&fields=io,metadata,itemMetadata,scores"
    (item,) = public("GET", query).json()["data"]
    assert (item["id"], item["traceId"], item["experimentItemId"]) == (TASK, TRACES[0], "i1")
    assert (item["input"], item["output"], item["expectedOutput"]) == ("in", '{"a":1}', "E")
    assert (item["experimentItemMetadata"], item["level"], item["scores"]) == (
        {"k": 1},
        "DEFAULT",
        [],
    )


def test_local_data_makes_a_run_of_spans_alone_and_keeps_repeats(public, make_span) -> None:
    for trace_id in TRACES[:3]:
        facts = told("exp", "it", **{"item.expected_output": '"E"', "item.metadata": '{"d": 1}'})
        make_span(trace_id, TASK, facts, output=trace_id[-1])
    make_span(TRACES[3], TASK, told("exp", "other"))
    (found,) = public("GET", f"/experiments?{SINCE}").json()["data"]
    assert (found["itemCount"], found["datasetId"]) == (2, None)
    assert found["startTime"] < found["endTime"]
    query = f"/experiment-items?{SINCE}&experimentId=exp&fields=io,itemMetadata&limit=3"
    page = public("GET", query).json()
    rest = public("GET", f"{query}&cursor={page['meta']['cursor']}").json()
    rows = [*page["data"], *rest["data"]]
    assert "cursor" not in rest["meta"]
    assert len({row["traceId"] for row in rows}) == 4
    mine = [row for row in rows if row["experimentItemId"] == "it"]
    assert {row["output"] for row in mine} == {"1", "2", "3"}
    assert {row["expectedOutput"] for row in mine} == {"E"}


@pytest.mark.parametrize(
    "query",
    [
        "/experiments",
        "/experiment-items",
        f"/experiments?{SINCE}&fields=all",
        "/experiments?fromStartTime=x",
    ],
)
def test_a_read_without_its_bounds_is_refused(public, query) -> None:
    assert public("GET", query).status_code == 400


def score(public: Any, **body: Any) -> None:
    assert public("POST", "/scores", {"name": "exact", "value": 1.0, **body}).status_code == 200


def test_runs_are_compared_item_by_item(as_alice, as_charlie, public, dataset, make_span) -> None:
    for key in ("i1", "i2"):
        item_upsert(dataset=dataset, key=key, input=f"question {key}")
    keys = [run_key("demo", dataset.key, name) for name in ("run 1", "run 2")]
    for number, (run, item) in enumerate([(0, "i1"), (0, "i2"), (1, "i1"), (1, "i1")]):
        facts = told(keys[run], item, **{"name": f"run {run + 1}", "dataset.id": dataset.key})
        make_span(TRACES[number], TASK, facts, output=f"answer {number}")
        score(public, traceId=TRACES[number], observationId=TASK, value=number / 4)
    score(public, traceId=TRACES[0], observationId=ROOT)  # of another observation
    score(public, datasetRunId=keys[0], name="avg", value=0.5)
    path = f"/api/projects/demo/datasets/{dataset.key}"
    runs = {row["id"]: row for row in as_alice.get(f"{path}/runs").json()["data"]}
    first = runs[keys[0]]
    assert (first["item_count"], first["execution_count"], first["duration_ms"]) == (2, 2, 250)
    assert first["cost"] is None
    assert [(s["name"], s["count"], s["mean"]) for s in first["scores"]] == [("exact", 2, 0.125)]
    assert [(s["name"], s["mean"]) for s in first["run_scores"]] == [("avg", 0.5)]
    table = as_alice.get(f"{path}/comparison?runs={','.join(keys)}").json()["data"]
    assert [row["item"]["id"] for row in table] == ["i2", "i1"]
    assert [len(column["executions"]) for column in table[1]["runs"]] == [1, 2]
    assert table[1]["runs"][0]["executions"][0]["output"] == "answer 0"
    assert table[0]["runs"][1]["executions"] == []
    assert as_alice.get(f"{path}/comparison?runs=none").status_code == 404
    assert as_alice.get(f"{path}/comparison").status_code == 400
    assert as_charlie.get(f"{path}/comparison?runs={keys[0]}").status_code == 404
    assert as_alice.delete(f"{path}/runs/{keys[0]}").status_code == 204
    assert len(as_alice.get(f"{path}/runs").json()["data"]) == 1


def test_experiments_of_every_kind_are_listed(as_alice, as_charlie, dataset, make_span) -> None:
    of_dataset = run_key("demo", dataset.key, "run 1")
    make_span(TRACES[0], TASK, told(of_dataset, "i1", **{"dataset.id": dataset.key}), output="a")
    facts = told("local", "it", **{"item.expected_output": '"E"'})
    make_span(TRACES[1], TASK, facts, input="in", output="b")
    path = "/api/projects/demo/experiments"
    found = {row["id"]: row for row in as_alice.get(path).json()["data"]}
    assert found[of_dataset]["dataset"] == {"id": dataset.key, "name": dataset.name}
    assert found["local"]["dataset"] is None
    assert as_alice.get(f"{path}/local").json() == found["local"]
    (item,) = as_alice.get(f"{path}/local/items").json()["data"]
    assert (item["item_id"], item["input"], item["expected_output"]) == ("it", "in", "E")
    assert item["execution"]["output"] == "b"
    assert as_alice.get(f"{path}/none").status_code == 404
    assert as_charlie.get(f"{path}/local/items").status_code == 404


def test_another_projects_key_sees_no_experiment(public, make_span, foreign_key) -> None:
    make_span(TRACES[0], TASK, told("exp", "it"))
    for path in ("/experiments", "/experiment-items"):
        assert public("GET", f"{path}?{SINCE}", key=foreign_key).json()["data"] == []


def test_an_execution_whose_trace_has_not_come_is_shown_without_it(
    public, dataset, project
) -> None:
    item_upsert(dataset=dataset, key="i1", input="x")
    call = {"runName": "r", "datasetItemId": "i1", "traceId": "some-uuid", "observationId": None}
    assert public("POST", "/dataset-run-items", call).status_code == 200
    scores_upsert(
        project_id=project.pk, writes=[ScoreWrite(name="q", value=1, trace_id="some-uuid")]
    )
    (item,) = public("GET", f"/experiment-items?{SINCE}&fields=io,scores").json()["data"]
    assert (item["output"], item["endTime"], len(item["scores"])) == (None, None, 1)
