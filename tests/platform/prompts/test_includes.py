"""What other prompts include is not taken from under them."""

from typing import Any

import pytest

from hone.prompts.core.composition import references

PROMPTS = "/api/projects/demo/prompts"
PUBLIC = "/api/public/v2/prompts"
TAGS = ["{{> tone}}", "{{> tone@production}}", "@@@langfusePrompt:name=tone|version=1@@@"]


def made(api: Any, name: str, text: str) -> None:
    body = {"name": name, "type": "text", "prompt": text, "labels": ["production"]}
    assert api.post(PROMPTS, body).status_code == 201


@pytest.mark.parametrize("tag", TAGS)
def test_an_included_prompt_is_not_deleted_and_it_is_told_who_includes_it(
    as_bob: Any, as_charlie: Any, tag: str
) -> None:
    made(as_bob, "tone", "Be kind.")
    made(as_bob, "mail", f"Write. {tag}")
    assert as_charlie.delete(f"{PROMPTS}/tone").status_code == 404
    answer = as_bob.delete(f"{PROMPTS}/tone")
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == ("included", "name")
    assert error["included_by"] == [{"name": "mail", "versions": [1]}]
    assert "mail (v1)" in error["message"]
    assert as_bob.get(f"{PROMPTS}/tone").status_code == 200


def test_neither_by_the_public_door_nor_by_another_name(as_bob: Any, as_key: Any) -> None:
    made(as_bob, "tone", "Be kind.")
    made(as_bob, "mail", "Write. {{> tone}}")
    assert as_key.delete(f"{PUBLIC}/tone").status_code == 409
    assert as_key.get(f"{PUBLIC}/tone").json()["prompt"] == "Be kind."
    assert as_bob.patch(f"{PROMPTS}/tone", {"name": "voice"}).status_code == 409
    assert as_bob.patch(f"{PROMPTS}/tone", {"name": "tone", "tags": ["x"]}).status_code == 200


def test_archived_it_is_still_given_to_those_who_include_it(as_bob: Any, as_key: Any) -> None:
    made(as_bob, "tone", "Be kind.")
    made(as_bob, "mail", "Write. {{> tone}}")
    assert as_bob.patch(f"{PROMPTS}/tone", {"archived": True}).status_code == 200
    assert as_key.get(f"{PUBLIC}/mail").json()["prompt"] == "Write. Be kind."


def test_an_old_version_without_a_label_holds_nothing_back(as_bob: Any) -> None:
    made(as_bob, "tone", "Be kind.")
    made(as_bob, "mail", "Write. {{> tone}}")
    as_bob.post(f"{PROMPTS}/mail/versions", {"prompt": "Write.", "labels": ["production"]})
    made(as_bob, "tone/other", "A tone is a word here")
    assert as_bob.delete(f"{PROMPTS}/tone").status_code == 204


def test_one_arm_of_a_split_is_given_out_too(as_bob: Any) -> None:
    made(as_bob, "tone", "Be kind.")
    made(as_bob, "mail", "Write. {{> tone}}")
    as_bob.post(f"{PROMPTS}/mail/versions", {"prompt": "Write."})
    arms = [{"version": 2, "weight": 1}, {"version": 1, "weight": 1}]
    split = as_bob.put(f"{PROMPTS}/mail/labels/production/split", {"arms": arms})
    assert split.status_code == 200
    assert as_bob.delete(f"{PROMPTS}/tone").status_code == 409


def test_the_same_name_in_anforeign_project_holds_nothing_back(
    as_bob: Any, as_charlie: Any, foreign_project: Any
) -> None:
    made(as_bob, "tone", "Be kind.")
    theirs = f"/api/projects/{foreign_project.slug}/prompts"
    as_charlie.post(theirs, {"name": "tone", "type": "text", "prompt": "1"})
    as_charlie.post(theirs, {"name": "mail", "type": "text", "prompt": "{{> tone}}"})
    assert as_bob.delete(f"{PROMPTS}/tone").status_code == 204


