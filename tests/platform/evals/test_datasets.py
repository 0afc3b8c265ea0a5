"""Datasets and their items: names, versions, schemas, the public API, access."""

from datetime import timedelta
from typing import Any

import pytest

from hone.common import clock
from hone.evals.models import Dataset, DatasetItem
from hone.evals.services.items import item_upsert
from hone.traces.models import Media

DATASETS = "/api/projects/demo/datasets"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_dataset_is_made_and_changed_by_name(public) -> None:
    body = {"name": "a folder/my ds", "description": "d", "metadata": {"z": 1, "a": 2}}
    made = public("POST", "/v2/datasets", body).json()
    assert (made["projectId"], made["description"]) == ("demo", "d")
    assert list(made["metadata"]) == ["z", "a"]
    again = public("POST", "/v2/datasets", {"name": body["name"], "description": None}).json()
    assert (again["id"], again["description"]) == (made["id"], "d")
    for path in ("a%20folder%2Fmy%20ds", "a%20folder/my%20ds"):
        assert public("GET", f"/v2/datasets/{path}").json()["id"] == made["id"]
    # Python's SDK 2 escapes the name in a query twice.
    twice = "/dataset-items?datasetName=a%2520folder%252Fmy%2520ds"
    assert public("GET", twice).json()["data"] == []
    listed = public("GET", "/v2/datasets?page=1&limit=10").json()
    assert listed["meta"] == {"page": 1, "limit": 10, "totalItems": 1, "totalPages": 1}
    assert public("GET", "/v2/datasets/none").json()["error"] == "LangfuseNotFoundError"


@pytest.mark.parametrize("name", ["", "a//b", " a", "a/", "../a", "x" * 256, "a\nb"])
def test_a_name_that_leads_nowhere_is_refused(public, name) -> None:
    assert public("POST", "/v2/datasets", {"name": name}).status_code == 400


def test_an_item_is_written_and_read_as_sdks_do(public, dataset) -> None:
    nulls = {"metadata": None, "sourceTraceId": None, "sourceObservationId": None, "status": None}
    body = {"datasetName": dataset.name, "input": {"q": "b", "a": 1}, **nulls}
    first = public("POST", "/dataset-items", {**body, "id": "it/1", "expectedOutput": "A"}).json()
    assert (first["id"], first["status"], first["mediaReferences"]) == ("it/1", "ACTIVE", [])
    assert list(first["input"]) == ["q", "a"]
    assert first["metadata"] is None
    public("POST", "/dataset-items", {**body, "id": None, "input": "text"})
    query = "/dataset-items?datasetName=qa/capitals&page=1&limit=50"
    rows = public("GET", query).json()
    assert (rows["meta"]["totalPages"], len(rows["data"])) == (1, 2)
    changed = public("POST", "/dataset-items", {**body, "id": "it/1", "status": "ARCHIVED"}).json()
    assert (changed["status"], changed["expectedOutput"]) == ("ARCHIVED", "A")
    assert changed["createdAt"] == first["createdAt"]
    assert public("GET", "/dataset-items/it%2F1").json()["status"] == "ARCHIVED"
    assert public("DELETE", "/dataset-items/it%2F1").status_code == 200
    assert public("GET", "/dataset-items/it%2F1").status_code == 404
    assert not DatasetItem.objects.filter(key="it/1").exists()


