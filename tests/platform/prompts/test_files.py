"""Prompts as files: what goes out comes back, and nothing of the server's is lost."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.common.errors import InvalidError
from hone.prompts.core.files import PromptFile, file_read, file_text, path_of
from hone.supervisor import prompt_files
from hone.supervisor.console import Console
from hone.supervisor.prompt_files import Door, PromptsError
from hone.supervisor.prompt_import import langfuse_import

FILES = "/api/projects/demo/prompt-files"
PROMPTS = "/api/projects/demo/prompts"
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\r"), max_size=60
) | st.sampled_from(
    [
        '<!-- message {"role": "user"} -->',
        '\\<!-- message {"a": 1} -->',
        "---\n",
        "a\n\n",
        "\n\n---\n",
    ]
)
WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.lists(
    st.builds(
        lambda role, content, more: {"role": role, "content": content, **more},
        st.sampled_from(["system", "user", "assistant"]),
        TEXTS
        | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}), max_size=2),
        st.dictionaries(WORDS.map(lambda word: f"x{word}"), JSON, max_size=2),
    )
    | st.just({"type": "placeholder", "name": "history"})
    | st.just({"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]})
    | st.just({"role": "assistant", "tool_calls": [{"id": "1"}]}),
    min_size=1,
    max_size=4,
)
FRONTS = st.builds(
    PromptFile,
    name=WORDS,
    type=st.just("text"),
    prompt=TEXTS,
    config=st.dictionaries(WORDS, JSON, max_size=3),
    labels=st.lists(WORDS, max_size=2).map(tuple),
    tags=st.lists(TEXTS, max_size=2).map(tuple),
    description=TEXTS,
    version=st.none() | st.integers(1, 9),
)


@settings(max_examples=60, deadline=None)
@given(FRONTS, st.none() | MESSAGES)
def test_what_is_written_is_read_back_to_the_byte(file: PromptFile, messages: Any) -> None:
    file = file if messages is None else replace(file, type="chat", prompt=messages)
    assert file_read(file_text(file), "x.md") == file


def test_a_file_is_pleasant_to_read() -> None:
    file = PromptFile(
        name="support/hello",
        type="chat",
        prompt=[
            {"role": "system", "content": "You are {{who}}."},
            {"type": "placeholder", "name": "history"},
            {"role": "user", "content": "{{question}}"},
        ],
        config={"model": "m", "temperature": 0.2},
        labels=("production",),
        version=3,
    )
    assert file_text(file) == (
        "---\nname: support/hello\ntype: chat\nversion: 3\nlabels:\n- production\n"
        "config:\n  model: m\n  temperature: 0.2\n---\n"
        '<!-- message {"role":"system"} -->\nYou are {{who}}.\n\n'
        '<!-- message {"type":"placeholder","name":"history"} -->\n\n'
        '<!-- message {"role":"user"} -->\n{{question}}\n'
    )


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a/b c", "a/b c.md"),
        ("what?/x:y", "what%3F/x%3Ay.md"),
        (".git/hooks", "%2Egit/hooks.md"),
        ("50%", "50%25.md"),
        ("größe", "größe.md"),
    ],
)
def test_paths_suit_every_file_system(name: str, path: str) -> None:
    assert path_of(name) == path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no front",
        "---\nname: x\n",
        "---\n- a\n---\n",
        "---\nname: 3\n---\n",
        "---\nnmae: x\n---\n",
        "---\nlabels: [1]\n---\n",
        "---\nversion: true\n---\n",
        "---\nconfig: &a {x: 1}\ntags: *a\n---\n",
        "---\nname: [\n---\n",
        "---\nname: !!python/object/apply:os.system [ls]\n---\n",
        "---\ntype: chat\n---\nno message\n",
        "---\ntype: chat\n---\n<!-- message {bad} -->\n",
    ],
)
def test_a_bad_file_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(InvalidError, match=r"^x\.md: "):
        file_read(text, "x.md")


def zip_of(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return buffer.getvalue()


@pytest.fixture
def push(as_bob: Any) -> Callable[..., list[tuple[str, str, int | None]]]:
    def send(files: dict[str, str], query: str = "", api: Any = as_bob) -> Any:
        answer = api.generic("POST", f"{FILES}{query}", zip_of(files), "application/zip")
        assert answer.status_code == 200, answer.content
        return [(f["action"], f["name"], f["version"]) for f in answer.json()["files"]]

    return send


def pulled(api: Any, query: str = "") -> dict[str, str]:
    answer = api.get(f"{FILES}{query}")
    assert answer["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.fixture
def greet(as_bob: Any) -> str:
    body = {"name": "a/greet", "type": "text", "prompt": "One", "labels": ["production"]}
    assert as_bob.post(PROMPTS, body).status_code == 201
    return "a/greet"


def test_a_pull_and_a_push_change_nothing(as_bob: Any, greet: str, push: Any) -> None:
    files = pulled(as_bob)
    assert list(files) == ["a/greet.md"]
    assert push(files) == [("unchanged", "a/greet", 1)]
    assert pulled(as_bob) == files


def test_a_changed_file_becomes_a_version_with_its_labels(
    as_bob: Any, greet: str, push: Any
) -> None:
    files = {p: t.replace("One", "Two") for p, t in pulled(as_bob).items()}
    assert push(files, "?dry_run=true") == [("updated", "a/greet", 2)]
    assert as_bob.get(f"{PROMPTS}/a/greet").json()["latest_version"] == 1
    assert push(files, "?message=From%20review") == [("updated", "a/greet", 2)]
    row = as_bob.get(f"{PROMPTS}/a/greet").json()
    assert (row["labels"], row["version"]["message"]) == (
        {"latest": 2, "production": 2},
        "From review",
    )
    assert "Two" in pulled(as_bob, "?label=production")["a/greet.md"]


def test_a_stale_file_never_writes_over_what_came_since(as_bob: Any, greet: str, push: Any) -> None:
    old = pulled(as_bob)
    as_bob.post(f"{PROMPTS}/a/greet/versions", {"prompt": "Two", "labels": ["production"]})
    assert push(old) == [("behind", "a/greet", 1)]
    changed = {path: text.replace("One", "Mine") for path, text in old.items()}
    assert push(changed) == [("conflict", "a/greet", 1)]
    assert as_bob.get(f"{PROMPTS}/a/greet").json()["labels"]["production"] == 2
    assert push(changed, "?force=true") == [("updated", "a/greet", 3)]


def test_new_files_may_contain_each_other_in_any_order(as_bob: Any, push: Any) -> None:
    files = {
        "a.md": "---\nname: a\n---\nSee {{> z@production}}\n",
        "z.md": "---\nname: z\nlabels: [production]\n---\nthe end\n",
        "bad.md": "---\nname: bad\n---\n{{> nowhere@1}}\n",
        "README.txt": "no prompt",
    }
    assert push(files) == [("created", "a", 1), ("refused", "bad", None), ("created", "z", 1)]


def test_protected_labels_do_not_come_by_file(
    as_alice: Any, as_bob: Any, greet: str, push: Any
) -> None:
    as_alice.put("/api/projects/demo/prompt-labels", {"protected": ["production"]})
    files = {p: t.replace("One", "Two") for p, t in pulled(as_bob).items()}
    assert push(files) == [("refused", "a/greet", None)]
    assert as_bob.get(f"{PROMPTS}/a/greet").json()["latest_version"] == 1
    assert push(files, api=as_alice) == [("updated", "a/greet", 2)]


@pytest.mark.parametrize("body", [b"", b"no zip", zip_of({"x.md": "a" * (2**22 + 1)})])
def test_a_bad_zip_is_refused(as_bob: Any, body: bytes) -> None:
    assert as_bob.generic("POST", FILES, body, "application/zip").status_code == 400


def test_strangers_get_no_files(as_charlie: Any, project: Any) -> None:
    assert as_charlie.get(FILES).status_code == 404
    answer = as_charlie.generic("POST", FILES, zip_of({}), "application/zip")
    assert answer.status_code == 404


class TestDoor(Door):
    """A door to the test's own server, without a network."""

    __test__ = False
    api: Any = None

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> bytes:
        answer = type(self).api.generic(
            method, path, body or b"", kind, headers={"authorization": self.authorization}
        )
        if answer.status_code >= 400:
            raise PromptsError(f"{answer.status_code}: {answer.content.decode()}")
        return bytes(answer.content)


