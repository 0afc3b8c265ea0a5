import threading
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction

from hone.accounts.models import Project
from hone.common.errors import InvalidError, NotFoundError
from hone.prompts import services
from hone.prompts.models import Label, Prompt, PromptVersion
from hone.prompts.selectors import prompt_resolve

PROMPTS = "/api/projects/demo/prompts"
HELLO = {
    "name": "support/hello",
    "type": "chat",
    "prompt": [
        {"role": "system", "content": "You are {{who}}."},
        {"role": "user", "content": "{{question}}"},
    ],
    "config": {"model": "m", "temperature": 0.2},
    "labels": ["production"],
    "tags": ["support"],
    "message": "First",
}


@pytest.fixture
def hello(as_bob) -> dict:
    answer = as_bob.post(PROMPTS, HELLO)
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_a_new_prompt_has_version_one(hello) -> None:
    version = hello["version"]
    assert {k: hello[k] for k in ("name", "type", "tags", "labels", "latest_version")} == {
        "name": "support/hello",
        "type": "chat",
        "tags": ["support"],
        "labels": {"latest": 1, "production": 1},
        "latest_version": 1,
    }
    assert version["prompt"] == HELLO["prompt"]
    assert version["variables"] == ["who", "question"]
    assert version["author"] == {"name": "Bob", "email": "bob@example.com"}
    assert (version["parent"], version["message"]) == (None, "First")
    assert datetime.fromisoformat(version["created_at"]).tzinfo == UTC


def test_a_key_is_the_author_by_its_name(as_key) -> None:
    made = as_key.post(PROMPTS, {**HELLO, "name": "by-key"})
    assert made.json()["version"]["author"] == {"name": "key test", "email": None}


def test_a_second_version_takes_latest_and_leaves_production(as_bob, hello) -> None:
    made = as_bob.post(
        f"{PROMPTS}/support/hello/versions", {"prompt": [{"role": "user", "content": "?"}]}
    )
    assert made.status_code == 201
    assert (made.json()["version"], made.json()["parent"]) == (2, 1)
    assert made.json()["labels"] == ["latest"]
    seen = as_bob.get(f"{PROMPTS}/support/hello").json()
    assert seen["labels"] == {"latest": 2, "production": 1}
    listed = as_bob.get(f"{PROMPTS}/support/hello/versions").json()["data"]
    assert [v["version"] for v in listed] == [2, 1]
    assert as_bob.get(f"{PROMPTS}/support/hello/versions/1").json()["prompt"] == HELLO["prompt"]


def test_the_hash_tells_equal_contents(as_bob, hello) -> None:
    path = f"{PROMPTS}/support/hello/versions"
    same = {"prompt": HELLO["prompt"], "config": dict(reversed(HELLO["config"].items()))}
    assert as_bob.post(path, same).json()["content_hash"] == hello["version"]["content_hash"]
    other = as_bob.post(path, {**same, "config": {}}).json()
    assert other["content_hash"] != hello["version"]["content_hash"]


def test_a_label_moves_and_goes(as_bob, hello) -> None:
    as_bob.post(f"{PROMPTS}/support/hello/versions", {"prompt": HELLO["prompt"]})
    label = f"{PROMPTS}/support/hello/labels/production"
    assert as_bob.put(label, {"version": 2}).json()["labels"] == ["latest", "production"]
    assert as_bob.get(f"{PROMPTS}/support/hello").json()["labels"]["production"] == 2
    assert as_bob.put(label, {"version": 9}).status_code == 404
    assert as_bob.delete(label).status_code == 204
    assert as_bob.delete(label).status_code == 404


def test_latest_cannot_be_moved_by_hand(as_bob, hello) -> None:
    label = f"{PROMPTS}/support/hello/labels/latest"
    assert as_bob.put(label, {"version": 1}).status_code == 400
    assert as_bob.delete(label).status_code == 400


def test_lists_are_filtered_and_paged(as_bob, hello) -> None:
    for name in ("a", "b", "support/bye"):
        as_bob.post(PROMPTS, {"name": name, "type": "text", "prompt": "x"})

    def names(query: str) -> list[str]:
        return [row["name"] for row in as_bob.get(f"{PROMPTS}?{query}").json()["data"]]

    assert names("") == ["a", "b", "support/bye", "support/hello"]
    assert names("q=HELL") == ["support/hello"]
    assert names("label=production") == ["support/hello"]
    assert names("tag=support") == ["support/hello"]
    assert names("folder=support") == ["support/bye", "support/hello"]
    first = as_bob.get(f"{PROMPTS}?limit=3").json()
    assert len(first["data"]) == 3
    assert names(f"limit=3&cursor={first['next_cursor']}") == ["support/hello"]


def test_a_prompt_is_renamed_and_deleted(as_bob, hello) -> None:
    as_bob.post(PROMPTS, {"name": "taken", "type": "text", "prompt": "x"})
    path = f"{PROMPTS}/support/hello"
    assert as_bob.patch(path, {"name": "taken"}).status_code == 409
    changed = as_bob.patch(path, {"name": "greeting", "tags": ["b", "a"], "description": "Says hi"})
    assert (changed.json()["name"], changed.json()["tags"]) == ("greeting", ["a", "b"])
    assert as_bob.get(path).status_code == 404
    assert as_bob.delete(f"{PROMPTS}/greeting").status_code == 204
    assert as_bob.get(f"{PROMPTS}/greeting").status_code == 404
    assert PromptVersion.objects.filter(prompt__name="greeting").count() == 0


