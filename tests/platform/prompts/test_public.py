"""Prompts in the shapes that Langfuse's clients enforce."""

from base64 import b64encode

import pytest

from hone.common.asgi import send_json
from hone.prompts.api import read_door
from hone.prompts.selectors import prompt_resolve

PROMPTS = "/api/public/v2/prompts"
REQUIRED = {"name", "version", "type", "prompt", "config", "labels", "tags"}


@pytest.fixture
def sdk(as_nobody, api_key):
    """A client as the SDKs are one: with Basic PUBLIC:SECRET."""
    pair = b64encode(f"{api_key.row.public_key}:{api_key.secret}".encode()).decode()
    as_nobody.defaults["HTTP_AUTHORIZATION"] = f"Basic {pair}"
    return as_nobody


def create(sdk, name: str, prompt="Hi {{x}}", **more):
    answer = sdk.post(PROMPTS, {"name": name, "prompt": prompt, **more})
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_a_prompt_as_every_client_wants_it(sdk) -> None:
    made = create(
        sdk,
        "movie-critic",
        config={"model": "m"},
        labels=["production", "staging"],
        tags=["t1"],
        commitMessage="first",
    )
    assert made.keys() >= REQUIRED
    assert (made["type"], made["version"], made["commitMessage"]) == ("text", 1, "first")
    assert made["labels"] == ["latest", "production", "staging"]
    second = create(sdk, "movie-critic", "v2", labels=["staging"], tags=None, commitMessage=None)
    assert (second["version"], second["tags"]) == (2, ["t1"])  # tags belong to all versions
    assert sdk.get(f"{PROMPTS}/movie-critic").json()["version"] == 1
    assert sdk.get(f"{PROMPTS}/movie-critic?label=staging").json()["version"] == 2
    assert sdk.get(f"{PROMPTS}/movie-critic?label=latest").json()["version"] == 2
    assert sdk.get(f"{PROMPTS}/movie-critic?version=1").json()["prompt"] == "Hi {{x}}"


def test_without_production_there_is_none_to_serve(sdk) -> None:
    create(sdk, "draft")
    missing = sdk.get(f"{PROMPTS}/draft")
    assert missing.status_code == 404
    assert missing.json()["error"] == "LangfuseNotFoundError"
    assert "draft" in missing.json()["message"]
    assert sdk.get(f"{PROMPTS}/nope?label=latest").status_code == 404
    assert sdk.get(f"{PROMPTS}/draft?version=7").status_code == 404


def test_names_with_slashes_and_blanks(sdk) -> None:
    messages = [
        {"role": "system", "content": "You are {{who}}", "type": "chatmessage"},
        {"type": "placeholder", "name": "history"},
    ]
    create(sdk, "folder/chat one", messages, type="chat", labels=["production"])
    found = sdk.get(f"{PROMPTS}/folder%2Fchat%20one").json()
    assert found["prompt"] == [
        {"role": "system", "content": "You are {{who}}"},
        {"type": "placeholder", "name": "history"},
    ]
    patched = sdk.patch(f"{PROMPTS}/folder%2Fchat%20one/versions/1", {"newLabels": ["b"]})
    assert patched.json()["labels"] == ["b", "latest", "production"]  # added, none removed


def test_a_label_sits_on_one_version(sdk) -> None:
    create(sdk, "p", labels=["production"])
    create(sdk, "p", labels=["production"])
    assert sdk.get(f"{PROMPTS}/p?version=1").json()["labels"] == []
    assert sdk.patch(f"{PROMPTS}/p/versions/1", {"newLabels": ["production"]}).status_code == 200
    assert sdk.get(f"{PROMPTS}/p").json()["version"] == 1
    assert sdk.patch(f"{PROMPTS}/p/versions/1", {"newLabels": ["latest"]}).status_code == 400
    assert sdk.patch(f"{PROMPTS}/p/versions/9", {"newLabels": ["a"]}).status_code == 404
    assert sdk.patch(f"{PROMPTS}/p/versions/1", {}).status_code == 400