def door(api: Any, key: Any) -> Door:
    TestDoor.api = api
    return TestDoor("", f"Bearer {key.secret}")


@pytest.fixture
def console() -> Console:
    return Console(io.StringIO())


def test_a_folder_is_pulled_and_pushed(
    as_nobody: Any, as_bob: Any, api_key: Any, greet: str, tmp_path: Path, console: Console
) -> None:
    here = door(as_nobody, api_key)
    (tmp_path / "README.md").write_text("# No prompt\n")
    assert prompt_files.pull(here, tmp_path, None, console) == 0
    file = tmp_path / "a/greet.md"
    file.write_text(file.read_text().replace("One", "Two"))

    def push(**more: Any) -> int:
        usual = {"force": False, "dry_run": False, "message": "", "console": console}
        return prompt_files.push(here, tmp_path, **{**usual, **more})

    assert push() == 0
    assert as_bob.get(f"{PROMPTS}/a/greet").json()["version"]["prompt"] == "Two"
    file.write_text(file.read_text().replace("Two", "Three"))
    assert push() == 1  # the file still says that it was made of version 1
    assert push(force=True) == 0
    with pytest.raises(PromptsError, match="no folder"):
        prompt_files.push(
            here, tmp_path / "x", force=False, dry_run=False, message="", console=console
        )


