"""Protected labels, the archive, copies, search, and what is declared of variables."""

from typing import Any

import pytest

PROMPTS = "/api/projects/demo/prompts"
LABELS = "/api/projects/demo/prompt-labels"
PUBLIC = "/api/public/v2/prompts"
GREET = f"{PROMPTS}/greet"


@pytest.fixture
def greet(as_bob: Any) -> None:
    """Two versions; production is the first."""
    body = {"name": "greet", "type": "text", "prompt": "Hi {{who}}", "labels": ["production"]}
    assert as_bob.post(PROMPTS, {**body, "tags": ["warm"]}).status_code == 201
    assert as_bob.post(f"{GREET}/versions", {"prompt": "Hello {{who}}"}).status_code == 201


@pytest.fixture
def protected(as_alice: Any, greet: None) -> None:
    answer = as_alice.put(LABELS, {"protected": ["production"]})
    assert answer.status_code == 200
    uses = {
        use["name"]: (use["is_protected"], use["num_prompts"]) for use in answer.json()["labels"]
    }
    assert uses == {"latest": (False, 1), "production": (True, 1)}


def test_only_admins_move_a_protected_label(
    as_alice: Any, as_bob: Any, as_key: Any, protected: None
) -> None:
    arms = [{"version": 1, "weight": 1}, {"version": 2, "weight": 1}]
    attempts = [
        ("PUT", f"{GREET}/labels/production", {"version": 2}),
        ("DELETE", f"{GREET}/labels/production", {}),
        ("PUT", f"{GREET}/labels/production/split", {"arms": arms}),
        ("POST", f"{GREET}/versions", {"prompt": "x", "labels": ["production"]}),
        ("POST", PROMPTS, {"name": "n", "type": "text", "prompt": "x", "labels": ["production"]}),
        ("DELETE", GREET, {}),
    ]
    for api in (as_bob, as_key):
        for method, path, body in attempts:
            assert api.generic(method, path, body).status_code == 403, (method, path)
        assert api.put(f"{GREET}/labels/staging", {"version": 2}).status_code == 200
    row = as_bob.get(GREET).json()
    assert row["labels"] == {"latest": 2, "production": 1, "staging": 2}
    assert as_bob.get(f"{PROMPTS}/n").status_code == 404
    assert as_alice.put(f"{GREET}/labels/production", {"version": 2}).status_code == 200
    assert as_alice.put(f"{GREET}/labels/production/split", {"arms": arms}).status_code == 200


def test_the_public_api_counts_a_key_as_a_member(as_key: Any, protected: None) -> None:
    body = {"name": "greet", "prompt": "x", "labels": ["production"]}
    refused = as_key.post(PUBLIC, body)
    assert refused.status_code == 403
    assert "protected" in refused.json()["message"]
    moved = as_key.patch(f"{PUBLIC}/greet/versions/2", {"newLabels": ["production"]})
    assert moved.status_code == 403
    assert as_key.delete(f"{PUBLIC}/greet?version=1").status_code == 403
    assert as_key.delete(f"{PUBLIC}/greet?version=2").status_code == 204
    assert as_key.post(PUBLIC, {**body, "labels": ["staging"]}).status_code == 201


def test_who_may_protect(
    as_bob: Any, as_key: Any, as_charlie: Any, as_alice: Any, greet: None
) -> None:
    for api, status in ((as_bob, 403), (as_key, 403), (as_charlie, 404)):
        assert api.put(LABELS, {"protected": []}).status_code == status
    assert as_charlie.get(LABELS).status_code == 404
    assert as_bob.get(LABELS).status_code == 200
    for bad in ("latest", "Not a label", "7"):
        assert as_alice.put(LABELS, {"protected": [bad]}).status_code == 400
    as_alice.put(LABELS, {"protected": ["production"]})
    as_alice.put(LABELS, {"protected": []})
    assert as_bob.put(f"{GREET}/labels/production", {"version": 2}).status_code == 200


def test_an_archived_prompt_is_served_and_not_written(
    as_bob: Any, as_key: Any, greet: None
) -> None:
    assert as_bob.patch(GREET, {"archived": True}).json()["archived_at"] is not None
    assert as_bob.get(PROMPTS).json()["data"] == []
    assert [p["name"] for p in as_bob.get(f"{PROMPTS}?archived=true").json()["data"]] == ["greet"]
    assert as_key.get(f"{PUBLIC}/greet").json()["prompt"] == "Hi {{who}}"
    assert as_bob.post(f"{GREET}/versions", {"prompt": "x"}).status_code == 409
    assert as_bob.put(f"{GREET}/labels/production", {"version": 2}).status_code == 409
    assert as_bob.patch(GREET, {"archived": False}).json()["archived_at"] is None
    assert as_bob.post(f"{GREET}/versions", {"prompt": "x"}).status_code == 201