def test_the_type_of_a_prompt_stays(sdk) -> None:
    create(sdk, "p")
    chat = {"name": "p", "type": "chat", "prompt": [{"role": "user", "content": "x"}]}
    refused = sdk.post(PROMPTS, chat)
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("type:")


def test_lists_are_numbered_pages(sdk) -> None:
    for name in ("a", "b", "c"):
        create(sdk, name, tags=[name], labels=["production"] if name == "a" else [])
    create(sdk, "a")
    page = sdk.get(f"{PROMPTS}?limit=2&page=1").json()
    assert page["meta"] == {"page": 1, "limit": 2, "totalItems": 3, "totalPages": 2}
    assert page["data"][0] | {"lastUpdatedAt": ""} == {
        "name": "a",
        "type": "text",
        "versions": [1, 2],
        "labels": ["latest", "production"],
        "tags": ["a"],
        "lastUpdatedAt": "",
        "lastConfig": {},
    }

    def names(query: str) -> list[str]:
        return [row["name"] for row in sdk.get(f"{PROMPTS}?{query}").json()["data"]]

    assert names("label=production") == ["a"]
    assert names("tag=b") == ["b"]
    assert names("name=c") == ["c"]
    assert names("toUpdatedAt=2020-01-01T00:00:00Z") == []
    labels = (
        '[{"type":"arrayOptions","column":"labels","operator":"any of","value":["production"]}]'
    )
    assert names(f"filter={labels}") == ["a"]
    assert sdk.get(f"{PROMPTS}?filter=[1]").status_code == 400
    assert sdk.get(f"{PROMPTS}?limit=1000").status_code == 400


def test_versions_and_prompts_are_deleted(sdk) -> None:
    for _ in range(3):
        create(sdk, "p", labels=["production"])
    assert sdk.delete(f"{PROMPTS}/p?version=3").status_code == 204
    assert sdk.get(f"{PROMPTS}/p?label=latest").json()["version"] == 2
    assert sdk.get(f"{PROMPTS}/p").status_code == 404
    assert create(sdk, "p")["version"] == 4  # a number is never given twice
    assert sdk.delete(f"{PROMPTS}/p?label=nowhere").status_code == 404
    assert sdk.delete(f"{PROMPTS}/p").status_code == 204
    assert sdk.get(f"{PROMPTS}").json()["data"] == []


def test_prompts_inside_prompts(sdk, project) -> None:
    create(sdk, "rules/tone", "Be {{tone}}.", labels=["production"])
    create(sdk, "rules/all", "Rules: @@@langfusePrompt:name=rules/tone|label=production@@@")
    tag = "@@@langfusePrompt:name=rules/all|version=1@@@"
    create(sdk, "outer", f"{tag} Go.", labels=["production"])
    found = sdk.get(f"{PROMPTS}/outer").json()
    assert found["prompt"] == "Rules: Be {{tone}}. Go."
    assert found["resolutionGraph"]["dependencies"] == [
        {"name": "rules/all", "version": 1},
        {"name": "rules/tone", "version": 1},
    ]
    assert sdk.get(f"{PROMPTS}/outer?resolve=false").json()["prompt"] == f"{tag} Go."
    assert prompt_resolve(project.pk, "outer").variables == ("tone",)


@pytest.mark.parametrize(
    ("name", "inner", "status"),
    [
        ("rules", "@@@langfusePrompt:name=rules|label=production@@@", 400),
        ("rules", "@@@langfusePrompt:name=outer|label=production@@@", 400),
        ("new", "@@@langfusePrompt:name=nothing|version=1@@@", 404),
    ],
)
def test_a_prompt_never_contains_itself(sdk, name: str, inner: str, status: int) -> None:
    create(sdk, "rules", "x", labels=["production"])
    create(sdk, "outer", "@@@langfusePrompt:name=rules|label=production@@@", labels=["production"])
    answer = sdk.post(PROMPTS, {"name": name, "prompt": inner})
    assert answer.status_code == status, answer.content