def test_rendering_fills_in_and_names_what_is_missing(as_bob, hello) -> None:
    body = {"label": "production", "variables": {"who": "a clerk"}}
    answer = as_bob.post(f"{PROMPTS}/support/hello/render", body).json()
    assert answer["messages"] == [
        {"role": "system", "content": "You are a clerk."},
        {"role": "user", "content": "{{question}}"},
    ]
    assert (answer["text"], answer["missing"], answer["version"]) == (None, ["question"], 1)
    as_bob.post(PROMPTS, {"name": "t", "type": "text", "prompt": "Hi {{x}}"})
    answer = as_bob.post(f"{PROMPTS}/t/render", {"variables": {"x": 1}}).json()
    assert (answer["text"], answer["messages"], answer["missing"]) == ("Hi 1", None, [])
    assert as_bob.post(f"{PROMPTS}/t/render", {"version": 4}).status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "a/versions/b"}, "name"),
        ({"name": ""}, "name"),
        ({"type": "image"}, "type"),
        ({"type": "text"}, "prompt"),
        ({"prompt": "text"}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [{"role": "king", "content": "x"}]}, "prompt.0"),
        ({"prompt": [{"role": "user", "content": 3}]}, "prompt.0"),
        ({"prompt": [{"role": "user"}]}, "prompt.0"),
        ({"config": [1]}, "config"),
        ({"labels": ["latest", "Bad Label"]}, "label"),
        ({"tags": [""]}, "tags.0"),
        ({"message": "x" * 2001}, "message"),
        ({"prompt": [{"role": "user", "content": "x" * 1_100_000}]}, "prompt"),
        ({"prompt": [{"role": "user", "content": "nul \x00"}]}, None),
    ],
)
def test_what_is_wrong_is_named(as_bob, change, field) -> None:
    answer = as_bob.post(PROMPTS, {**HELLO, **change})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert not Prompt.objects.exists()


def test_deep_nesting_is_refused(as_bob) -> None:
    config: dict = {}
    for _ in range(60):
        config = {"a": config}
    assert as_bob.post(PROMPTS, {**HELLO, "config": config}).status_code == 400


def test_a_taken_name_is_a_conflict(as_bob, hello) -> None:
    assert as_bob.post(PROMPTS, HELLO).status_code == 409


def test_a_reference_resolves(hello, project: Project, as_bob) -> None:
    as_bob.post(f"{PROMPTS}/support/hello/versions", {"prompt": [{"role": "user", "content": "2"}]})
    found = prompt_resolve(project.pk, "support/hello@latest")
    assert (found.version, found.labels, found.type) == (2, ("latest",), "chat")
    assert prompt_resolve(project.pk, "support/hello@1").labels == ("production",)
    assert prompt_resolve(project.pk, "support/hello").version == 1
    assert found.render({}).missing == ()


def test_without_production_the_latest_is_meant(project: Project, as_bob) -> None:
    as_bob.post(PROMPTS, {"name": "t", "type": "text", "prompt": "x"})
    assert prompt_resolve(project.pk, "t").version == 1


@pytest.mark.parametrize("reference", ["support/hello@7", "support/hello@staging", "nothing"])
def test_a_reference_that_leads_nowhere(hello, project: Project, reference: str) -> None:
    with pytest.raises(NotFoundError):
        prompt_resolve(project.pk, reference)


def test_another_projects_prompts_are_out_of_reach(hello, foreign_project, as_charlie) -> None:
    with pytest.raises(NotFoundError):
        prompt_resolve(foreign_project.pk, "support/hello")
    for path in ("", "/versions", "/versions/1"):
        assert as_charlie.get(f"{PROMPTS}/support/hello{path}").status_code == 404
    assert as_charlie.put(f"{PROMPTS}/support/hello/labels/x", {"version": 1}).status_code == 404
    assert as_charlie.post(f"{PROMPTS}/support/hello/render", {}).status_code == 404


def test_the_database_refuses_to_change_a_version(hello) -> None:
    with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
        PromptVersion.objects.update(content="other")


def test_the_database_refuses_a_label_on_another_prompts_version(as_bob, hello, project) -> None:
    as_bob.post(PROMPTS, {"name": "t", "type": "text", "prompt": "x"})
    other = PromptVersion.objects.get(prompt__name="t")
    Label.objects.filter(prompt__name="support/hello", name="latest").update(version=other)
    with pytest.raises(IntegrityError, match="prompts_label_version_of_prompt"):
        connection.check_constraints()


@pytest.mark.django_db(transaction=True)
def test_versions_written_at_the_same_moment_get_numbers_without_gaps(project: Project) -> None:
    first = services.prompt_create(
        project=project, author=services.Author("a"), name="t", type="text", prompt="0"
    )
    start = threading.Barrier(6)

    def write(number: int) -> None:
        start.wait()
        try:
            services.version_create(
                prompt=first.prompt,
                author=services.Author("a"),
                content=str(number),
                labels=["production"],
            )
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = sorted(PromptVersion.objects.values_list("number", flat=True))
    assert numbers == [1, 2, 3, 4, 5, 6, 7]
    labels = dict(Label.objects.values_list("name", "version__number"))
    assert labels == {"latest": 7, "production": 7}


def test_a_malformed_reference_is_the_callers_mistake(project: Project) -> None:
    with pytest.raises(InvalidError):
        prompt_resolve(project.pk, "@")