def test_a_copy_begins_with_a_versions_text(as_bob: Any, as_charlie: Any, greet: None) -> None:
    made = as_bob.post(f"{GREET}/versions/1/copy", {"name": "b/greet"}).json()
    assert (made["tags"], made["labels"]) == (["warm"], {"latest": 1})
    assert made["version"]["prompt"] == "Hi {{who}}"
    assert made["version"]["message"] == "Copy of greet version 1"
    assert as_bob.post(f"{GREET}/versions/1/copy", {"name": "b/greet"}).status_code == 409
    assert as_bob.post(f"{GREET}/versions/9/copy", {"name": "c"}).status_code == 404
    assert as_charlie.post(f"{GREET}/versions/1/copy", {"name": "c"}).status_code == 404


@pytest.mark.parametrize(
    ("q", "found"),
    [("GREE", True), ("warm", True), ("hello {{who", True), ('say "so"', False), ("absent", False)],
)
def test_search_looks_into_names_tags_and_texts(
    as_bob: Any, greet: None, q: str, found: bool
) -> None:
    names = [p["name"] for p in as_bob.get(PROMPTS, query_params={"q": q}).json()["data"]]
    assert names == (["greet"] if found else [])


def test_search_finds_what_json_spells_otherwise(as_bob: Any) -> None:
    as_bob.post(PROMPTS, {"name": "x", "type": "text", "prompt": 'Größe: say "so"\nnow'})
    for q in ('say "so"', '"so"\nnow', "größe"):
        assert as_bob.get(PROMPTS, query_params={"q": q}).json()["data"], q


def test_declared_variables_stay_until_they_are_declared_anew(as_bob: Any, greet: None) -> None:
    declared = {"who": {"type": "text", "example": "Ann", "description": "The reader"}}
    made = as_bob.post(f"{GREET}/versions", {"prompt": "Dear {{who}}", "inputs": declared}).json()
    assert made["inputs"] == declared
    kept = as_bob.post(f"{GREET}/versions", {"prompt": "Dear {{who}}"}).json()
    assert (kept["inputs"], kept["content_hash"]) == (declared, made["content_hash"])
    none = as_bob.post(f"{GREET}/versions", {"prompt": "Dear {{who}}", "inputs": {}}).json()
    assert none["inputs"] == {}
    assert none["content_hash"] != made["content_hash"]


@pytest.mark.parametrize(
    "inputs",
    [
        [],
        {"no name": {"type": "text"}},
        {"x": {"type": "date"}},
        {"x": "text"},
        {"x": {"type": "number", "example": "many"}},
        {"x": {"kind": "text"}},
        {"x": {"description": "d" * 1001}},
    ],
)
def test_bad_declarations_are_refused(as_bob: Any, greet: None, inputs: Any) -> None:
    answer = as_bob.post(f"{GREET}/versions", {"prompt": "x", "inputs": inputs})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "inputs")


def test_rendering_tells_values_that_do_not_fit(as_bob: Any, greet: None) -> None:
    declared = {"n": {"type": "number"}, "who": {"type": "text"}}
    as_bob.post(f"{GREET}/versions", {"prompt": "{{n}} for {{who}}", "inputs": declared})
    body = as_bob.post(f"{GREET}/render", {"variables": {"n": "many", "who": "Ann"}}).json()
    assert body["text"] == "many for Ann"
    assert body["problems"] == ["n: wanted number, got str"]
    assert as_bob.post(f"{GREET}/render", {"variables": {"n": "7"}}).json()["problems"] == []


def test_unsaved_text_is_rendered_with_what_it_contains(
    as_bob: Any, as_charlie: Any, greet: None
) -> None:
    body = {"prompt": "Say: {{> greet@production}}!", "variables": {"who": "Ann"}}
    found = as_bob.post(f"{PROMPTS}/new/render", body).json()
    assert (found["text"], found["missing"]) == ("Say: Hi Ann!", [])
    assert found["parts"] == [{"name": "greet", "version": 1}]
    itself = as_bob.post(f"{GREET}/render", {"prompt": "{{> greet}}"})
    assert (itself.status_code, "contains itself" in itself.content.decode()) == (400, True)
    nowhere = as_bob.post(f"{PROMPTS}/new/render", {"prompt": "{{> nowhere@3}}"})
    assert nowhere.status_code == 404
    assert as_charlie.post(f"{PROMPTS}/new/render", body).status_code == 404


@pytest.mark.parametrize("tag", ["{{> a}}", "{{>a@2}}", "{{> a@production }}"])
def test_cycles_are_refused_in_our_own_spelling(as_bob: Any, tag: str) -> None:
    as_bob.post(PROMPTS, {"name": "a", "type": "text", "prompt": "1", "labels": ["production"]})
    as_bob.post(f"{PROMPTS}/a/versions", {"prompt": "2"})
    inner = as_bob.post(PROMPTS, {"name": "b", "type": "text", "prompt": tag})
    assert inner.status_code == 201
    cycle = as_bob.post(f"{PROMPTS}/a/versions", {"prompt": "{{> b}}"})
    assert cycle.status_code == 400
    assert "contains itself" in cycle.json()["error"]["message"]