def test_a_server_cannot_write_outside_of_the_folder(
    tmp_path: Path, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Evil(Door):
        def ask(self, *_: Any) -> bytes:
            return zip_of({"../x.md": "---\n"})

        def json(self, *_: Any) -> Any:
            return {"data": [{"id": "demo"}]}

    with pytest.raises(PromptsError, match="outside"):
        prompt_files.pull(Evil("", ""), tmp_path / "in", None, console)
    assert not (tmp_path / "x.md").exists()


def test_prompts_come_over_from_a_server_with_langfuses_api(
    as_nobody: Any, api_key: Any, foreign_key: Any, as_charlie: Any, console: Console
) -> None:
    """Our own API is the source: Charlie's project is copied into Alice's."""
    theirs = "/api/projects/elsewhere/prompts"
    chat = [{"role": "system", "content": "x"}, {"type": "placeholder", "name": "h"}]
    outer = {"name": "a/outer", "type": "text", "prompt": "1", "labels": ["production"]}
    as_charlie.post(theirs, {**outer, "tags": ["t"], "message": "first"})
    as_charlie.post(theirs, {"name": "z", "type": "text", "prompt": "2", "labels": ["production"]})
    as_charlie.post(theirs, {"name": "chat", "type": "chat", "prompt": chat, "config": {"n": 1}})
    tag = "@@@langfusePrompt:name=z|label=production@@@"
    for text in ("gone", f"in {tag}"):
        as_charlie.post(f"{theirs}/a/outer/versions", {"prompt": text})
    headers = {"authorization": f"Bearer {foreign_key.secret}"}
    gone = as_nobody.delete("/api/public/v2/prompts/a%2Fouter?version=2", headers=headers)
    assert gone.status_code == 204
    source, target = door(as_nobody, foreign_key), door(as_nobody, api_key)
    assert langfuse_import(source, target, console) == 0
    told = console._stream.getvalue()  # type: ignore[attr-defined]
    assert "a/outer: 2 versions (3 is 2 here)" in told
    read = target.json("GET", "/api/public/v2/prompts/a%2Fouter?label=latest&resolve=false")
    assert (read["prompt"], read["tags"]) == (f"in {tag}", ["t"])
    first = target.json("GET", "/api/public/v2/prompts/a%2Fouter")
    assert (first["version"], first["commitMessage"]) == (1, "first")
    copied = target.json("GET", "/api/public/v2/prompts/chat?label=latest")
    assert (copied["prompt"], copied["config"]) == (chat, {"n": 1})
    assert langfuse_import(source, target, console) == 0
    assert "3 were here already" in console._stream.getvalue()  # type: ignore[attr-defined]