def test_items_are_read_as_they_were(public, dataset, monkeypatch) -> None:
    start = clock.now()
    for minute, text in enumerate(["one", "two"]):
        monkeypatch.setattr(clock, "now", lambda at=start + timedelta(minutes=minute): at)
        item_upsert(dataset=dataset, key="i", input=text)
        item_upsert(dataset=dataset, key="i", input=text)  # nothing changed: no version
    assert DatasetItem.objects.count() == 2

    def at(seconds: int) -> list[Any]:
        moment = (start + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
        rows = public("GET", f"/dataset-items?datasetName=qa/capitals&version={moment}").json()
        return [row["input"] for row in rows["data"]]

    assert (at(-1), at(30), at(90)) == ([], ["one"], ["two"])


def test_an_item_stays_in_its_dataset(public, dataset, project) -> None:
    public("POST", "/v2/datasets", {"name": "other"})
    public("POST", "/dataset-items", {"datasetName": dataset.name, "id": "i", "input": 1})
    moved = public("POST", "/dataset-items", {"datasetName": "other", "id": "i", "input": 2})
    assert moved.status_code == 400
    assert public("GET", "/dataset-items/i").json()["input"] == 1


def test_a_schema_refuses_what_it_does_not_fit(public) -> None:
    schema = {"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}}
    body = {"name": "strict", "inputSchema": schema, "expectedOutputSchema": {"type": "string"}}
    assert public("POST", "/v2/datasets", body).status_code == 200

    def status(**fields: Any) -> int:
        return int(
            public("POST", "/dataset-items", {"datasetName": "strict", **fields}).status_code
        )

    assert status(input={"q": "x"}, expectedOutput="y") == 200
    assert status(input={"q": 1}) == status(input="x") == status() == 400
    assert status(input={"q": "x"}, expectedOutput=1) == 400
    for bad in ({"type": "wish"}, [1], {"type": "object", "x": "y" * 100_001}):
        assert public("POST", "/v2/datasets", {"name": "b", "inputSchema": bad}).status_code == 400
    outside = {"$ref": "http://127.0.0.1:9/schema.json"}
    assert (
        public("POST", "/v2/datasets", {"name": "out", "inputSchema": outside}).status_code == 200
    )
    answer = public("POST", "/dataset-items", {"datasetName": "out", "input": 1})
    assert (answer.status_code, "not read" in answer.json()["message"]) == (400, True)


def test_files_in_an_item_are_told_and_kept(public, dataset, project) -> None:
    media = Media.objects.create(
        project=project,
        key="k" * 22,
        sha256=b"x" * 32,
        content_type="image/png",
        num_bytes=3,
        created_at=clock.now(),
        uploaded_at=clock.now(),
    )
    token = f"@@@langfuseMedia:type=image/png|id={media.key}|source=bytes@@@"
    body = {"datasetName": dataset.name, "id": "i", "input": {"parts": [token]}}
    (reference,) = public("POST", "/dataset-items", body).json()["mediaReferences"]
    assert (reference["field"], reference["jsonPath"]) == ("input", "$.parts[0]")
    assert reference["referenceString"] == token
    assert reference["media"]["url"].startswith("http://testserver/api/public/media-content/")
    public("DELETE", "/dataset-items/i")
    assert not Media.objects.exists()


def test_another_projects_key_finds_nothing(public, dataset, foreign_key) -> None:
    public("POST", "/dataset-items", {"datasetName": dataset.name, "id": "i", "input": 1})
    for path in ("/v2/datasets/qa/capitals", "/dataset-items/i", "/datasets/qa/capitals/runs"):
        assert public("GET", path, key=foreign_key).status_code == 404
    for path in ("/v2/datasets", "/dataset-items"):
        assert public("GET", path, key=foreign_key).json()["data"] == []
    assert public("DELETE", "/dataset-items/i", key=foreign_key).status_code == 404
    theirs = {"datasetName": dataset.name, "id": "i", "input": 2}
    assert public("POST", "/dataset-items", theirs, key=foreign_key).status_code == 404
    # The same names in another project are other things.
    assert (
        public("POST", "/v2/datasets", {"name": dataset.name}, key=foreign_key).status_code == 200
    )
    assert public("POST", "/dataset-items", theirs, key=foreign_key).json()["input"] == 2
    assert public("GET", "/dataset-items/i").json()["input"] == 1


def test_people_make_a_dataset_of_what_they_see(as_alice, as_bob, as_charlie) -> None:
    made = as_bob.post(DATASETS, {"name": "qa/new"}).json()
    assert as_bob.post(DATASETS, {"name": "qa/new"}).status_code == 409
    path = f"{DATASETS}/{made['id']}"
    item = as_bob.post(
        f"{path}/items",
        {"input": {"q": 1}, "source_trace_id": TRACE, "source_observation_id": SPAN},
    ).json()
    assert (item["source_trace_id"], item["source_observation_id"]) == (TRACE, SPAN)
    one = f"{path}/items/{item['id']}"
    assert as_alice.patch(one, {"expected_output": "A"}).json()["input"] == {"q": 1}
    assert as_alice.get(f"{path}/items?q=A").json()["data"][0]["expected_output"] == "A"
    assert as_alice.get(f"{path}/items?status=ARCHIVED").json()["data"] == []
    assert as_charlie.get(one).status_code == as_charlie.delete(path).status_code == 404
    listed = as_alice.get(f"{DATASETS}?folder=qa").json()["data"]
    assert [(row["name"], row["item_count"]) for row in listed] == [("qa/new", 1)]
    renamed = as_alice.patch(path, {"name": "qb/new", "description": "x"}).json()
    assert (renamed["name"], renamed["id"]) == ("qb/new", made["id"])
    assert as_alice.delete(one).status_code == 204
    assert as_alice.delete(path).status_code == 204
    assert not Dataset.objects.exists()