def test_a_label_that_is_included_is_not_removed(as_bob: Any, as_charlie: Any, as_key: Any) -> None:
    made(as_bob, "tone", "Be kind.")
    as_bob.post(f"{PROMPTS}/tone/versions", {"prompt": "Be brief.", "labels": ["short", "free"]})
    made(as_bob, "mail", "Write. {{> tone@short}}")
    path = f"{PROMPTS}/tone/labels"
    assert as_charlie.delete(f"{path}/short").status_code == 404
    answer = as_bob.delete(f"{path}/short")
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == ("included", "label")
    assert error["included_by"] == [{"name": "mail", "versions": [1]}]
    assert "mail (v1)" in error["message"]
    assert "put the label on another version" in error["message"]
    assert as_key.get(f"{PUBLIC}/mail").json()["prompt"] == "Write. Be brief."
    assert as_bob.put(f"{path}/short", {"version": 1}).status_code == 200  # moved it may be
    assert as_bob.delete(f"{path}/free").status_code == 204
    assert as_bob.delete(f"{path}/production").status_code == 204  # nobody includes it
    as_bob.post(f"{PROMPTS}/mail/versions", {"prompt": "Write.", "labels": ["production"]})
    assert as_bob.delete(f"{path}/short").status_code == 204


def test_who_names_no_label_includes_production(as_bob: Any) -> None:
    made(as_bob, "tone", "Be kind.")
    made(as_bob, "mail", "Write. {{> tone}}")
    assert as_bob.delete(f"{PROMPTS}/tone/labels/production").status_code == 409


@pytest.mark.parametrize("tag", ["{{> tone@2}}", "{{> tone@short}}"])
def test_a_version_that_is_included_is_not_deleted(as_bob: Any, as_key: Any, tag: str) -> None:
    made(as_bob, "tone", "Be kind.")
    as_bob.post(f"{PROMPTS}/tone/versions", {"prompt": "Be brief.", "labels": ["short"]})
    as_bob.post(f"{PROMPTS}/tone/versions", {"prompt": "Be nice."})
    made(as_bob, "mail", f"Write. {tag}")
    answer = as_key.delete(f"{PUBLIC}/tone?version=2")
    assert answer.status_code == 409, answer.content
    assert "mail (v1)" in answer.json()["message"]
    assert as_key.get(f"{PUBLIC}/mail").json()["prompt"] == "Write. Be brief."
    assert as_key.delete(f"{PUBLIC}/tone?version=3").status_code == 204
    as_bob.delete(f"{PROMPTS}/mail")
    assert as_key.delete(f"{PUBLIC}/tone?version=2").status_code == 204


def test_a_split_that_goes_on_may_lose_a_version_and_latest_moves_on(
    as_bob: Any, as_key: Any
) -> None:
    made(as_bob, "tone", "Be kind.")
    as_bob.post(f"{PROMPTS}/tone/versions", {"prompt": "Be brief."})
    arms = [{"version": 2, "weight": 1}, {"version": 1, "weight": 1}]
    as_bob.put(f"{PROMPTS}/tone/labels/production/split", {"arms": arms})
    made(as_bob, "mail", "Write. {{> tone}} {{> tone@latest}}")
    assert as_key.delete(f"{PUBLIC}/tone?version=2").status_code == 204
    assert as_key.get(f"{PUBLIC}/mail").json()["prompt"] == "Write. Be kind. Be kind."


def test_references_are_read_from_every_text_of_a_chat() -> None:
    template = [
        {"role": "system", "content": "{{> a@3}} and {{name}}"},
        {"role": "user", "content": [{"type": "text", "text": TAGS[2]}]},
    ]
    found = [(one.name, one.number, one.label) for one in references(template)]
    assert found == [("a", 3, None), ("tone", 1, None)]