@pytest.mark.parametrize(
    "body",
    [
        {"name": 3, "prompt": "x"},
        {"name": "a", "prompt": 3},
        {"name": "a", "prompt": "x", "labels": "production"},
        {"name": "a", "prompt": "x", "tags": [1]},
        {"name": "a", "prompt": "x", "config": [1]},
        {"name": "a", "prompt": "x", "commitMessage": 1},
        {"name": "a/versions/1", "prompt": "x"},
        [],
    ],
)
def test_what_is_wrong_is_said_in_their_shape(sdk, body) -> None:
    answer = sdk.post(PROMPTS, body)
    assert answer.status_code == 400
    assert answer.json().keys() == {"message", "error"}


def test_another_project_sees_nothing(sdk, as_charlie, foreign_key) -> None:
    create(sdk, "secret", labels=["production"])
    assert sdk.get(f"{PROMPTS}/secret").status_code == 200
    other = {"authorization": foreign_key.bearer["authorization"]}
    assert sdk.get(f"{PROMPTS}/secret", headers=other).status_code == 404
    assert sdk.get(PROMPTS, headers=other).json()["data"] == []
    assert sdk.delete(f"{PROMPTS}/secret", headers=other).status_code == 404
    body = {"newLabels": ["a"]}
    assert sdk.patch(f"{PROMPTS}/secret/versions/1", body, headers=other).status_code == 404


@pytest.fixture
def door(asgi, sdk):
    """`door(query, **headers)`: the read in front of Django, of the prompt "a b/c"."""

    async def django(scope, receive, send) -> None:
        raise AssertionError("Django was asked")

    app = read_door.in_front_of(django)

    def read(query: str = "", name: str = "a b/c", **headers: str):
        given = {"authorization": sdk.defaults["HTTP_AUTHORIZATION"], **headers}
        return asgi(app, "GET", f"{PROMPTS}/{name}", query=query, headers=given)

    return read


def test_the_fast_read_says_what_the_slow_one_says(sdk, door) -> None:
    create(sdk, "inner", "in", labels=["production"])
    tag = "@@@langfusePrompt:name=inner|label=production@@@"
    create(sdk, "a b/c", f"{tag} out", labels=["production"], config={"m": 1})
    create(sdk, "a b/c", "second", labels=["staging"])
    queries = ["", "label=staging", "version=1", "version=9", "label=none", "resolve=false"]
    for query in [*queries, "version=x", "version=1&label=a", "resolve=maybe"]:
        slow = sdk.get(f"{PROMPTS}/a%20b%2Fc?{query}")
        fast = door(query)
        assert (fast.status, fast.json()) == (slow.status_code, slow.json()), query
    assert door().json()["prompt"] == "in out"


def test_the_fast_read_is_for_the_projects_keys_only(sdk, door, foreign_key) -> None:
    create(sdk, "a b/c", labels=["production"])
    assert door().status == 200
    assert door(authorization=foreign_key.bearer["authorization"]).status == 404
    for wrong in ("", "Bearer sk-hone-nothing", "Basic !"):
        answer = door(authorization=wrong)
        assert (answer.status, answer.json()["error"]) == (401, "UnauthorizedError")


def test_all_else_goes_to_django(asgi) -> None:
    asked = []

    async def django(scope, receive, send) -> None:
        asked.append((scope["method"], scope["path"]))
        await send_json(send, 200, {})

    app = read_door.in_front_of(django)
    wanted = [
        ("GET", PROMPTS),
        ("GET", f"{PROMPTS}/"),
        ("POST", PROMPTS),
        ("DELETE", f"{PROMPTS}/a"),
        ("PATCH", f"{PROMPTS}/a/versions/1"),
    ]
    for method, path in wanted:
        asgi(app, method, path)
    assert asked == wanted
